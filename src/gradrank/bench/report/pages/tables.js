"use strict";
// Tables that a reader filters and sorts, and the paired tests that they show. The report and the leaderboard of the
// documentation site use this script.

// Filter: hides the elements of the methods that one of the controls excludes, and their columns in the heat maps.
const CONDITIONS = {
  model: (part, text) => text.trim().toLowerCase().split(/[\s,]+/).some((word) => part.dataset.model.includes(word)),
  family: (part, text) => !text || part.dataset.family === text,
  from: (part, text) => !text || Number(part.dataset.year) >= Number(text),
  until: (part, text) => !text || (part.dataset.year && Number(part.dataset.year) <= Number(text)),
};

function filterPage(page, controls) {
  const hides = (part) => controls.some((control) => !CONDITIONS[control.dataset.filter](part, control.value));
  for (const part of page.querySelectorAll("[data-model]")) part.toggleAttribute("hidden", hides(part));
  for (const table of page.querySelectorAll("table.matrix"))
    for (const [i, head] of [...table.tHead.rows[0].cells].slice(1).entries())
      for (const row of table.rows) row.cells[i + 1].hidden = hides({ dataset: { model: head.textContent.trim() } });
}

for (const filter of document.querySelectorAll(".filter")) {
  filter.hidden = false;
  const controls = [...filter.querySelectorAll("[data-filter]")];
  for (const control of controls)
    control.addEventListener("input", () => filterPage(filter.closest("details, .page"), controls));
}

// Sorting: a click on a column's heading sorts by that column, a second click reverses the order.
function value(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.sort || (cell.querySelector(".mean") || cell).textContent;
  const number = parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
  return cell.classList.contains("num") ? (isNaN(number) ? -Infinity : number) : text.trim();
}

function sort(table, column, ascending) {
  const sign = ascending ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
  rows.sort(([a], [b]) => sign * (a < b ? -1 : a > b ? 1 : 0));
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const [i, head] of [...table.tHead.rows[0].cells].entries())
    if (i === column) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
}

for (const table of document.querySelectorAll("table.sortable"))
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      sort(table, column, before ? before === "descending" : !head.classList.contains("num"));
    });
  }

// Paired tests.
const signed = (x) => (x === null ? "–" : (x < 0 ? "\u2212" : "+") + Math.abs(x).toFixed(4));
const pValue = (p) => (p === null ? "–" : p < 1e-4 ? "<0.0001" : p.toFixed(4));

const negative = (x) => (x === null ? null : -x);

// Returns the test of methods i and j as [difference, low, high, wins, ties, losses, p, p]; it is stored for i < j only.
function pairedTest(tests, i, j) {
  if (i < j) return tests[`${i},${j}`];
  const found = tests[`${j},${i}`];
  if (!found) return undefined;
  const [gap, low, high, wins, ties, losses, ...p] = found;
  return [...[gap, high, low].map(negative), losses, ties, wins, ...p];
}
