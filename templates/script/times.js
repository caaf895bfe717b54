/** Times of the page in UTC, as they are written, or in this browser's zone. */
import { all, first } from "./dom.js";
import { instantIn, localClock, localDate, localDay, localInText, localText, zoneAt } from "./zones.js";

let inBrowserZone = false;
/** @type {[CharacterData, string][]} */
let changed = [];

/** Whether times are shown in this browser's zone. */
export const isLocal = () => inBrowserZone;

/**
 * @param {Element} element
 * @param {string} text
 */
function put(element, text) {
  const node = /** @type {Text} */ (element.firstChild);
  changed.push([node, node.data]);
  node.data = text;
}

/** @param {Element} element a `time` */
const instantOf = (element) => Date.parse(/** @type {HTMLTimeElement} */ (element).dateTime);

/** @param {ParentNode} root */
function localiseSentences(root) {
  for (const element of all("time[datetime]", root)) {
    const before = element.dataset.after === undefined ? null : element.previousElementSibling;
    put(element, localText(element.textContent ?? "", instantOf(element), before ? instantOf(before) : undefined));
  }
}

/**
 * Columns of instants: their cells hold the exact number of seconds.
 * @param {HTMLTableElement} table
 */
function localiseColumns(table) {
  for (const head of /** @type {HTMLTableCellElement[]} */ (all("th[data-instant]", table))) {
    const note = first("small", head);
    const cells = [...table.tBodies[0].rows]
      .map((row) => row.cells[head.cellIndex])
      .filter((cell) => cell?.dataset.v && cell.firstChild?.nodeType === Node.TEXT_NODE);
    if (!cells.length || !note?.textContent?.endsWith("UTC")) continue;
    const label = zoneAt(Number(cells[0].dataset.v) * 1000);
    put(note, label);
    for (const cell of cells) {
      const decimals = /\.(\d+)/.exec(cell.textContent ?? "")?.[1] ?? "0";
      const scale = 10 ** decimals.length;
      const ms = (Math.round(Number(cell.dataset.v) * scale) / scale) * 1000;
      const text = `${localDay(ms)} ${localClock(ms)}.${decimals}`;
      put(cell, zoneAt(ms) === label ? text : `${text} ${zoneAt(ms)}`);
    }
  }
}

/** @param {ParentNode} root */
function localise(root) {
  localiseSentences(root);
  for (const table of all("table", root)) localiseColumns(/** @type {HTMLTableElement} */ (table));
}

/**
 * The date axes of a figure by the names that traces give them: `x`, `x2`.
 * @param {Record<string, any>} layout
 * @returns {Record<string, any>}
 */
function dateAxes(layout) {
  const found = Object.entries(layout).filter(([key, axis]) => /^xaxis\d*$/.test(key) && axis?.type === "date");
  return Object.fromEntries(found.map(([key, axis]) => [key.replace("axis", ""), axis]));
}

/**
 * Where a trace has its instants: a bar from a base has them there.
 * @param {any} trace
 */
const placeOf = (trace) => (trace.base && trace.orientation === "h" ? "base" : "x");

/**
 * A figure of plotly's, whose instants are in UTC, in the zone that is shown.
 * @param {{data: any[], layout: Record<string, any>}} figure
 */
export function placed(figure) {
  if (!inBrowserZone) return figure;
  const { data, layout } = figure;
  const axes = dateAxes(layout);
  const traces = data.filter((trace) => axes[trace.xaxis ?? "x"] && trace[placeOf(trace)]);
  const start = traces.flatMap((trace) => trace[placeOf(trace)].find(Boolean) ?? [])[0];
  for (const trace of traces) {
    trace[placeOf(trace)] = trace[placeOf(trace)].map(localDate);
    if (Array.isArray(trace.text)) trace.text = trace.text.map(localInText);
  }
  for (const mark of [...(layout.shapes ?? []), ...(layout.annotations ?? [])]) {
    if (!axes[mark.xref ?? "x"]) continue;
    for (const key of ["x", "x0", "x1"]) if (key in mark) mark[key] = localDate(mark[key]);
  }
  for (const axis of Object.values(axes)) {
    if (axis.range) axis.range = axis.range.map(localDate);
    if (!start) continue;
    const zone = zoneAt(instantIn(start));
    for (const stop of axis.tickformatstops ?? []) stop.value = stop.value.replace("UTC", zone);
    if (axis.hoverformat) axis.hoverformat = axis.hoverformat.replace("UTC", zone);
  }
  return figure;
}

/**
 * Shows all times in the browser's zone, or in UTC; charts hear of it by `rg:zone`.
 * @param {boolean} inZone
 */
export function showZone(inZone) {
  if (inZone === inBrowserZone) return;
  inBrowserZone = inZone;
  if (inBrowserZone) localise(/** @type {HTMLElement} */ (first("main")));
  else {
    for (const [node, text] of changed.reverse()) node.data = text;
    changed = [];
  }
  document.dispatchEvent(new Event("rg:zone"));
}

const SILENT_MIN = 30;

/** Says how old the newest data of a job without an end are; after half an hour it counts as ended. */
for (const element of all(".rg-state time")) {
  const minutes = Math.floor((Date.now() - instantOf(element)) / 60_000);
  const ages = { days: minutes / 1440, h: minutes / 60, min: minutes };
  const [unit, age] = Object.entries(ages).find(([, value]) => value >= 2) ?? [];
  if (unit) element.after(` (${Math.floor(Number(age))} ${unit} ago)`);
  if (minutes <= SILENT_MIN) continue;
  /** @type {Text} */ (element.previousSibling).data = "ended without notice, data until ";
  first("small", /** @type {Element} */ (element.parentElement))?.remove();
}
