/** Tables: sort by a heading, filter rows, copy as CSV. Rows behind a fold join their table when it is
 * opened, sorted, filtered or copied. */
import { csvOf, harmless, orderOf } from "./csv.js";
import { all, first, make } from "./dom.js";
import { announce, wordsIn, wordsOf } from "./texts.js";

const FILTER_FROM_ROWS = 9;
const SAID_MS = 2500;
const ABSENT = "–";

/** @param {HTMLTableElement} table */
const rowsOf = (table) => [...table.tBodies[0].rows];

/** @param {HTMLTableElement} table */
const headsOf = (table) => [...(table.tHead?.rows[0].cells ?? [])];

/** @param {number} count */
const rowsText = (count) => `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;

/**
 * The fold that holds the table's further rows, if there is one.
 * @param {HTMLTableElement} table
 */
function foldOf(table) {
  const next = (table.closest(".rg-scroll") ?? table).nextElementSibling;
  return /** @type {HTMLDetailsElement | null} */ (next?.matches("details[data-rows]") ? next : null);
}

/** @param {HTMLTableElement} table */
function join(table) {
  const fold = foldOf(table);
  if (!fold) return;
  const hadFocus = fold.contains(document.activeElement);
  table.tBodies[0].append(...rowsOf(/** @type {HTMLTableElement} */ (first("table", fold))));
  fold.remove();
  table.dispatchEvent(new CustomEvent("rg-joined"));
  if (hadFocus) /** @type {HTMLElement | null} */ (table.closest(".rg-scroll"))?.focus();
}

/**
 * The sort key of a cell: a number where it has one, else its words.
 * @param {HTMLTableCellElement | undefined} cell
 */
function keyOf(cell) {
  if (!cell) return null;
  const { k: key, v: value } = cell.dataset;
  if (key !== undefined) return key === "" ? null : Number(key);
  if (value !== undefined) return Number(value);
  const text = wordsOf(first("abbr[title]", cell) ?? cell);
  if (text === ABSENT || text === "" || text === "NaN") return null;
  return /^-?\d+(\.\d+)?(e[-+]?\d+)?$/.test(text) ? Number(text) : text;
}

/**
 * @param {HTMLTableElement} table
 * @param {HTMLTableCellElement} head
 */
function sort(table, head) {
  join(table);
  const rows = rowsOf(table).map((row, at) => {
    row.dataset.at ??= String(at + 1);
    return { row, place: Number(row.dataset.at), key: keyOf(row.cells[head.cellIndex]) };
  });
  const isNumber = rows.some(({ key }) => typeof key === "number");
  const order = isNumber ? ["descending", "ascending", null] : ["ascending", "descending", null];
  const wanted = order[(order.indexOf(head.getAttribute("aria-sort")) + 1) % order.length];
  all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
  if (wanted) head.setAttribute("aria-sort", wanted);
  const sign = wanted === "ascending" ? 1 : -1;
  rows.sort((one, other) => (wanted && orderOf(one.key, other.key, sign)) || one.place - other.place);
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

/** @param {HTMLTableElement} table */
function makeSortable(table) {
  for (const head of headsOf(table)) {
    const button = make("button", { type: "button", className: "rg-sort" }, ...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }
}

/** @param {HTMLTableCellElement | undefined} cell */
function dataOf(cell) {
  if (!cell) return "";
  if (cell.dataset.c !== undefined) return harmless(cell.dataset.c);
  if (cell.dataset.v !== undefined) return cell.dataset.v;
  const name = first("abbr[title]", cell);
  const text = name ? name.title : wordsOf(cell);
  return text === ABSENT ? "" : harmless(text);
}

/**
 * @param {HTMLTableElement} table
 * @param {HTMLTableRowElement[]} rows
 */
function tableAsCsv(table, rows) {
  const heads = headsOf(table).map((head) => head.dataset.name || wordsOf(head));
  const hasUnits = Boolean(first("td[data-u]", table));
  const lines = rows.map((row) => {
    const cells = heads.map((_, at) => dataOf(row.cells[at]));
    return hasUnits ? [...cells, first("td[data-u]", row)?.dataset.u ?? ""] : cells;
  });
  return csvOf([hasUnits ? [...heads, "unit"] : heads, ...lines]);
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = make("textarea", { value: text, className: "rg-hidden" });
    document.body.append(box);
    box.select();
    const isDone = document.execCommand("copy");
    box.remove();
    if (!isDone) throw new Error("copying is not allowed here");
  }
}

/**
 * @param {HTMLElement} button
 * @param {string} text
 */
function say(button, text) {
  const label = (button.dataset.label ??= button.textContent ?? "");
  button.textContent = text;
  announce(text);
  setTimeout(() => {
    button.textContent = label;
  }, SAID_MS);
}

/** @param {HTMLTableElement} table */
function copier(table) {
  const button = make("button", {
    type: "button",
    className: "rg-tool",
    textContent: "Copy CSV",
    title: "Copy this table as CSV, numbers in full"
  });
  button.addEventListener("click", async () => {
    join(table);
    const rows = rowsOf(table).filter((row) => !row.hidden);
    const said = await copy(tableAsCsv(table, rows)).then(
      () => `Copied ${rowsText(rows.length)}`,
      () => "Copying is not allowed here"
    );
    say(button, said);
  });
  return button;
}

/**
 * @param {HTMLTableElement} table
 * @param {string} label
 */
function filterer(table, label) {
  const box = make("input", {
    type: "search",
    className: "rg-filter",
    placeholder: "Filter rows",
    "aria-label": `Filter the rows of ${label}`
  });
  box.addEventListener("focus", () => join(table));
  box.addEventListener("input", () => {
    const asked = wordsIn(box.value);
    const rows = rowsOf(table);
    for (const row of rows) {
      const text = (row.textContent ?? "").toLowerCase();
      row.hidden = !asked.every((word) => text.includes(word));
    }
    const nShown = rows.filter((row) => !row.hidden).length;
    announce(`${nShown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.value) return;
    event.stopPropagation();
    box.value = "";
    box.dispatchEvent(new Event("input"));
  });
  return box;
}

/** @param {HTMLTableElement} table */
function equip(table) {
  const scroll = table.closest(".rg-scroll");
  if (!table.tHead || !table.tBodies.length || !scroll) return;
  const fold = foldOf(table);
  const count = rowsOf(table).length + Number(fold?.dataset.rows ?? 0);
  if (count > 1) makeSortable(table);
  const tools = make("div", { className: "rg-tools" });
  if (count >= FILTER_FROM_ROWS) tools.append(filterer(table, scroll.getAttribute("aria-label") ?? ""));
  tools.append(copier(table));
  const figure = scroll.closest("figure");
  const isFolded = figure?.contains(scroll.closest("details"));
  const caption = figure && !isFolded ? first("figcaption", figure) : null;
  if (caption && !first(".rg-tools", caption)) caption.append(tools);
  else scroll.before(tools);
  fold?.querySelector("summary")?.addEventListener("click", (event) => {
    event.preventDefault();
    join(table);
  });
}

/**
 * Gives a table of pandas the place that our tables have. The names of its index join the first row
 * of its head; one with cells over several rows or columns stays as it is.
 * @param {HTMLTableElement} table
 */
function adopt(table) {
  if (first("[rowspan], [colspan]", table)) return;
  const [head, names] = table.tHead?.rows ?? [];
  if (names) {
    for (const cell of names.cells) {
      if (cell.textContent) head.cells[cell.cellIndex].textContent = cell.textContent;
    }
    names.remove();
  }
  const scroll = make("div", { className: "rg-scroll", tabIndex: 0 });
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "A table of the notebook's author");
  table.replaceWith(scroll);
  scroll.append(table);
}

for (const table of all(".rg-html table.dataframe")) adopt(/** @type {HTMLTableElement} */ (table));
for (const table of all(".rg-scroll > table")) {
  if (!table.closest("details[data-rows]")) equip(/** @type {HTMLTableElement} */ (table));
}
