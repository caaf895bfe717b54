/** Numbers and names of the timeline as people read them. */
import { digits, durationText } from "./durations.js";

/** A time in ns: `812.3 µs`. @param {number} time_ns */
export const timeText = (time_ns, most = 4) => durationText(time_ns / 1e9, most);

/** @param {number} value */
export const wholeText = (value) => Math.round(value).toLocaleString("en");

/**
 * A value of a counter: `2.1 GB`, `93 %`.
 * @param {number} value
 * @param {string} unit
 */
export function amountText(value, unit) {
  const [size, per] = unit.split("/");
  if (size !== "bytes") return `${digits(value, 3)} ${unit}`.trim();
  const at = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(Math.abs(value), 1)) / 3)));
  return `${digits(value / 1000 ** at, 3)} ${["bytes", "kB", "MB", "GB", "TB"][at]}${per ? `/${per}` : ""}`;
}

/**
 * An instant of a clock of ns since 1970, to the microsecond.
 * @param {string} zero_ns more digits than a number holds
 * @param {number} time_ns
 */
export function instantText(zero_ns, time_ns) {
  const at_ns = BigInt(zero_ns) + BigInt(Math.round(time_ns));
  const seconds = new Date(Number(at_ns / 1000000n)).toISOString().slice(0, 19).replace("T", " ");
  return `${seconds}.${String(at_ns % 1000000000n).padStart(9, "0").slice(0, 6)} UTC`;
}

/** @param {string} text */
export const shortened = (text, most = 120) =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** A name without what all names of its kind have. @param {string} name */
export const plainName = (name) => name.replace(/^void |at::native::/g, "");
