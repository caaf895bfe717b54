/** Rows of many jobs: their order, filters and groups, and how their values are written. */
import { durationText } from "./durations.js";

/**
 * @typedef {Record<string, any>} Job a row of `profiler-index.json`
 * @typedef {{name: string, title: string, isNumber: boolean, isShown: boolean}} Column
 * @typedef {{name: string, sign: number}} Sorting
 */

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** @param {number} value */
export const numberText = (value) => number.format(value);

/**
 * @param {string} one
 * @param {string} other
 */
const inOrder = (one, other) => (one < other ? -1 : Number(one > other));

/** @param {unknown} value */
const isAbsent = (value) => value === null || value === undefined || value === "";

/**
 * The order of two jobs by a column: absent values come last; equal ones by what the first finding may
 * save, then the newest first.
 * @param {Job} one
 * @param {Job} other
 * @param {Sorting} sorting
 */
export function jobOrder(one, other, { name, sign }) {
  const [a, b] = [one[name], other[name]];
  const more = (other.top_saves_pct || 0) - (one.top_saves_pct || 0);
  if (a === b) return more || inOrder(other.created || "", one.created || "") || inOrder(one.job, other.job);
  if (isAbsent(a) || isAbsent(b)) return Number(isAbsent(a)) - Number(isAbsent(b));
  return (a < b ? -1 : 1) * sign;
}

/**
 * Whether a job passes the filters that the reader has set.
 * @param {Job} job
 * @param {Record<string, any>} wanted by the names of the fields
 */
export function passes(job, wanted) {
  const text = wanted.text.trim().toLowerCase();
  const day = (job.created || "").slice(0, 10);
  const texts = [job.job, job.top_finding, job.path, job.problem];
  return (
    (!wanted.status || job.status === wanted.status) &&
    (!wanted.cause || job.top_cause === wanted.cause) &&
    (!wanted.from || day >= wanted.from) &&
    (!wanted.to || (day && day <= wanted.to)) &&
    (!text || texts.some((one) => one.toLowerCase().includes(text)))
  );
}

/**
 * One row for each group of jobs: its latest job, with sums and the trend of its step times.
 * @param {Job[]} jobs
 * @returns {Job[]}
 */
export function grouped(jobs) {
  /** @type {Map<string, Job[]>} */
  const groups = new Map();
  for (const job of jobs) groups.set(job.group, [...(groups.get(job.group) ?? []), job]);
  return Array.from(groups, ([name, members]) => {
    const latest = members.reduce((a, b) => ((a.created || "") > (b.created || "") ? a : b));
    const total = (/** @type {string} */ key) => members.reduce((sum, job) => sum + (job[key] || 0), 0);
    const timed = members.filter((job) => job.created && job.step_period_p50_s);
    timed.sort((a, b) => inOrder(a.created, b.created));
    return {
      ...latest,
      job: members.length === 1 ? latest.job : `${name} (${members.length} jobs)`,
      duration_s: total("duration_s"),
      wasted_gpu_hours: members.some((job) => job.wasted_gpu_hours !== null) ? total("wasted_gpu_hours") : null,
      wasted_usd: members.some((job) => job.wasted_usd !== null) ? total("wasted_usd") : null,
      trend: timed.map((job) => job.step_period_p50_s)
    };
  });
}

/**
 * The text of a cell.
 * @param {Job} job
 * @param {Column} column
 */
export function cellText(job, { name, isNumber }) {
  const value = job[name];
  if (isAbsent(value)) return "–";
  if (name.endsWith("_s") && !name.endsWith("_per_s")) return durationText(value);
  if (name === "wasted_gpu_hours") return durationText(value * 3600);
  if (name === "created") return value.slice(0, 16).replace("T", " ");
  return isNumber ? numberText(value) : value;
}

/**
 * The points of a trend in a picture of 120 by 24, as the path of an SVG.
 * @param {number[]} values
 */
export function trendPath(values) {
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  const points = values.map((value, at) => {
    const x = 2 + (116 * at) / Math.max(values.length - 1, 1);
    return `${x.toFixed(1)} ${(22 - (20 * (value - low)) / range).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}
