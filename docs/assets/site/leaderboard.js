"use strict";
// The column of the leaderboard with the differences from a baseline, which the reader chooses. It needs tables.js.

function showDifferences(board, data) {
  const [baseline, metric] = ["baseline", "metric"].map((name) => board.querySelector(`select.${name}`).value);
  const table = board.querySelector("table");
  const tests = data.tests[metric];
  const j = data.models.indexOf(baseline);
  for (const row of table.tBodies[0].rows) {
    const cell = row.querySelector(".difference");
    const i = data.models.indexOf(row.dataset.model);
    const test = pairedTest(tests, i, j);
    cell.textContent = i === j ? "baseline" : "–";
    cell.dataset.sort = i === j ? "0" : "-Infinity";
    if (!test) continue;
    const [gap, low, high] = test;
    const declared = baseline === data.baseline && row.dataset.model in data.decisions[metric];
    const decision = declared ? data.decisions[metric][row.dataset.model] : Math.sign(j - i) * test[8];
    const mark = decision > 0 ? data.marks.better : decision < 0 ? data.marks.worse : "";
    cell.textContent = `${signed(gap)} [${signed(low)}, ${signed(high)}]${mark}`;
    cell.dataset.sort = gap;
  }
  const label = board.querySelector(`select.metric option[value="${metric}"]`).textContent;
  board.querySelector(".compared").textContent = `${label} − ${baseline}`;
  const head = table.querySelector("[aria-sort]");
  if (head) sort(table, head.cellIndex, head.getAttribute("aria-sort") === "ascending");
}

for (const board of document.querySelectorAll(".leaderboard")) {
  const data = JSON.parse(document.getElementById(board.dataset.values).textContent);
  const show = () => showDifferences(board, data);
  for (const select of board.querySelectorAll("select.baseline, select.metric")) select.addEventListener("change", show);
  show(); // a browser may restore an earlier choice
}
