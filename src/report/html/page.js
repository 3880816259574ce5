"use strict";
const root = document.documentElement;
const pick = (n) => {
  for (const tab of document.querySelectorAll(".tabs button")) tab.setAttribute("aria-pressed", tab.dataset.event === n);
  for (const part of document.querySelectorAll("[data-of]")) part.hidden = part.dataset.of !== n;
};
for (const tab of document.querySelectorAll(".tabs button")) tab.onclick = () => pick(tab.dataset.event);
const start = document.querySelector(".tabs [data-start]") || document.querySelector(".tabs button");
if (start) pick(start.dataset.event);
document.getElementById("theme").onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};
for (const head of document.querySelectorAll("th[data-sort]")) head.onclick = () => {
  const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
  const down = head.getAttribute("aria-sort") !== "descending";
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => { const v = row.cells[at].dataset.v; return v === undefined ? row.cells[at].textContent : Number(v); };
  const order = (a, b) => { const x = value(a), y = value(b); return typeof x === "number" ? x - y : String(x).localeCompare(y); };
  [...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b))).forEach((row) => body.append(row));
};
for (const search of document.querySelectorAll("input[type=search]")) search.oninput = () => {
  const words = search.value.toLowerCase(), table = document.getElementById(search.dataset.table);
  table.classList.toggle("all", words !== "");
  for (const row of table.tBodies[0].rows) row.hidden = !(row.textContent + row.cells[0].title).toLowerCase().includes(words);
};
for (const button of document.querySelectorAll("button[data-all]")) button.onclick = () => {
  document.getElementById(button.dataset.all).classList.add("all");
  button.remove();
};
const open = () => {
  const part = location.hash && document.getElementById(location.hash.slice(1));
  if (part && part.tagName === "DETAILS") { part.open = true; part.scrollIntoView(); }
};
addEventListener("hashchange", open);
open();
