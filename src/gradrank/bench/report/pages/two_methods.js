// Comparison of two methods: the selects redraw the differences per query, the paired tests and the marked curves.
// two_methods.py draws the first pair; this script uses the same arithmetic.
const FRAME = { left: 34, right: 350, top: 14, bottom: 224, points: 240, step: 500 };

// Returns the end of the axis: the largest difference, rounded up to a multiple of FRAME.step.
const axisEnd = (gaps) =>
  FRAME.step * Math.max(Math.ceil(Math.max(0, ...gaps.map(Math.abs)) / FRAME.step), 1);

// Returns the differences per query as points of two polygons: wins above the zero line, losses below it.
function polygons(gaps) {
  const { left, right, top, bottom, points } = FRAME;
  const limit = axisEnd(gaps);
  const up = (gap) => bottom + ((gap + limit) / (2 * limit)) * (top - bottom);
  const last = Math.max(gaps.length - 1, 1);
  const count = Math.min(gaps.length, points);
  const kept = [...Array(count).keys()].map((k) =>
    count < gaps.length ? Math.floor((k * (gaps.length - 1)) / (points - 1) + 0.5) : k);
  return [1, -1].map((sign) => {
    const line = kept.map((k) => [left + (k / last) * (right - left), up(sign * Math.max(sign * gaps[k], 0))]);
    return [[left, up(0)], ...line, [right, up(0)]].map((xy) => xy.map((v) => v.toFixed(1)).join()).join(" ");
  });
}

function showPair(section, data, one, two) {
  const [i, j] = [one, two].map((model) => data.models.indexOf(model));
  section.querySelector(".key.one").textContent = one;
  section.querySelector(".key.two").textContent = two;
  for (const row of section.querySelectorAll(".paired tbody tr")) {
    const test = pairedTest(data.tests[row.dataset.metric], i, j);
    const [gap, low, high, wins, ties, losses, ...p] = test || Array(8).fill(null);
    const texts = [signed(gap), `${signed(low)} to ${signed(high)}`, wins, ties, losses, ...p.map(pValue)];
    texts.forEach((text, k) => (row.cells[k + 1].textContent = text ?? "–"));
  }
  const gaps = data.values[i]
    .map((value, q) => (value < 0 || data.values[j][q] < 0 ? null : value - data.values[j][q]))
    .filter((gap) => gap !== null)
    .sort((a, b) => b - a);
  const drawing = section.querySelector("svg.difference");
  const [wins, losses] = polygons(gaps);
  const limit = axisEnd(gaps) / 10000;
  drawing.querySelectorAll(".tick:not(.middle)").forEach((tick, k) => {
    const gap = (limit * (k - 2)) / 2;
    tick.textContent = gap ? (gap < 0 ? "\u2212" : "+") + Math.abs(gap).toFixed(3) : "0";
  });
  drawing.querySelector(".wins").setAttribute("points", wins);
  drawing.querySelector(".losses").setAttribute("points", losses);
  const [better, worse] = [gaps.filter((gap) => gap > 0).length, gaps.filter((gap) => gap < 0).length];
  const label = `Difference on each of ${gaps.length} queries: ${one} is better on ${better}, ${two} on ${worse}`;
  drawing.setAttribute("aria-label", label);
  for (const curve of section.querySelectorAll(".pr")) {
    curve.classList.toggle("one", curve.dataset.model === one);
    curve.classList.toggle("two", curve.dataset.model === two);
  }
  for (const curve of section.querySelectorAll(".pr.two, .pr.one")) curve.parentNode.append(curve);
}

for (const section of document.querySelectorAll(".compare[data-values]")) {
  const data = JSON.parse(document.getElementById(section.dataset.values).textContent);
  const [first, second] = section.querySelectorAll("select");
  const show = () => showPair(section, data, first.value, second.value);
  section.querySelector(".choose").hidden = false;
  for (const select of [first, second]) select.addEventListener("change", show);
  show(); // a browser may restore an earlier choice

  // Heat map: pointing at a cell shows its numbers; a click shows its two methods in the comparison.
  const page = section.closest(".page");
  for (const table of page.querySelectorAll("table.matrix")) {
    const pairOf = (cell) => [
      cell.parentNode.dataset.model,
      table.tHead.rows[0].cells[cell.cellIndex].textContent.trim(),
    ];
    const at = (event) => event.target.closest("tbody td:not(.self)");
    table.addEventListener("pointerover", (event) => {
      const cell = at(event);
      if (!cell || cell.title) return;
      const [one, two] = pairOf(cell);
      const test = pairedTest(data.tests[table.dataset.metric], data.models.indexOf(one), data.models.indexOf(two));
      if (!test) return;
      const [gap, low, high, wins, ties, losses, ...p] = test;
      cell.title = `${one} against ${two}: ${signed(gap)}, ${signed(low)} to ${signed(high)}; ` +
        `${wins} wins, ${ties} ties, ${losses} losses; p = ${pValue(p[0])} (Wilcoxon), ${pValue(p[1])} (t)`;
    });
    table.addEventListener("click", (event) => {
      const cell = at(event);
      if (!cell) return;
      [first.value, second.value] = pairOf(cell);
      show();
      section.scrollIntoView();
    });
  }
  for (const hint of page.querySelectorAll(".scripted")) hint.hidden = false;
}
