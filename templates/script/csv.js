/** Tables as CSV, and the order of their cells. */

/** @param {string} text */
const quoted = (text) => (/[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replace(/"/g, '""')}"` : text);

/**
 * A text that a spreadsheet could take for a formula is kept a text.
 * @param {string} text
 */
export const harmless = (text) => (/^[=+@\t-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);

/** @param {string[][]} rows */
export const csvOf = (rows) => rows.map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");

/** @typedef {number | string | null} Key what a cell sorts by; null is nothing */

/**
 * @param {number | string} one
 * @param {number | string} other
 */
const compared = (one, other) =>
  typeof one === "number" && typeof other === "number"
    ? one - other
    : String(one).localeCompare(String(other), undefined, { numeric: true });

/**
 * The order of two keys; nothing comes last, whichever way.
 * @param {Key} one
 * @param {Key} other
 * @param {1 | -1} sign
 */
export function orderOf(one, other, sign) {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return sign * compared(one, other);
}
