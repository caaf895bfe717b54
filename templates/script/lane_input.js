/** Keys and pointers over the lanes: those of Perfetto for the range, arrows for strips. */
import { all } from "./dom.js";
import { choose } from "./lane_choice.js";
import {
  CAPTION_PX, HEAD_PX, aim, bring, canFold, canvas, clamped, describe, entryOf, fold, frameRange, isOverview, mostScroll,
  moveTo, neighbour, pan, partOf, plotWidth, request, say, scrollLanes, setView, stage, stripAt, timeOf,
  viewLength, zoom
} from "./lane_stage.js";
import { goStep, nextMatch } from "./lane_tools.js";
import { shortened, wholeText } from "./lane_words.js";

/** @typedef {import("./lane_rows.js").Entry} Entry */
/** @typedef {import("./lane_rows.js").Strip} Strip */
/** @typedef {import("./lane_stage.js").Spot} Spot */
/** @typedef {{x: number, y: number}} Point */

const CLICK_PX = 4;
const SLACK_PX = 2;
const tip = partOf("tip");

/**
 * The entry under a point, and the strip there.
 * @param {Point} point
 */
export function hit({ x, y }) {
  const at = y - HEAD_PX + stage.scroll_px;
  const entry = y > HEAD_PX ? stage.entries.find(({ top, bottom }) => at >= top && at < bottom) : undefined;
  const isOnPlot = x >= stage.size.gutter;
  const band = isOnPlot && entry?.bands.find((one) => at >= one.y - 1 && at <= one.y + one.height);
  const slack = (viewLength() / plotWidth()) * SLACK_PX;
  return { entry, strip: band ? stripAt(band, timeOf(x), slack) : null };
}

/* Keys. */

/** The strip of a row nearest to where the cursor was, else the row itself. @param {Entry} entry @param {number} depth */
function spotIn(entry, depth) {
  const { view, cursor } = stage;
  const middle = (view.from + view.to) / 2;
  const time = cursor?.strip ? Math.min(Math.max(cursor.strip.start, view.from), view.to) : middle;
  const band = entry.lane.isGroup ? null : entry.bands[depth];
  const strip = band ? stripAt(band, time, 0) ?? stripAt(band, time, viewLength() / 2) : null;
  return { lane: entry.lane, depth, strip };
}

/** @param {Spot} spot */
function putCursor(spot) {
  stage.cursor = spot;
  const { lane, strip } = spot;
  if (strip) {
    const { from, to } = aim();
    const half = (to - from) / 2;
    const middle = Math.min((strip.start + strip.end) / 2, strip.start + half);
    if (strip.start < from || strip.end > to) moveTo(middle - half, middle + half);
    say(`${describe(strip)}, ${shortened(lane.label, 60)}`);
  } else {
    const state = canFold(lane) ? (stage.folded.has(lane.id) ? "folded" : "unfolded") : lane.kind;
    say(`${shortened(lane.label, 60)}, ${state}, ${wholeText(lane.n_events)} events`);
  }
  bring(spot);
  request();
}

/** @param {Strip} strip @param {number} room */
const frameStrip = ({ start, end }, room) => frameRange({ from: start, to: end }, room);

function enter() {
  const entry = stage.entries.find(({ bands }) => bands.length) ?? stage.entries[0];
  if (entry) putCursor(spotIn(entry, 0));
}

/** To the strip before or after in its row. @param {1 | -1} by */
function walk(by) {
  const { cursor } = stage;
  const strip = cursor?.strip && neighbour(cursor.strip, by);
  if (!cursor?.strip) enter();
  else if (strip) putCursor({ lane: strip.lane, depth: strip.depth, strip });
}

/** To the row above or below. @param {1 | -1} by */
function climb(by) {
  const { cursor, entries } = stage;
  if (!cursor) return enter();
  const rows = entries.flatMap((entry) => {
    const isOne = entry.lane.isGroup || entry.isFolded || !entry.bands.length;
    return isOne ? [{ entry, depth: 0 }] : entry.bands.map(({ depth }) => ({ entry, depth }));
  });
  const own = entryOf(cursor.lane);
  const of = rows.filter(({ entry }) => entry === own);
  const now = rows.indexOf(of.find(({ depth }) => depth === cursor.depth) ?? of[0]);
  const next = rows[Math.min(Math.max(now + by, 0), rows.length - 1)];
  putCursor(spotIn(next.entry, next.depth));
}

function act() {
  const { cursor } = stage;
  if (cursor?.strip) choose(cursor.strip);
  else if (cursor) fold(cursor.lane);
  else enter();
}

function markView() {
  const { chosen, view } = stage;
  stage.marked = chosen ? { from: chosen.start, to: chosen.end } : { ...view };
  request();
}

/** @type {Record<string, () => unknown>} */
const KEYS = {
  w: () => zoom(0.6),
  s: () => zoom(1 / 0.6),
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  a: () => pan(-0.25),
  d: () => pan(0.25),
  0: () => moveTo(0, stage.file.header.length_ns),
  "[": () => goStep(-1),
  "]": () => goStep(1),
  n: () => nextMatch(1),
  N: () => nextMatch(-1),
  f: () => stage.chosen && frameStrip(stage.chosen, 1),
  m: markView,
  ArrowLeft: () => walk(-1),
  ArrowRight: () => walk(1),
  ArrowUp: () => climb(-1),
  ArrowDown: () => climb(1),
  PageUp: () => scrollLanes(stage.scroll_px - stage.size.height / 2),
  PageDown: () => scrollLanes(stage.scroll_px + stage.size.height / 2),
  Enter: act,
  " ": () => stage.cursor && fold(stage.cursor.lane),
  Escape: () => {
    stage.marked = null;
    choose(null);
  }
};
/** @type {Record<string, string>} */
const WITH_SHIFT = { ArrowLeft: "a", ArrowRight: "d", ArrowUp: "w", ArrowDown: "s" };

canvas.addEventListener("keydown", (event) => {
  const key = (event.shiftKey && WITH_SHIFT[event.key]) || event.key;
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[key]) return;
  event.preventDefault();
  event.stopPropagation();
  KEYS[key]();
});
for (const button of all("[data-lanes-key]", partOf("tools"))) {
  button.addEventListener("click", () => KEYS[button.dataset.lanesKey ?? ""]());
}

/* Pointers: one drags, with Shift it marks a range; two pinch. One finger leaves up and down to the
   page. */

/** @type {Map<number, Point>} */
const fingers = new Map();
/** @type {ReturnType<typeof startOf> | null} */
let drag = null;

/** @param {MouseEvent} event @returns {Point} */
function placeOf(event) {
  const edge = canvas.getBoundingClientRect();
  return { x: event.clientX - edge.left, y: event.clientY - edge.top };
}

function pinch() {
  if (fingers.size !== 2) return null;
  const [one, other] = [...fingers.values()];
  const middle = { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
  return { ...middle, apart: Math.max(20, Math.abs(one.x - other.x)) };
}

/** @param {PointerEvent} event @param {Point} at */
const startOf = (event, at) => ({
  at,
  view: stage.view,
  scroll_px: stage.scroll_px,
  isMark: event.shiftKey,
  isMouse: event.pointerType === "mouse",
  isMoved: false,
  two: pinch()
});

/** Moves the view over the picture of the whole time. @param {Point} point */
function lookAt({ x }) {
  const middle = ((x - stage.size.gutter) / plotWidth()) * stage.file.header.length_ns;
  setView(middle - viewLength() / 2, middle + viewLength() / 2);
}

canvas.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  const at = placeOf(event);
  fingers.set(event.pointerId, at);
  canvas.setPointerCapture(event.pointerId);
  stage.target = null;
  tip.hidden = true;
  drag = startOf(event, at);
  if (isOverview(at.y)) lookAt(at);
});

canvas.addEventListener("pointermove", (event) => {
  const at = placeOf(event);
  if (!drag) point(at, event.pointerType);
  else if (fingers.has(event.pointerId)) {
    fingers.set(event.pointerId, at);
    follow(drag, at);
  }
});

/** @param {ReturnType<typeof startOf>} start @param {Point} at */
function follow(start, at) {
  const { from, to } = start.view;
  const each = (to - from) / plotWidth();
  const { gutter } = stage.size;
  const two = pinch();
  if (Math.hypot(at.x - start.at.x, at.y - start.at.y) > CLICK_PX) start.isMoved = true;
  if (two && start.two) {
    const anchor = from + (start.two.x - gutter) * each;
    const wide = (each * start.two.apart) / two.apart;
    setView(anchor - (two.x - gutter) * wide, anchor + (plotWidth() - two.x + gutter) * wide);
    scrollLanes(start.scroll_px - (two.y - start.two.y));
  } else if (isOverview(start.at.y)) lookAt(at);
  else if (start.isMark) {
    const [left, right] = [timeOf(start.at.x), timeOf(at.x)].sort((a, b) => a - b);
    stage.marked = clamped(left, right);
    request();
  } else if (start.isMoved) {
    setView(from - (at.x - start.at.x) * each, to - (at.x - start.at.x) * each);
    if (start.isMouse) scrollLanes(start.scroll_px - (at.y - start.at.y));
  }
}

/** @param {PointerEvent} event */
function release(event) {
  const was = drag;
  fingers.delete(event.pointerId);
  if (!fingers.size) drag = null;
  if (event.type === "pointercancel" || !was || was.isMoved || was.two || isOverview(was.at.y)) return;
  click(was.at, was.isMouse);
}
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);

/** @param {Point} at @param {boolean} isMouse */
function click(at, isMouse) {
  const { entry, strip } = hit(at);
  if (strip) {
    if (strip.lane.kind === "steps" && isMouse) frameStrip(strip, 0.05);
    choose(strip);
    return;
  }
  const { gutter } = stage.size;
  const isCaption = entry && !gutter && at.y - HEAD_PX + stage.scroll_px < entry.top + CAPTION_PX;
  if (entry && (at.x < gutter || isCaption || entry.lane.isGroup)) fold(entry.lane);
  else choose(null);
}

canvas.addEventListener("dblclick", (event) => {
  const { strip } = hit(placeOf(event));
  if (strip) frameStrip(strip, 0.5);
});

/** Says what is under the pointer. @param {Point} at @param {string} kind of the pointer */
function point(at, kind) {
  const { entry, strip } = hit(at);
  const label = at.x < stage.size.gutter ? entry?.lane : undefined;
  const isButton = strip || (label && canFold(label));
  canvas.style.cursor = isButton ? "pointer" : isOverview(at.y) ? "ew-resize" : "grab";
  tip.hidden = kind !== "mouse" || !(strip || label);
  if (tip.hidden) return;
  tip.textContent = strip ? describe(strip) : `${label?.label} · ${wholeText(label?.n_events ?? 0)} events`;
  const isLow = at.y + 20 + tip.offsetHeight > stage.size.height;
  tip.style.left = `${Math.min(at.x + 14, stage.size.width - tip.offsetWidth - 4)}px`;
  tip.style.top = `${isLow ? at.y - tip.offsetHeight - 8 : at.y + 18}px`;
}
canvas.addEventListener("pointerleave", () => {
  tip.hidden = true;
});

/** Zooms with Ctrl, moves with Shift or sideways, scrolls the lanes when they have the focus; else the
 * page scrolls. */
canvas.addEventListener("wheel", (event) => {
  const unit = event.deltaMode ? 30 : 1;
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  const hasRoom = dy < 0 ? stage.scroll_px > 0 : stage.scroll_px < mostScroll();
  if (event.ctrlKey || event.metaKey) {
    const anchor = timeOf(Math.max(stage.size.gutter, placeOf(event).x));
    zoom(Math.exp(Math.max(-120, Math.min(120, dy)) * 0.004), anchor, setView);
  } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) pan((dx || dy) / plotWidth(), setView);
  else if (document.activeElement === canvas && hasRoom) scrollLanes(stage.scroll_px + dy);
  else return;
  event.preventDefault();
  tip.hidden = true;
}, { passive: false });
canvas.addEventListener("focus", request);
canvas.addEventListener("blur", request);
