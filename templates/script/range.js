/** One range of time for all charts that have a time axis: a zoom in one zooms all. Ranges are
 * [start, end] in seconds of the job's clock; null is the whole job. */
import { figures, isAwake, plotOf } from "./charts.js";
import { byId, first } from "./dom.js";

/** @typedef {[number, number]} Range */

const LEAST_S = 1e-4;
const timed = figures.filter((figure) => "time" in figure.dataset);
const axis = byId("timeline-axis");

/** The figure of the time axis, if the page has one, and what the page says of it. */
export const main = axis;
/** @type {any} */
export const facts = axis ? JSON.parse(first(".rg-timeline-facts", axis)?.textContent ?? "null") : null;

/** @type {Range | null} */
let range = null;
/** @type {Map<HTMLElement, Range | null>} */
const shown = new Map();
/** @type {Set<HTMLElement>} */
const following = new Set();
/** @type {Set<HTMLElement>} */
const heard = new Set();

/** The range in view; null is the whole job. */
export const currentRange = () => range;

/**
 * The whole job.
 * @returns {Range | null}
 */
export const whole = () => (facts ? [facts.start, facts.end] : null);

/* Between the axis and the job's clock. A date axis counts milliseconds. */
/** @param {any} plot */
const isDated = (plot) => plot._fullLayout.xaxis.type === "date";

/**
 * @param {any} plot
 * @param {number} time_s
 */
function toAxis(plot, time_s) {
  if (!isDated(plot)) return time_s;
  return new Date(Math.round(time_s * 1000)).toISOString().slice(0, -1).replace("T", " ");
}

/**
 * The job's time of what an axis counts.
 * @param {any} plot
 * @param {number} counted
 */
export const fromCounted = (plot, counted) => (isDated(plot) ? counted / 1000 : counted);

/**
 * @param {any} plot
 * @param {number | string} value
 */
const fromAxis = (plot, value) =>
  fromCounted(plot, typeof value === "number" ? value : plot._fullLayout.xaxis.r2c(value));

/**
 * A range within the job; null where it is the whole job.
 * @param {Range | null} next
 * @param {Range | null} job
 * @returns {Range | null}
 */
export function clamped(next, job) {
  if (!next || !job) return next;
  const length = Math.min(Math.max(next[1] - next[0], LEAST_S), job[1] - job[0]);
  const start = Math.min(Math.max(next[0], job[0]), job[1] - length);
  const slack = 1e-3 * (job[1] - job[0]);
  const isWhole = start <= job[0] + slack && start + length >= job[1] - slack;
  return isWhole ? null : [start, start + length];
}

/* Charts follow when they are in view; the others when they come into it. */
/** @param {HTMLElement} figure */
function isNear(figure) {
  const { top, bottom } = figure.getBoundingClientRect();
  return bottom > -200 && top < innerHeight + 200;
}

/** @param {HTMLElement} figure */
async function follow(figure) {
  if (shown.get(figure) === range || !isAwake(figure)) return;
  const plot = plotOf(figure);
  const next = range ?? (figure === axis ? whole() : null);
  shown.set(figure, range);
  following.add(figure);
  const change = next ? { "xaxis.range": next.map((time_s) => toAxis(plot, time_s)) } : { "xaxis.autorange": true };
  const visible = visibleCurves(plot.data, Boolean(range));
  await (visible ? window.Plotly.update(plot, { visible }, change) : window.Plotly.relayout(plot, change));
  following.delete(figure);
  if (figure === axis) figure.dispatchEvent(new Event("rg:followed"));
}

/* A zoom shows the steps one by one in place of their thinned curve. */
/**
 * @param {any[]} traces
 * @param {boolean} isZoomed
 */
function visibleCurves(traces, isZoomed) {
  const isRefined = (/** @type {any} */ trace) => trace.meta?.refined;
  const refined = traces.filter(isRefined);
  if (!refined.length || Boolean(refined[0].visible) === isZoomed) return null;
  const axes = new Set(refined.map((trace) => trace.yaxis));
  return traces.map((trace) => !axes.has(trace.yaxis ?? "y") || isRefined(trace) === isZoomed);
}

/**
 * Zooms all charts to a range; they hear of it by `rg:range`.
 * @param {Range | null} next
 */
export function setRange(next) {
  range = clamped(next, whole());
  timed.filter(isNear).forEach(follow);
  document.dispatchEvent(new CustomEvent("rg:range", { detail: range }));
}
/* The lanes of the timeline, a separate script, ask for a range by `rg:zoom`. */
document.addEventListener("rg:zoom", (event) => setRange(/** @type {CustomEvent<Range>} */ (event).detail));

/** @param {HTMLElement} figure */
function listen(figure) {
  if (heard.has(figure)) return;
  heard.add(figure);
  const plot = plotOf(figure);
  plot.on("plotly_relayout", (/** @type {any} */ change) => {
    if (following.has(figure)) return;
    const [start, end] = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (start !== undefined && end !== undefined) setRange([fromAxis(plot, start), fromAxis(plot, end)]);
    else if (change["xaxis.autorange"]) setRange(null);
  });
}

const timedInView = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) follow(/** @type {HTMLElement} */ (target));
    }
  },
  { rootMargin: "200px 0px" }
);
for (const figure of timed) {
  figure.addEventListener("rg:drawn", () => {
    shown.set(figure, null);
    listen(figure);
    if (range) follow(figure);
  });
  figure.addEventListener("rg:asleep", () => heard.delete(figure));
  timedInView.observe(figure);
}
