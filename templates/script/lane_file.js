/** The file of the timeline (docs/timeline-format.md): its header at once, its blocks when they are
 * asked for. */
import { decode, summed } from "./lane_numbers.js";
import { rowsOf } from "./lane_rows.js";
import { unpackedBytes } from "./packing.js";

/** @typedef {import("./lane_rows.js").Block} Block */
/** @typedef {import("./lane_rows.js").Lane} Lane */
/**
 * @typedef {{lane: number, from: number, to: number, n: number, at: number[], flow?: Float64Array,
 *   fromLane: Float64Array, fromStart: Float64Array, toLane: Float64Array,
 *   toStart: Float64Array, links?: import("./lane_stage.js").Link[],
 *   lanes?: Lane[]}} Arrows
 */
/** @typedef {{start: number, end: number, why: string, nodes?: string[]}} Full */
/**
 * @typedef {{start_ns: string, is_unix: boolean, length_ns: number, names: number[],
 *   families: number[],
 *   details: number[], lanes: Lane[], windows: Full[], arrows: Arrows[]}} Header
 */

const MAGIC = "RGTL0003";
const HEAD_BYTES = 12;
/** A number of a block, and the most that a list of texts takes. */
const NUMBER_BYTES = 8;
const TEXTS_BYTES = 64e6;

/** Fails where a lane is not after its parent: it could be its own. @param {Lane[]} lanes */
function checkTree(lanes) {
  lanes.forEach(({ id, parent }, at) => {
    if (id !== at || (parent !== null && !(parent < at))) throw new Error(`lane ${at} has no place`);
  });
}

/**
 * Opens a file; fails where it is of another version.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export function openFile(bytes) {
  const text = new TextDecoder();
  if (text.decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("it is of another version");
  const base = HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  /** @type {Header} */
  const header = JSON.parse(text.decode(bytes.subarray(HEAD_BYTES, base)));
  /** @type {Map<object, Promise<void>>} */
  const loading = new Map();
  checkTree(header.lanes);
  const part = (/** @type {number[]} */ [at, length], /** @type {number} */ most) =>
    unpackedBytes(bytes.subarray(base + at, base + at + length), most);
  const rawOf = (/** @type {number[]} */ at, /** @type {number} */ n) => part(at, n * NUMBER_BYTES);

  /**
   * @param {object} what
   * @param {() => Promise<void>} work
   */
  function once(what, work) {
    const known = loading.get(what) ?? work();
    loading.set(what, known);
    return known;
  }

  /** Unpacks a block into its rows, of a counter into its times and values. */
  const load = (/** @type {Lane} */ lane, /** @type {Block} */ block) => once(block, async () => {
    const raw = await rawOf(block.at, block.n * (lane.kind === "counter" ? 2 : 6));
    if (lane.kind === "counter") {
      const [time, value] = decode(raw, block.n, 2);
      block.value = value.map((thousandths) => thousandths / 1000);
      block.time = summed(time, block.from);
      return;
    }
    const columns = decode(raw, block.n, 6);
    summed(columns[0], block.from);
    block.rows = rowsOf(columns, block.level);
  });

  const loadArrows = (/** @type {Arrows} */ block) => once(block, async () => {
    const [flow, fromLane, fromStart, toLane, after] = decode(await rawOf(block.at, block.n * 5), block.n, 5);
    summed(fromStart, block.from);
    const toStart = after.map((value, at) => fromStart[at] + value);
    Object.assign(block, { flow, fromLane, fromStart, toLane, toStart });
  });

  const texts = async (/** @type {number[]} */ at) =>
    /** @type {string[]} */ (JSON.parse(text.decode(await part(at, TEXTS_BYTES))));
  return { header, load, loadArrows, texts };
}
