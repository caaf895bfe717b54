/** Columns of numbers as the file of the timeline packs them, and places in rising columns. */

/**
 * Columns of `n` unsigned LEB128 numbers each; fails where the bytes hold more or fewer.
 * @param {Uint8Array} bytes
 * @param {number} n
 * @param {number} nColumns
 */
export function decode(bytes, n, nColumns) {
  let at = 0;
  const columns = Array.from({ length: nColumns }, () => {
    const column = new Float64Array(n);
    for (let row = 0; row < n; row++) {
      let byte = bytes[at++];
      let value = byte & 127;
      for (let unit = 128; byte > 127; unit *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * unit;
      }
      column[row] = value;
    }
    return column;
  });
  if (at !== bytes.length) throw new Error("a block has not as many rows as its header says");
  return columns;
}

/** The signed number of a zigzag one. @param {number} value */
export const signed = (value) => (value % 2 ? -(value + 1) / 2 : value / 2);

/**
 * Turns zigzag differences into values, in place.
 * @param {Float64Array} column
 * @param {number} from
 */
export function summed(column, from) {
  let value = from;
  for (let at = 0; at < column.length; at++) {
    value += signed(column[at]);
    column[at] = value;
  }
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
