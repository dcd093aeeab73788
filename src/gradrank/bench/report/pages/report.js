"use strict";
// Shows only the page that the address names. Without this script, all pages follow one another.

const pages = [...document.querySelectorAll(".page")];
const links = [...document.querySelectorAll("nav a")];
const menus = [...document.querySelectorAll("nav details")];

function show() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const page = (target && target.closest(".page")) || pages[0];
  for (const other of pages) other.hidden = other !== page;
  for (const link of links) {
    if (link.hash === "#" + page.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const menu of menus) {
    menu.open = false;
    menu.classList.toggle("current", menu.querySelector("[aria-current]") !== null);
  }
  const folded = target && target.closest("details");
  if (folded) folded.open = true;
  if (target && target !== page) target.scrollIntoView();
  else scrollTo(0, 0);
}

// Convention: shows the values under another convention, from the data stored next to the table. The choice applies to
// every data set that was evaluated under that convention, and is restored when the report is opened again.
const CHOICE = "gradrank-convention";

function storedConvention() {
  try {
    return localStorage.getItem(CHOICE);
  } catch {
    return null; // the browser has no storage for local files
  }
}

function storeConvention(name) {
  try {
    localStorage.setItem(CHOICE, name);
  } catch {} // no storage, as above
}

function showConvention(section, name) {
  const table = section.querySelector("table.main");
  const { cells, summaries } = JSON.parse(document.getElementById(table.dataset.values).textContent);
  const select = section.querySelector(".switch select");
  if (!(name in cells)) return;
  select.value = name;
  section.querySelector(".convention-name").textContent = name;
  section.querySelector(".convention-summary").textContent = summaries[name];
  for (const row of table.tBodies[0].rows)
    (cells[name][row.dataset.model] || []).forEach(([mean, half, best], i) => {
      const cell = row.cells[i + 1];
      cell.querySelector(".mean").textContent = mean;
      cell.querySelector(".half").textContent = half;
      cell.classList.toggle("best", best);
    });
  const head = table.querySelector("[aria-sort]");
  if (head) sort(table, head.cellIndex, head.getAttribute("aria-sort") === "ascending");
}

const switches = [...document.querySelectorAll(".switch")];
for (const control of switches) {
  control.hidden = false;
  control.querySelector("select").addEventListener("change", (event) => {
    storeConvention(event.target.value);
    for (const other of switches) showConvention(other.closest("section"), event.target.value);
  });
  if (storedConvention()) showConvention(control.closest("section"), storedConvention());
}

// Downloads: every table as CSV, Markdown and LaTeX, every drawing as SVG. The files are made from what the page shows.
const text = (cell) => cell.innerText.replace(/\s+/g, " ").replace(/ [↕↑↓]$/, "").trim();
const FORMS = {
  CSV: (rows) => rows.map((row) => row.map((cell) =>
    /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell).join(",")).join("\n"),
  Markdown: ([head, ...rows]) =>
    [head, head.map((_, i) => (i ? "--:" : ":--")), ...rows]
      .map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n"),
  LaTeX: ([head, ...rows]) => {
    const line = (row) => row.map((cell) =>
      cell.replace(/[\\&%$#_{}~^]/g, (sign) => ({ "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" })[sign] || "\\" + sign)
        .replaceAll("\u2212", "$-$").replaceAll("±", "$\\pm$").replaceAll("–", "--")
        .replaceAll("▲", "$\\blacktriangle$").replaceAll("▼", "$\\blacktriangledown$")).join(" & ") + " \\\\";
    return ["\\begin{tabular}{l" + "r".repeat(head.length - 1) + "}", "\\hline", line(head), "\\hline",
      ...rows.map(line), "\\hline", "\\end{tabular}"].join("\n");
  },
};
const ENDINGS = { CSV: "csv", Markdown: "md", LaTeX: "tex", SVG: "svg" };

function offer(after, name, forms) {
  const line = document.createElement("p");
  line.className = "downloads";
  for (const [form, make] of Object.entries(forms)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = form;
    button.title = `Download ${name} as ${form}`;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([make() + "\n"], { type: "text/plain" }));
      link.download = `${name}.${ENDINGS[form]}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    line.append(button);
  }
  after.after(line);
}

const nameOf = (part) => part.closest("section[aria-labelledby], .page").getAttribute("aria-labelledby") || "table";
for (const table of document.querySelectorAll(".scroll table")) {
  const cells = () => [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(text));
  const forms = Object.keys(FORMS).map((form) => [form, () => FORMS[form](cells())]);
  offer(table.parentNode, [nameOf(table), ...table.classList].filter((word) => word !== "sortable").join("-"), Object.fromEntries(forms));
}
for (const drawing of document.querySelectorAll("figure > svg")) {
  const whole = () => {
    const copy = drawing.cloneNode(true);
    const style = document.createElementNS(copy.namespaceURI, "style");
    style.textContent = document.querySelector("style").textContent; // begins with the styles of the drawings
    copy.prepend(style);
    copy.setAttribute("xmlns", copy.namespaceURI);
    return new XMLSerializer().serializeToString(copy);
  };
  offer(drawing, `${nameOf(drawing)}-${text(drawing.parentNode.querySelector("figcaption b")).replace(/\W+/g, "-")}`, { SVG: whole });
}

// Menus: a click outside a menu and the key Escape close it.
addEventListener("click", (event) => {
  for (const menu of menus) if (!menu.contains(event.target)) menu.open = false;
});
addEventListener("keydown", (event) => {
  for (const menu of menus) if (event.key === "Escape") menu.open = false;
});
addEventListener("hashchange", show);
addEventListener("beforeprint", () => pages.forEach((page) => (page.hidden = false)));
addEventListener("afterprint", show);
show();
