/** The table of many jobs: sorted, filtered and grouped in the reader's browser. The rows come packed;
 * whatever their number, a few hundred are in the page. */
import { all, byId, first, make } from "./dom.js";
import { cellText, grouped, jobOrder, passes, trendPath } from "./job_rows.js";
import { durationText } from "./durations.js";
import { bytesOf, unpacked } from "./packing.js";

/** @typedef {import("./job_rows.js").Job} Job */
/** @typedef {import("./job_rows.js").Column} Column */

const AT_ONCE = 100;
const SVG = "http://www.w3.org/2000/svg";
const table = /** @type {HTMLTableElement} */ (byId("jobs"));
const tools = /** @type {HTMLFormElement} */ (first(".rgi-tools"));
const more = /** @type {HTMLButtonElement} */ (first(".rgi-more"));
const heads = /** @type {HTMLTableCellElement[]} */ (all("thead th", table));
/** @type {Column[]} */
const columns = heads.map((head) => ({
  name: head.dataset.name ?? "",
  title: head.textContent ?? "",
  isNumber: head.classList.contains("rg-num"),
  isShown: true
}));
/** @type {Job[]} */
let jobs = [];
/** @type {Job[]} */
let found = [];
let sorted = { name: "wasted_gpu_hours", sign: -1 };
let nShown = AT_ONCE;

/** @returns {Promise<Job[]>} */
async function readJobs() {
  const packed = byId("index-data")?.textContent ?? "";
  const { names, rows } = await unpacked(bytesOf(packed)).json();
  return rows.map((/** @type {unknown[]} */ row) =>
    Object.fromEntries(names.map((/** @type {string} */ name, /** @type {number} */ at) => [name, row[at]]))
  );
}

/** @param {number[]} values */
function sparkline(values) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  const label = `Step time from ${durationText(values[0])} to ${durationText(values[values.length - 1])}`;
  const attributes = { class: "rgi-trend", viewBox: "0 0 120 24", role: "img", "aria-label": label };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  path.setAttribute("d", trendPath(values));
  svg.append(path);
  return svg;
}

/**
 * @param {Job} job
 * @returns {(Node | string)[]}
 */
function findingOf(job) {
  const finding = job.top_finding ? `${job.top_severity}: ${job.top_finding}` : "–";
  const text = job.problem || finding;
  if (!job.top_severity) return [text];
  return [make("span", { className: `rgi-dot rgi-${job.top_severity}`, "aria-hidden": "true" }), text];
}

/**
 * @param {Job} job
 * @param {Column} column
 */
function cell(job, column) {
  const made = make("td", { className: column.isNumber ? "rg-num" : `rgi-${column.name}` });
  if (column.name === "job" && job.page) made.append(make("a", { href: job.page }, job.job));
  else if (column.name === "top_finding") {
    made.append(...findingOf(job));
  } else made.append(String(cellText(job, column)));
  if (column.name === "step_period_p50_s" && job.trend?.length > 1) made.append(sparkline(job.trend));
  return made;
}

function draw() {
  const shown = columns.filter(({ isShown }) => isShown);
  const rows = found.slice(0, nShown).map((job) => make("tr", {}, ...shown.map((column) => cell(job, column))));
  table.tBodies[0].replaceChildren(...rows);
  heads.forEach((head, at) => {
    head.hidden = !columns[at].isShown;
    const order = sorted.sign > 0 ? "ascending" : "descending";
    head.setAttribute("aria-sort", columns[at].name === sorted.name ? order : "none");
  });
  more.hidden = found.length <= nShown;
  const known = found.filter((job) => job.wasted_gpu_hours !== null);
  const hours = known.reduce((sum, job) => sum + job.wasted_gpu_hours, 0);
  const wasted = known.length ? `, ${durationText(hours * 3600)} of GPU time without work` : "";
  const count = `${found.length.toLocaleString("en")} shown${wasted}`;
  first(".rgi-count")?.replaceChildren(count);
}

function update() {
  const wanted = Object.fromEntries(new FormData(tools));
  const kept = jobs.filter((job) => passes(job, wanted));
  found = (wanted.grouped ? grouped(kept) : kept).sort((one, other) => jobOrder(one, other, sorted));
  nShown = AT_ONCE;
  draw();
}

/**
 * @param {string} field
 * @param {string} key
 */
function offerChoices(field, key) {
  const values = [...new Set(jobs.map((job) => job[key]).filter(Boolean))].sort();
  const select = /** @type {HTMLSelectElement} */ (tools.elements.namedItem(field));
  select.append(...values.map((value) => new Option(value.replaceAll("_", " "), value)));
}

/** @param {Column} column */
function sortBy({ name, isNumber }) {
  const firstSign = isNumber || name === "created" ? -1 : 1;
  sorted = { name, sign: sorted.name === name ? -sorted.sign : firstSign };
  update();
}

function listen() {
  heads.forEach((head, at) => {
    const button = make("button", { type: "button" }, head.textContent ?? "");
    button.addEventListener("click", () => sortBy(columns[at]));
    head.replaceChildren(button);
  });
  for (const column of columns.slice(1)) {
    const box = make("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      column.isShown = box.checked;
      draw();
    });
    first(".rgi-columns > div")?.append(make("label", {}, box, column.title));
  }
  tools.addEventListener("input", update);
  tools.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    nShown += AT_ONCE * 5;
    draw();
  });
}

readJobs().then((rows) => {
  jobs = rows;
  offerChoices("status", "status");
  offerChoices("cause", "top_cause");
  listen();
  tools.hidden = false;
  update();
});
