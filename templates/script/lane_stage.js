/** The state of the lanes: the range in view, the folded, chosen and marked ones, and where on the
 * canvas a time or a strip is. All parts of the viewer share it. */
import { paletteOf } from "./lane_colours.js";
import { above, lowest } from "./lane_numbers.js";
import { eventAt, laidOut, piecesOf, stripOf } from "./lane_rows.js";
import { shortened, timeText, wholeText } from "./lane_words.js";
import { first } from "./dom.js";

/** @typedef {import("./lane_rows.js").Band} Band */
/** @typedef {import("./lane_rows.js").Block} Block */
/** @typedef {import("./lane_rows.js").Entry} Entry */
/** @typedef {import("./lane_rows.js").Lane} Lane */
/** @typedef {import("./lane_rows.js").Piece} Piece */
/** @typedef {import("./lane_rows.js").Strip} Strip */
/** @typedef {import("./lane_file.js").Arrows} Arrows */
/** @typedef {{from: number, to: number}} Range */
/** @typedef {[launch: Strip, run: Strip]} Link */
/** @typedef {{lane: Lane, depth: number, strip: Strip | null}} Spot */

const OVERVIEW_PX = 16;
const AXIS_PX = 24;
export const HEAD_PX = OVERVIEW_PX + AXIS_PX + 7;
const ROW_PX = 17;
const MINI_ROW_PX = 3;
export const CAPTION_PX = 15;
const NARROW_PX = 600;
const LEAST_NS = 200;
const MOST_ROWS = 256;
const MOST_MINI = 6;
const MANY_LANES = 400;
const EASING = 0.4;

export const figure = /** @type {HTMLElement} */ (first("#timeline-lanes"));
/** A part of the figure by the end of its class. @param {string} name @returns {any} */
export const partOf = (name) => first(`.rg-lanes-${name}`, figure);
/** @type {HTMLCanvasElement} */
export const canvas = partOf("canvas");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const finger = matchMedia("(pointer: coarse)");

export const stage = {
  /** @type {ReturnType<typeof import("./lane_file.js").openFile>} */
  file: /** @type {any} */ (null),
  /** @type {Lane[]} */
  lanes: [],
  /** @type {string[]} */
  names: [],
  /** Of each name. @type {string[]} */
  families: [],
  /** @type {string[]} */
  details: [],
  /** @type {Strip[]} */
  steps: [],
  /** @type {ReturnType<typeof paletteOf>} */
  palette: /** @type {any} */ (null),
  /** @type {Range} */
  view: { from: 0, to: 1 },
  /** The range that the view moves to. @type {Range | null} */
  target: null,
  /** @type {Range | null} */
  marked: null,
  scroll_px: 0,
  size: { width: 0, height: 0, gutter: 0, dpr: 1 },
  /** @type {Entry[]} */
  entries: [],
  /** @type {Set<number>} */
  folded: new Set(),
  /** @type {Spot | null} */
  cursor: null,
  /** @type {Strip | null} */
  chosen: null,
  /** @type {Link[]} */
  links: [],
  /** The search: which names match, the events that have them, and which of these is shown.
   * @type {{isHit: Uint8Array, list: Strip[], at: number} | null} */
  hits: null,
  /** @type {Set<object>} */
  broken: new Set(),
  /** @type {Promise<unknown>[]} */
  waits: [],
  isDue: false,
  nArrows: 0,
  draw: () => {}
};

/* Words. */

/** @param {string} text */
export function say(text) {
  partOf("said").textContent = text;
}

/** @param {string} text */
export function complain(text) {
  const problem = partOf("problem");
  problem.hidden = false;
  problem.textContent = text;
}

/** @param {Strip} strip */
export const nameOf = ({ row, at }) => stage.names[row.name[at]] || "(no name)";

/** Whether a strip stands for several events. @param {Strip} strip */
export const isRun = ({ level, row, at }) => level > 0 && row.a[at] > 1;

/** @param {Strip} strip */
export function describe(strip) {
  const said = `${shortened(nameOf(strip))}, ${timeText(strip.end - strip.start)}`;
  return isRun(strip) ? `a run of ${wholeText(strip.row.a[strip.at])} events, most of it ${said}` : said;
}

/** @param {Lane} lane @returns {string} */
export const pathOf = (lane) =>
  (lane.parent === null ? "" : `${pathOf(stage.lanes[lane.parent])} › `) + shortened(lane.label, 60);

/** Whether two strips are the same. @param {Strip | null} one @param {Strip | null} other */
export const isSame = (one, other) => one?.row === other?.row && one?.at === other?.at;

/* Places on the canvas. */

export const plotWidth = () => stage.size.width - stage.size.gutter;
export const viewLength = () => stage.view.to - stage.view.from;
/** @param {number} time */
export const xOf = (time) =>
  stage.size.gutter + ((time - stage.view.from) / viewLength()) * plotWidth();
/** @param {number} x */
export const timeOf = (x) => stage.view.from + ((x - stage.size.gutter) / plotWidth()) * viewLength();
/** Whether a point is over the picture of the whole time. @param {number} y */
export const isOverview = (y) => y < OVERVIEW_PX;

/** @param {Lane} lane @param {Lane} top @returns {boolean} */
export const isWithin = (lane, top) =>
  lane === top || (lane.parent !== null && isWithin(stage.lanes[lane.parent], top));
/** @param {Lane} lane @returns {Lane} */
export const rankOf = (lane) =>
  lane.kind === "rank" || lane.parent === null ? lane : rankOf(stage.lanes[lane.parent]);
/** @param {Lane} lane */
export const canFold = (lane) => lane.isGroup || (lane.rows > 1 && lane.kind !== "counter");
/** @param {Lane} lane */
export const nRowsOf = (lane) => Math.min(Math.max(lane.rows, 1), MOST_ROWS);

/** @param {Lane} lane @param {boolean} isFolded */
function heightOf(lane, isFolded) {
  const caption = stage.size.gutter ? 0 : CAPTION_PX;
  if (lane.isGroup) return isFolded && lane.mini.length ? caption + 26 : caption ? caption + 4 : 22;
  if (lane.kind === "counter") return caption + 34;
  if (isFolded && lane.rows > 1) return caption + Math.max(20, nRowsOf(lane) * MINI_ROW_PX + 6);
  return caption + nRowsOf(lane) * ROW_PX + 5;
}

/** The rows of strips that an entry shows; a folded group shows its streams. @param {Entry} entry */
function bandsOf({ lane, top, isFolded }) {
  const begin = top + (stage.size.gutter ? 3 : CAPTION_PX + 1);
  if (lane.isGroup) {
    const each = Math.floor(20 / Math.max(lane.mini.length, 1));
    const shown = isFolded ? lane.mini : [];
    return shown.map((inner, at) => ({
      lane: inner, depth: 0, y: begin + at * each, height: Math.max(2, each - 1)
    }));
  }
  if (lane.kind === "counter") return [];
  const each = isFolded && lane.rows > 1 ? MINI_ROW_PX : ROW_PX;
  return Array.from({ length: nRowsOf(lane) }, (_, depth) => ({
    lane, depth, y: begin + depth * each, height: each - 1
  }));
}

const lanesHeight = () => stage.entries.at(-1)?.bottom ?? 0;
export const mostScroll = () => Math.max(0, lanesHeight() - (stage.size.height - HEAD_PX - 4));

/** Lays the lanes out again: after a fold, or on a canvas of another width. */
export function arrange() {
  const { size } = stage;
  stage.entries = laidOut(stage.lanes, stage.folded, heightOf);
  for (const entry of stage.entries) entry.bands = bandsOf(entry);
  const most = finger.matches ? 1600 : Math.max(260, Math.min(innerHeight * 0.68, 720));
  size.height = Math.round(Math.min(lanesHeight() + HEAD_PX + 4, most));
  canvas.style.height = `${size.height}px`;
  const height = Math.round(size.height * size.dpr);
  if (canvas.height !== height) canvas.height = height;
  scrollLanes(stage.scroll_px);
}

/** Takes the width that the page gives. */
export function fit() {
  const { size } = stage;
  size.width = partOf("box").clientWidth;
  size.gutter = size.width < NARROW_PX ? 0 : Math.round(Math.min(230, size.width * 0.22));
  size.dpr = Math.min(devicePixelRatio || 1, 2);
  canvas.width = Math.round(size.width * size.dpr);
  if (size.width) arrange();
}

/** @param {number} to_px */
export function scrollLanes(to_px) {
  stage.scroll_px = Math.min(Math.max(0, to_px), mostScroll());
  request();
}

/** The entry of a lane, or of the folded group that hides it. @param {Lane} lane @returns {Entry} */
export const entryOf = (lane) =>
  stage.entries.find((entry) => entry.lane === lane) ??
  entryOf(stage.lanes[/** @type {number} */ (lane.parent)]);

/** The row on the canvas of a strip, or of the row that represents it. @param {{lane: Lane, depth: number}} spot */
export function bandOf({ lane, depth }) {
  const { bands, top, bottom } = entryOf(lane);
  const shown = Math.min(depth, MOST_ROWS - 1);
  const found = bands.find((band) => band.lane === lane && band.depth === shown);
  return found ?? { y: top + 4, height: bottom - top - 8 };
}

/** @param {{lane: Lane, depth: number}} spot */
export function middleOf(spot) {
  const { y, height } = bandOf(spot);
  return HEAD_PX + y - stage.scroll_px + height / 2;
}

/* The range in view. */

export function request() {
  if (stage.isDue || !stage.palette) return;
  stage.isDue = true;
  requestAnimationFrame(() => {
    stage.isDue = false;
    stage.draw();
  });
}

/** @param {number} from @param {number} to @returns {Range} */
export function clamped(from, to) {
  const all = stage.file.header.length_ns;
  const length = Math.min(Math.max(to - from, LEAST_NS), all);
  const start = Math.min(Math.max(from, 0), all - length);
  return { from: start, to: start + length };
}

/** @param {number} from @param {number} to */
export function setView(from, to) {
  stage.target = null;
  stage.view = clamped(from, to);
  request();
}

/** Moves to a range; at once for readers who want nothing to move. @param {number} from @param {number} to */
export function moveTo(from, to) {
  if (calm.matches) setView(from, to);
  else {
    stage.target = clamped(from, to);
    request();
  }
}

/** The range that is shown, or will be when it has moved. */
export const aim = () => stage.target ?? stage.view;

/** @param {number} factor */
export function zoom(factor, at = (aim().from + aim().to) / 2, move = moveTo) {
  const { from, to } = aim();
  move(at - (at - from) * factor, at + (to - at) * factor);
}

/** @param {number} share of the range */
export function pan(share, move = moveTo) {
  const { from, to } = aim();
  move(from + share * (to - from), to + share * (to - from));
}

/** Shows a range with some room around it. @param {Range} range */
export const frameRange = ({ from, to }, room = 0.15) =>
  moveTo(from - (to - from) * room, to + (to - from) * room);

/** Moves the view a part of its way. */
export function ease() {
  const { view, target } = stage;
  if (!target) return;
  const from = view.from + (target.from - view.from) * EASING;
  const to = view.to + (target.to - view.to) * EASING;
  const left = Math.abs(from - target.from) + Math.abs(to - target.to);
  const isThere = left < (to - from) * 0.004;
  stage.view = isThere ? target : { from, to };
  if (isThere) stage.target = null;
  else request();
}

/* Blocks come when they are first needed. */

/** @param {object} what */
function fail(what) {
  stage.broken.add(what);
  complain("A part of the timeline cannot be read; it is left out.");
}

/** @param {Lane} lane @param {Block} block */
const loaded = (lane, block) => stage.file.load(lane, block).catch(() => fail(block));

/**
 * The known strips of a lane in a range; packed blocks are requested, and drawn later.
 * @param {Lane} lane @param {number} from @param {number} to
 */
export function need(lane, from, to) {
  return piecesOf(lane, from, to).filter(([block]) => {
    const isThere = block.rows ?? block.time;
    if (!isThere && !stage.broken.has(block)) stage.waits.push(loaded(lane, block).then(request));
    return isThere;
  });
}

/** @param {Lane} lane @param {number} from @param {number} to */
export const loadRange = (lane, from, to) =>
  Promise.all(piecesOf(lane, from, to).map(([block]) => loaded(lane, block)));

/** @param {Lane[]} lanes */
export const loadAll = (lanes) =>
  Promise.all(lanes.flatMap((lane) => lane.blocks.map((block) => loaded(lane, block))));

/** The unpacked arrows of a rank. @param {Lane} lane */
export async function arrowsOf(lane) {
  const { arrows } = stage.file.header;
  const own = arrows.filter((block) => rankOf(stage.lanes[block.lane]) === rankOf(lane));
  await Promise.all(own.map((block) => stage.file.loadArrows(block).catch(() => fail(block))));
  return own.filter((block) => block.flow);
}

/** Both ends of an arrow, where the file has them. @param {Arrows} block @param {number} at */
export function linkAt(block, at) {
  block.links ??= [];
  const known = block.links[at];
  if (known) return known;
  const flow = block.flow?.[at] ?? 0;
  const launch = eventAt(stage.lanes[block.fromLane[at]], block.fromStart[at], flow);
  const run = eventAt(stage.lanes[block.toLane[at]], block.toStart[at], flow);
  if (!launch || !run) return null;
  block.links[at] = [launch, run];
  return block.links[at];
}

/**
 * The strip of a row at a time, or nearer to it than `slack`.
 * @param {{lane: Lane, depth: number}} band @param {number} time @param {number} slack
 */
export function stripAt({ lane, depth }, time, slack) {
  for (const [{ level, rows }] of need(lane, time - slack, time + slack).reverse()) {
    const row = rows?.[depth];
    if (!row) continue;
    for (let at = above(row.start, time + slack) - 1; at >= 0 && row.reach[at] >= time - slack; at--) {
      if (row.end[at] >= time - slack) return stripOf(lane, depth, level, row, at);
    }
  }
  return null;
}

/**
 * The strip before or after another in its row.
 * @param {Strip} strip @param {1 | -1} by
 */
export function neighbour({ lane, depth, level, row, at, start }, by) {
  if (row.start[at + by] !== undefined && at + by < row.n) return stripOf(lane, depth, level, row, at + by);
  const { from, to } = aim();
  const rows = lane.blocks.flatMap((block) => {
    const other = block.rows?.[depth];
    return other && other !== row && other.n ? [{ block, other }] : [];
  });
  const next = rows
    .map(({ block, other }) => {
      const place = by > 0 ? lowest(other.start, start + 1) : lowest(other.start, start) - 1;
      return stripOf(lane, depth, block.level, other, place);
    })
    .filter((one) => one.start !== undefined && (one.level === 0 || !isCovered(one)))
    .sort((a, b) => by * (a.start - b.start))[0];
  if (next) return next;
  need(lane, from - (to - from), to + (to - from));
  return null;
}

/** Whether a run lies where all events are kept. @param {Strip} run */
const isCovered = ({ lane, start }) =>
  lane.blocks.some((block) => !block.level && block.from <= start && start < block.to);

/* Folding. */

/** @param {Lane} lane */
export function fold(lane, isFolded = !stage.folded.has(lane.id)) {
  if (!canFold(lane)) return;
  if (isFolded) stage.folded.add(lane.id);
  else stage.folded.delete(lane.id);
  arrange();
  say(`${lane.label} ${isFolded ? "folded" : "unfolded"}`);
}

/** Unfolds all groups of a lane. @param {Lane} lane */
export function unfoldTo(lane) {
  for (let at = lane.parent; at !== null; at = stage.lanes[at].parent) stage.folded.delete(at);
}

/** The lanes folded at first: all ranks but one where there are many, and threads of many rows. */
export function foldFirst() {
  const { lanes, folded } = stage;
  const of = (/** @type {string} */ kind) => lanes.filter((lane) => lane.kind === kind);
  const ranks = of("rank");
  if (ranks.length > 2) ranks.slice(1).forEach(({ id }) => folded.add(id));
  for (const { id, rows } of of("thread")) if (rows > 8) folded.add(id);
  if (lanes.length > MANY_LANES) of("node").slice(1).forEach(({ id }) => folded.add(id));
}

/** Says of each lane whether it is a group, and which streams stand for it when it is folded. */
export function prepareLanes() {
  const { lanes } = stage;
  for (const lane of lanes) {
    lane.isGroup = ["node", "rank", "host", "gpu"].includes(lane.kind);
    lane.mini = [];
  }
  for (const lane of lanes.filter(({ kind }) => kind === "stream")) {
    for (let at = lane.parent; at !== null; at = lanes[at].parent) {
      if (lanes[at].mini.length < MOST_MINI) lanes[at].mini.push(lane);
    }
  }
}

/** Brings a row into the window of lanes. @param {{lane: Lane, depth: number}} spot */
export function bring(spot) {
  const { y, height } = bandOf(spot);
  const room = stage.size.height - HEAD_PX;
  if (y < stage.scroll_px + 4 || y + height > stage.scroll_px + room - 12) scrollLanes(y - room / 3);
}

/** Brings a strip into view, large enough to be seen. @param {Strip} strip */
export function revealStrip(strip) {
  unfoldTo(strip.lane);
  arrange();
  const length = strip.end - strip.start;
  const { from, to } = aim();
  if (strip.end < from || strip.start > to || length < (to - from) * 0.01) {
    const room = Math.max(length * 6, Math.min(to - from, length * 60), LEAST_NS);
    const middle = (strip.start + strip.end) / 2;
    moveTo(middle - room / 2, middle + room / 2);
  }
  bring(strip);
}

/** Wait until the frame that was asked for is drawn. */
export async function drawn() {
  while (stage.isDue) await new Promise((done) => setTimeout(done, 1));
}

/** Wait until nothing moves, nor is unpacked any more. */
export async function settled() {
  do {
    await Promise.all(stage.waits.splice(0));
    await new Promise((done) => setTimeout(done, 30));
  } while (stage.isDue || stage.target || stage.waits.length);
}
