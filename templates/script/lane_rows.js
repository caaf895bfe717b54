/** Strips in rows: what of them is in a range, under a name, around another. Draws nothing. Times are
 * ns after the zero of the file. */
import { above, lowest } from "./lane_numbers.js";

/**
 * Strips of one row by start. `reach` is the latest end so far, `sum` the busy ns of all before. `a`
 * and `b` are detail and flow, of runs the count of their events and their busy ns.
 * @typedef {{n: number, start: Float64Array, end: Float64Array, reach: Float64Array,
 *   sum: Float64Array, name: Uint32Array, a: Float64Array, b: Float64Array}} Row
 */
/**
 * @typedef {{level: number, from: number, to: number, n: number, at: number[], rows?: Row[],
 *   time?: Float64Array, value?: Float64Array}} Block
 * @typedef {{id: number, parent: number | null, kind: string, label: string, node: string,
 *   n_events: number, rows: number, blocks: Block[], unit?: string, family?: string,
 *   least?: number, most?: number, isGroup: boolean, mini: Lane[]}} Lane
 * @typedef {{lane: Lane, row: Row, depth: number, at: number, level: number, start: number,
 *   end: number}} Strip
 */
/** @typedef {[block: Block, from: number, to: number]} Piece */

/**
 * The strip at a place of a row.
 * @param {Lane} lane
 * @param {number} depth
 * @param {number} level
 * @param {Row} row
 * @param {number} at
 * @returns {Strip}
 */
export const stripOf = (lane, depth, level, row, at) =>
  ({ lane, row, depth, at, level, start: row.start[at], end: row.end[at] });

/** @param {number} n @returns {Row} */
const emptyRow = (n) => ({
  n: 0,
  start: new Float64Array(n),
  end: new Float64Array(n),
  reach: new Float64Array(n),
  sum: new Float64Array(n + 1),
  name: new Uint32Array(n),
  a: new Float64Array(n),
  b: new Float64Array(n)
});

/**
 * The columns of a block, row by row.
 * @param {Float64Array[]} columns start, duration, row, name, and two more
 * @param {number} level
 */
export function rowsOf([start, duration, row, name, a, b], level) {
  /** @type {number[]} */
  const sizes = [];
  for (const depth of row) sizes[depth] = (sizes[depth] ?? 0) + 1;
  const rows = Array.from(sizes, (size) => emptyRow(size ?? 0));
  for (let from = 0; from < start.length; from++) {
    const to = rows[row[from]];
    const at = to.n++;
    to.start[at] = start[from];
    to.end[at] = start[from] + duration[from];
    to.reach[at] = at ? Math.max(to.reach[at - 1], to.end[at]) : to.end[at];
    to.sum[at + 1] = to.sum[at] + (level ? b[from] : duration[from]);
    to.name[at] = name[from];
    to.a[at] = a[from];
    to.b[at] = b[from];
  }
  return rows;
}

/**
 * Tells what to draw of a row: each strip of at least `unit` ns alone, shorter ones that begin in the
 * same column of `unit` ns together. Columns are anchored at time 0: they do not move while one pans.
 * @param {Row} row
 * @param {number} from
 * @param {number} to
 * @param {number} unit
 * @param {(at: number, next: number) => void} tell strips `at` up to `next`, without that
 */
export function eachMark(row, from, to, unit, tell) {
  const { start, end } = row;
  const stop = lowest(start, to);
  let at = above(row.reach, from);
  while (at < stop) {
    let next = at + 1;
    if (end[at] - start[at] < unit) {
      next = lowest(start, (Math.floor(start[at] / unit) + 1) * unit, next, stop);
      if (next - at > 1 && end[next - 1] - start[next - 1] >= unit) next--;
    }
    tell(at, next);
    at = next;
  }
}

/**
 * The longest of some strips, of a few of them where they are many: their column is named for it.
 * @param {Row} row
 * @param {number} at
 * @param {number} next
 */
export function longest({ start, end }, at, next) {
  const leap = Math.max(1, (next - at) >> 3);
  let found = at;
  for (let other = at; other < next; other += leap) {
    if (end[other] - start[other] > end[found] - start[found]) found = other;
  }
  return found;
}

/**
 * The ranges between blocks.
 * @param {Block[]} blocks
 * @param {number} from
 * @param {number} to
 */
function gapsOf(blocks, from, to) {
  const gaps = [];
  let at = from;
  for (const block of [...blocks].sort((a, b) => a.from - b.from)) {
    if (block.from > at) gaps.push([at, block.from]);
    at = Math.max(at, block.to);
  }
  if (at < to) gaps.push([at, to]);
  return gaps;
}

/**
 * The known strips of a lane in a range: runs in the gaps between full blocks, then these. An event
 * is in the block where it begins, so one that reaches into the range may be in an earlier block.
 * @param {Lane} lane
 * @param {number} from
 * @param {number} to
 * @returns {Piece[]}
 */
export function piecesOf(lane, from, to) {
  const reaches = (/** @type {Block} */ { rows }) =>
    lane.kind !== "counter" && (!rows || rows.some(({ n, reach }) => n && reach[n - 1] > from));
  const meets = (/** @type {Block} */ block) => block.to > from && block.from < to;
  const full = lane.blocks.filter(
    (block) => !block.level && block.from < to && (block.to > from || reaches(block))
  );
  const gaps = gapsOf(full.filter(meets), from, to);
  const runs = lane.blocks.filter((block) => block.level && meets(block)).flatMap((block) =>
    gaps.map((gap) => /** @type {Piece} */ (
      [block, Math.max(gap[0], block.from), Math.min(gap[1], block.to)]
    ))
  );
  return [
    ...runs.filter(([, start, end]) => end > start),
    ...full.map((block) => /** @type {Piece} */ (
      [block, Math.max(block.from, from), Math.min(block.to, to)]
    ))
  ];
}

/**
 * Where strips of a piece are looked for: events reach out of their block, runs are cut.
 * @param {Piece} piece
 * @param {number} from
 * @param {number} to
 */
export const spanOf = ([block, start, end], from, to) => (block.level ? [start, end] : [from, to]);

/** @typedef {{name: number, isRun: boolean, n: number, ns: number}} Sum */

/**
 * By name how many events of a lane are in a range, and how long they run within it. Where all events
 * are kept, they are counted; between these ranges runs count by the share of them that lies there.
 * @param {Lane} lane
 * @param {number} from
 * @param {number} to
 */
export function tally(lane, from, to) {
  /** @type {Map<string, Sum>} */
  const sums = new Map();
  const add = (/** @type {Sum} */ { name, isRun, n, ns }) => {
    const key = `${isRun} ${name}`;
    const sum = sums.get(key) ?? { name, isRun, n: 0, ns: 0 };
    sums.set(key, { ...sum, n: sum.n + n, ns: sum.ns + ns });
  };
  const pieces = piecesOf(lane, from, to);
  const gaps = pieces.filter(([{ level }]) => level).map(([, start, end]) => [start, end]);
  for (const [{ level, rows }, start, end] of pieces) {
    for (const row of rows ?? []) {
      if (level) eachIn(row, start, end, (at) => add(runSum(lane, row, at, start, end)));
      else eachIn(row, from, to, (at) => add(eventSum(row, at, from, to, gaps)));
    }
  }
  return [...sums.values()];
}

/** @param {number} start @param {number} end @param {number} from @param {number} to */
const overlap = (start, end, from, to) => Math.max(0, Math.min(end, to) - Math.max(start, from));

/** @param {Row} row @param {number} from @param {number} to @param {(at: number) => void} tell */
function eachIn(row, from, to, tell) {
  const stop = lowest(row.start, to);
  for (let at = above(row.reach, from); at < stop; at++) {
    if (row.end[at] > from || row.start[at] === row.end[at]) tell(at);
  }
}

/**
 * An event counts in a gap by its run there.
 * @param {Row} row @param {number} at @param {number} from @param {number} to @param {number[][]} gaps
 * @returns {Sum}
 */
function eventSum({ start, end, name }, at, from, to, gaps) {
  const inGaps = gaps.reduce((sum, gap) => sum + overlap(start[at], end[at], gap[0], gap[1]), 0);
  const ns = overlap(start[at], end[at], from, to) - inGaps;
  return { name: name[at], isRun: false, n: 1, ns };
}

/**
 * A run of one event is that event; it is counted where all are kept, if it reaches there.
 * @param {Lane} lane @param {Row} row @param {number} at @param {number} from @param {number} to
 * @returns {Sum}
 */
function runSum(lane, { start, end, name, a, b }, at, from, to) {
  const inside = overlap(start[at], end[at], from, to);
  const isRun = a[at] > 1;
  const share = end[at] > start[at] ? inside / (end[at] - start[at]) : 1;
  const isKept = lane.blocks.some(
    (block) => !block.level && block.from < end[at] && block.to > start[at]
  );
  if (isRun) return { name: name[at], isRun, n: a[at] * share, ns: b[at] * share };
  return { name: name[at], isRun, n: isKept ? 0 : 1, ns: inside };
}

/**
 * Each row of a lane that keeps all its events.
 * @param {Lane} lane
 * @returns {[depth: number, row: Row][]}
 */
const fullRows = (lane) =>
  lane.blocks.flatMap(({ level, rows }) =>
    level ? [] : (rows ?? []).map((row, depth) => /** @type {[number, Row]} */ ([depth, row]))
  );

/**
 * The events whose names pass, by start.
 * @param {Lane[]} lanes
 * @param {(name: number) => unknown} passes
 */
export function matchesIn(lanes, passes) {
  /** @type {Strip[]} */
  const found = [];
  for (const lane of lanes) {
    for (const [depth, row] of fullRows(lane)) {
      row.name.forEach((name, at) => {
        if (passes(name)) found.push(stripOf(lane, depth, 0, row, at));
      });
    }
  }
  return found.sort((a, b) => a.start - b.start || a.lane.id - b.lane.id);
}

/**
 * The event of a lane that starts at a time with a flow.
 * @param {Lane} lane
 * @param {number} start
 * @param {number} flow
 */
export function eventAt(lane, start, flow) {
  for (const [depth, row] of fullRows(lane)) {
    for (let at = lowest(row.start, start); row.start[at] === start; at++) {
      if (row.b[at] === flow) return stripOf(lane, depth, 0, row, at);
    }
  }
  return null;
}

/**
 * The innermost event that encloses another of its lane and whose name passes.
 * @param {Strip} inner
 * @param {(name: number) => boolean} passes
 */
export function enclosing(inner, passes) {
  /** @type {Strip | null} */
  let found = null;
  for (const [depth, row] of fullRows(inner.lane)) {
    if (depth >= inner.depth || (found && depth <= found.depth)) continue;
    const at = above(row.start, inner.start) - 1;
    if (at >= 0 && row.end[at] >= inner.end && passes(row.name[at])) {
      found = stripOf(inner.lane, depth, 0, row, at);
    }
  }
  return found;
}

/** @typedef {{lane: Lane, depth: number, y: number, height: number}} Band */
/**
 * @typedef {{lane: Lane, depth: number, top: number, bottom: number, isFolded: boolean,
 *   bands: Band[]}} Entry
 */

/**
 * Where lanes are one below the other: those that no folded group hides.
 * @param {Lane[]} lanes
 * @param {Set<number>} folded
 * @param {(lane: Lane, isFolded: boolean) => number} heightOf
 * @returns {Entry[]}
 */
export function laidOut(lanes, folded, heightOf) {
  const hidden = new Set();
  /** @type {Map<number | null, number>} */
  const depths = new Map([[null, -1]]);
  /** @type {Entry[]} */
  const entries = [];
  let top = 0;
  for (const lane of lanes) {
    if (lane.parent !== null && (hidden.has(lane.parent) || folded.has(lane.parent))) {
      hidden.add(lane.id);
      continue;
    }
    const isFolded = folded.has(lane.id);
    const depth = (depths.get(lane.parent) ?? -1) + 1;
    const bottom = top + heightOf(lane, isFolded);
    depths.set(lane.id, depth);
    entries.push({ lane, depth, top, bottom, isFolded, bands: [] });
    top = bottom;
  }
  return entries;
}
