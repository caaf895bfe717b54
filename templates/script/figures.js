/** Figures as the page writes them (reportgen/views/figure_encoding.py), and as plotly takes them. */
import { bytesOf } from "./packing.js";

/**
 * The numbers of an entry of a pool: type, bytes, scale, offset. The largest whole number is an
 * absent value.
 * @param {[string, string, number, number]} entry
 */
export function decoded([type, base64, scale, offset]) {
  const { buffer } = bytesOf(base64);
  if (type === "f8") return new Float64Array(buffer);
  if (type === "f4") return new Float32Array(buffer);
  const stored = type === "u2" ? new Uint16Array(buffer) : new Uint32Array(buffer);
  const absent = type === "u2" ? 65535 : 4294967295;
  return Float64Array.from(stored, (value) => (value === absent ? NaN : value * scale + offset));
}

/**
 * The outline of an envelope: along the high curve and back along the low one, one closed piece for
 * each stretch without gaps. The same as `outline` in reportgen/views/charts/arrays.py.
 * @param {"x" | "y"} side
 * @param {ArrayLike<number>} time
 * @param {ArrayLike<number>} low
 * @param {ArrayLike<number>} high
 */
export function outline(side, time, low, high) {
  /** @type {number[]} */
  const made = [];
  let start = 0;
  for (let stop = 0; stop <= low.length; stop++) {
    const isGap = stop === low.length || Number.isNaN(low[stop]) || Number.isNaN(high[stop]);
    if (!isGap) continue;
    if (stop > start && made.length) made.push(NaN);
    for (let at = start; at < stop; at++) made.push(side === "x" ? time[at] : high[at]);
    for (let at = stop - 1; at >= start; at--) made.push(side === "x" ? time[at] : low[at]);
    start = stop + 1;
  }
  return made;
}

/**
 * @param {Float64Array | Float32Array} flat
 * @param {number} columns
 */
const cutInRows = (flat, columns) =>
  Array.from({ length: flat.length / columns }, (_, row) => flat.subarray(row * columns, (row + 1) * columns));

/**
 * A function from the page's form of a node of a figure to plotly's.
 * @param {[string, string, number, number][]} entries
 * @param {(token: string) => string} colorOf the colour of a name such as `--rg-text`
 */
export function unfolder(entries, colorOf) {
  const pool = entries.map(decoded);
  /**
   * @param {any} node
   * @returns {any}
   */
  const unfold = (node) => {
    if (typeof node === "string") {
      const token = /^var\((--rg-[a-z0-9-]+)\)$/.exec(node);
      return token ? colorOf(token[1]) : node;
    }
    if (Array.isArray(node)) return node.map(unfold);
    if (!node || typeof node !== "object") return node;
    if ("pool" in node) return node.columns ? cutInRows(pool[node.pool], node.columns) : pool[node.pool];
    if ("outline" in node) {
      const [time, low, high] = node.of.map((/** @type {number} */ at) => pool[at]);
      return outline(node.outline, time, low, high);
    }
    if ("pairs" in node) {
      const [low, high] = node.pairs.map((/** @type {number} */ at) => pool[at]);
      return Array.from(low, (value, at) => [value, high[at]]);
    }
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, unfold(value)]));
  };
  return unfold;
}
