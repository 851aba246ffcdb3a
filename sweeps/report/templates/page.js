// What every page has: tables that can be sorted, parts that open where a link leads into them, and
// what scrolls can be scrolled by the keyboard.
(() => {
"use strict";

// Only a table of plain rows can be sorted: no cell belongs to several rows or columns.
function isPlain(table) {
  return table.tHead?.rows.length === 1 && table.tBodies.length === 1 && table.tBodies[0].rows.length > 2
    && !table.querySelector("[colspan], [rowspan]");
}

// The first number of a cell, or its words.
function keyOf(row, column) {
  const words = row.cells[column].textContent.trim();
  const number = /[-+]?\d[\d,]*(\.\d+)?/.exec(words);
  return { words, number: number ? Number(number[0].replaceAll(",", "")) : NaN };
}

// Numbers by their value, where the column's heading is that of numbers; empty cells come last.
function sortBy(head) {
  const body = head.closest("table").tBodies[0];
  const { cellIndex: column } = head;
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...body.rows].map((row) => ({ row, ...keyOf(row, column) }));
  const byNumber = head.classList.contains("n");
  const empty = (one) => (byNumber ? Number.isNaN(one.number) : !one.words);
  rows.sort((a, b) => {
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const order = byNumber ? a.number - b.number
      : a.words.localeCompare(b.words, "en", { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows.map((one) => one.row));
}

for (const table of document.querySelectorAll("table:not(#explorer-costs)")) {
  for (const head of isPlain(table) ? table.tHead.rows[0].cells : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(head));
    head.append(button);
  }
}

// Opens all that a linked place is folded into, and shows it.
function open() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  for (const part of [place.querySelector(":scope > details"), place, ...ancestors(place)]) {
    if (part?.matches("details")) part.open = true;
  }
  place.scrollIntoView();
}

function ancestors(place) {
  return place.parentElement ? [place.parentElement, ...ancestors(place.parentElement)] : [];
}

// What is wider than the screen takes the focus, so that arrow keys move it.
function focusable() {
  for (const part of document.querySelectorAll(".scroll")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

window.addEventListener("hashchange", open);
window.addEventListener("resize", focusable);
document.addEventListener("toggle", focusable, true);
focusable();
open();
})();
