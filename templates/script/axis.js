/** The time axis: its buttons, fields and keys, the range in words, and the functions of a range. */
import { clockText } from "./axis_words.js";
import { all, byId, first, make } from "./dom.js";
import { durationText } from "./durations.js";
import { bytesOf } from "./packing.js";
import { currentRange, facts, main, setRange, whole } from "./range.js";

const KEYS = { "+": "in", "=": "in", "-": "out", 0: "all", ArrowLeft: "left", ArrowRight: "right" };

/** @param {number} time_s */
export function clock(time_s) {
  if (!facts?.unix) return `${time_s.toFixed(2)} s`;
  return clockText(time_s * 1000, facts.end - facts.start >= 3600);
}

const chipText = make("span");
const chipButton = make("button", { type: "button", textContent: "Whole job", onclick: () => setRange(null) });
const chip = make("div", { className: "rg-chip", hidden: true, role: "status" }, chipText, chipButton);
document.body.append(chip);

/* Functions of the range: whole stretches of time that it touches. */
/** @type {Float32Array | null} */
let cells = null;

/**
 * @param {any} table
 * @param {number} from
 * @param {number} to
 */
function functionsIn(table, from, to) {
  const { buffer } = cells ?? bytesOf(table.cells);
  cells ??= new Float32Array(buffer);
  const sumOf = (/** @type {number} */ row) =>
    cells?.subarray(row * table.n + from, row * table.n + to).reduce((sum, value) => sum + value, 0) ?? 0;
  return /** @type {string[]} */ (table.names)
    .map((name, row) => ({ name, sum_s: sumOf(row) }))
    .filter(({ sum_s }) => sum_s > 0)
    .sort((one, other) => other.sum_s - one.sum_s);
}

/**
 * @param {{name: string, sum_s: number}} one
 * @param {number} most_s
 */
function functionRow({ name, sum_s }, most_s) {
  const ink = make("i");
  ink.style.width = `${(100 * sum_s) / most_s}%`;
  const bar = make("span", { className: "rg-function-bar" }, ink);
  const head = make("th", { scope: "row", textContent: name });
  return make("tr", {}, head, make("td", { textContent: durationText(sum_s) }), make("td", {}, bar));
}

/** @param {[number, number]} now */
function showFunctions([start_s, end_s]) {
  const box = byId("timeline-functions");
  const table = facts.functions;
  if (!box || !table) return;
  const { first: first_s, width, n } = table;
  const from = Math.max(0, Math.floor((start_s - first_s) / width));
  const to = Math.min(n, Math.max(from + 1, Math.ceil((end_s - first_s) / width - 1e-9)));
  const found = functionsIn(table, from, to);
  const isCut = currentRange() !== null;
  const last_s = Math.min(first_s + to * width, facts.end);
  const inWords = isCut ? `from ${clock(first_s + from * width)} to ${clock(last_s)}` : "of the whole job";
  const note = isCut ? "Times are added up over whole intervals: all that the visible range touches." : "";
  first(".rg-range", box)?.replaceChildren(inWords);
  first(".rg-range-note", box)?.replaceChildren(note);
  const rows = found.slice(0, table.most).map((one) => functionRow(one, found[0].sum_s));
  const none = make("tr", {}, make("td", { textContent: "No function ran in this range." }));
  first("tbody", box)?.replaceChildren(...(rows.length ? rows : [none]));
}

/* The range, said on the page. */
function showRange() {
  const range = currentRange();
  chip.hidden = !range;
  if (range) chipText.textContent = `Zoomed to ${clock(range[0])} – ${clock(range[1])}`;
  const now = range ?? whole();
  if (!main || !now) return;
  for (const field of /** @type {HTMLInputElement[]} */ (all("[data-edge]", main))) {
    const edge_s = field.dataset.edge === "start" ? now[0] : now[1];
    field.value = String(Number((edge_s - facts.start).toFixed(3)));
  }
  showFunctions(now);
}
document.addEventListener("rg:range", showRange);

/** @param {string | undefined} how */
function zoom(how) {
  const [start, end] = currentRange() ?? whole() ?? [0, 0];
  const quarter = (end - start) / 4;
  const middle = (start + end) / 2;
  if (how === "all") setRange(null);
  if (how === "in") setRange([middle - quarter, middle + quarter]);
  if (how === "out") setRange([middle - 4 * quarter, middle + 4 * quarter]);
  if (how === "left") setRange([start - quarter, end - quarter]);
  if (how === "right") setRange([start + quarter, end + quarter]);
}

const tools = main && first(".rg-zoom", main);
if (main && tools) {
  tools.hidden = false;
  tools.addEventListener("click", ({ target }) => {
    const button = /** @type {Element} */ (target).closest("[data-zoom]");
    if (button) zoom(/** @type {HTMLElement} */ (button).dataset.zoom);
  });
  tools.addEventListener("change", () => {
    const fields = /** @type {HTMLInputElement[]} */ (all("[data-edge]", tools));
    const [start, end] = fields.map(({ value }) => facts.start + Number(value));
    if (start < end) setRange([start, end]);
    else showRange();
  });
  first(".rg-axis", main)?.addEventListener("keydown", (event) => {
    const how = /** @type {Record<string, string>} */ (KEYS)[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !how) return;
    event.preventDefault();
    event.stopPropagation();
    zoom(how);
  });
}
