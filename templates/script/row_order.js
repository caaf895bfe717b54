/** The rows of a heat map: as recorded, or those with the largest values first. */
import { first, make } from "./dom.js";
import { bytesOf } from "./packing.js";

const LEAST_ROWS = 9;

/**
 * The rows of a matrix as plotly's JSON has it.
 * @param {{bdata: string, shape: string}} matrix
 */
function rowsIn({ bdata, shape }) {
  const cells = new Float32Array(bytesOf(bdata).buffer);
  const [n_rows, n_columns] = shape.split(",").map(Number);
  return Array.from({ length: n_rows }, (_, row) => cells.subarray(row * n_columns, (row + 1) * n_columns));
}

/** @param {ArrayLike<number>} row */
function meanOf(row) {
  const known = Array.from(row).filter((value) => !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / Math.max(known.length, 1);
}

/**
 * @param {HTMLElement} figure
 * @param {() => void} redraw
 */
function offer(figure, redraw) {
  if (first(".rg-order", figure)) return;
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", redraw);
  first(".rg-plot", figure)?.before(make("label", { className: "rg-order" }, box, " Largest rows first"));
}

/**
 * Offers the choice at a heat map of many rows, and puts them in the order that is chosen.
 * @param {HTMLElement} figure
 * @param {any} drawn its data and layout, which are changed
 * @param {() => void} redraw
 */
export function orderRows(figure, { data: [map], layout }, redraw) {
  if (map?.type !== "heatmap" || map.y.length < LEAST_ROWS || figure.closest(".rg-timeline")) return;
  offer(figure, redraw);
  const box = /** @type {HTMLInputElement | null} */ (first(".rg-order input", figure));
  if (!box?.checked) return;
  const rows = rowsIn(map.z);
  const means = rows.map(meanOf);
  const order = means.map((_, at) => at).sort((one, other) => means[other] - means[one] || one - other);
  map.z = order.map((at) => rows[at]);
  map.y = order.map((at) => map.y[at]);
  const every = Math.ceil(order.length / Math.max(layout.yaxis.tickvals.length, 1));
  layout.yaxis.tickvals = map.y.filter((/** @type {string} */ _, /** @type {number} */ at) => at % every === 0);
  layout.yaxis.ticktext = layout.yaxis.tickvals;
}
