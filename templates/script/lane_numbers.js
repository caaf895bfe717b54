/** Columns of numbers as the file of the timeline packs them, and places in rising columns. */

/**
 * Columns of `n` whole numbers each: the lowest byte of all numbers, then the second, and so on. Fails
 * where the bytes hold more or fewer.
 * @param {Uint8Array} bytes
 * @param {number} n
 * @param {number} nColumns
 */
export function decode(bytes, n, nColumns) {
  if (bytes.length !== 8 * n * nColumns) {
    throw new Error("a block has not as many rows as its header says");
  }
  return Array.from({ length: nColumns }, (_, number) => {
    const at = (/** @type {number} */ plane) => (8 * number + plane) * n;
    const half = (/** @type {number} */ row, /** @type {number} */ plane) =>
      bytes[at(plane) + row] | (bytes[at(plane + 1) + row] << 8) |
      (bytes[at(plane + 2) + row] << 16) | (bytes[at(plane + 3) + row] << 24);
    return Float64Array.from({ length: n }, (__, row) => half(row, 4) * 2 ** 32 + (half(row, 0) >>> 0));
  });
}

/**
 * Turns differences into values, in place.
 * @param {Float64Array} column
 * @param {number} from
 */
export function summed(column, from) {
  let value = from;
  for (let at = 0; at < column.length; at++) column[at] = value += column[at];
  return column;
}

/**
 * The first place in a rising column whose value is not below a limit.
 * @param {ArrayLike<number>} column
 * @param {number} limit
 */
export function lowest(column, limit, low = 0, high = column.length) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first place in a rising column of whole numbers whose value is above a limit.
 * @param {ArrayLike<number>} column
 * @param {number} limit
 */
export const above = (column, limit) => lowest(column, Math.floor(limit) + 1);
