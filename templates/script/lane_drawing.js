/** Draws the lanes: strips as pixels of one row each, stretched to their height, texts and lines above
 * them. The cost of a frame depends on the size of the canvas, hardly on the number of events. */
import { hashOf } from "./lane_colours.js";
import { above, lowest } from "./lane_numbers.js";
import { eachMark, longest, piecesOf, spanOf } from "./lane_rows.js";
import {
  HEAD_PX, arrange, bandOf, canFold, canvas, ease, entryOf, isSame, linkAt, middleOf, mostScroll, need,
  partOf, plotWidth, stage, timeOf, viewLength, xOf
} from "./lane_stage.js";
import { amountText, instantText, plainName, shortened, timeText } from "./lane_words.js";

/** @typedef {import("./lane_rows.js").Band} Band */
/** @typedef {import("./lane_rows.js").Entry} Entry */
/** @typedef {import("./lane_rows.js").Lane} Lane */
/** @typedef {import("./lane_rows.js").Row} Row */
/** @typedef {import("./lane_rows.js").Strip} Strip */
/**
 * @typedef {{x: number, width: number, band: Band, name: number, ink: number, isDim: boolean,
 *   isRun: boolean}} Word
 */

const FONT = "system-ui, sans-serif";
const WHOLE_PX = 14;
const AXIS_TOP_PX = 16;
const DETAIL_TOP_PX = 40;
const TICK_PX = 110;
const LEAST_TEXT_PX = 26;
const LEAST_MARK_PX = 1.5;
const MOST_ARROWS = 400;
const FEW_ARROWS = 60;
const BUSY_LEVELS = 6;
const COUNTER_PX = 26;
const SEVERITIES = ["critical", "warning", "info"];

const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
const texture = /** @type {CanvasRenderingContext2D} */ (
  document.createElement("canvas").getContext("2d")
);
/** @type {ImageData | null} */
let pixels = null;
/** @type {Word[]} */
let words = [];
/** The mean width of a letter of each text. @type {Map<string, number>} */
const widths = new Map();
let inks = new Int16Array();
/** @type {Lane | undefined} */
let overviewLane;

/** Forgets colours: those of another theme come. */
export function forgetInks() {
  inks = new Int16Array();
}

/** @param {number} number of a name */
function inkOf(number) {
  if (!inks.length) inks = new Int16Array(stage.names.length).fill(-1);
  if (inks[number] < 0) {
    const { first, n } = stage.palette;
    const family = stage.families[number];
    const shade = SEVERITIES.includes(family) ? 0 : hashOf(stage.names[number]) % n[family];
    inks[number] = first[family] + shade;
  }
  return inks[number] ?? 0;
}

/* Strips. */

/**
 * Paints the strips of a row into a row of pixels.
 * @param {Band} band
 * @param {ImageData} image
 * @param {number} line of the image
 */
function paint(band, image, line, { from, to } = stage.view) {
  const columns = image.width;
  const unit = (to - from) / columns;
  const cells = new Uint32Array(image.data.buffer, line * columns * 4, columns);
  const isWordy = band.height > 10;
  /** @type {Word[]} */
  const own = [];
  for (const piece of need(band.lane, from, to)) {
    const [{ level, rows }] = piece;
    const row = rows?.[band.depth];
    if (!row) continue;
    const [start, end] = spanOf(piece, from, to);
    eachMark(row, start, end, unit * LEAST_MARK_PX, (at, next) => {
      const isOne = next === at + 1;
      const left = Math.floor((Math.max(row.start[at], start) - from) / unit);
      const right = Math.floor((Math.min(row.end[next - 1], end) - from) / unit);
      const x0 = Math.max(0, left);
      const x1 = Math.min(columns, Math.max(x0 + 1, right));
      const name = row.name[isOne ? at : longest(row, at, next)];
      const ink = inkOf(name);
      const isDim = stage.hits !== null && !stage.hits.isHit[name];
      const alpha = isDim ? 0.16 : isOne && !level ? 1 : density(row, at, next, unit);
      const colour = stage.palette.colours[ink].bits | (Math.round(255 * alpha) << 24);
      cells.fill(colour, x0, x1 - x0 > 3 ? x1 - 1 : x1);
      if (isWordy && x1 - x0 > LEAST_TEXT_PX * stage.size.dpr) {
        own.push({ x: x0, width: x1 - x0, band, name, ink, isDim: alpha < 0.6, isRun: level > 0 });
      }
    });
  }
  const events = own.filter(({ isRun }) => !isRun);
  const isFree = (/** @type {Word} */ { x, width }) =>
    !events.some((event) => event.x < x + width && x < event.x + event.width);
  words.push(...events, ...own.filter((word) => word.isRun && isFree(word)));
}

/** How strong several strips are drawn: by the share of their time in which one of them runs. */
function density(/** @type {Row} */ row, /** @type {number} */ at, /** @type {number} */ next, /** @type {number} */ unit) {
  const share = (row.sum[next] - row.sum[at]) / Math.max(row.end[next - 1] - row.start[at], unit);
  return 0.35 + (0.65 * Math.ceil(Math.min(share, 1) * BUSY_LEVELS)) / BUSY_LEVELS;
}

/** As much of a text as has room: at least four letters, or none. @param {string} text @param {number} room_px */
function fitted(text, room_px) {
  const each_px = widths.get(text) ?? (1.06 * context.measureText(text).width) / Math.max(text.length, 1);
  widths.set(text, each_px);
  const most = Math.floor(room_px / each_px);
  if (most >= text.length) return text;
  return most < 4 ? "" : `${text.slice(0, most - 1)}…`;
}

/* Pieces of a picture. */

/**
 * @param {string} text @param {number} x @param {number} y @param {string} colour
 * @param {CanvasTextAlign} [align]
 */
function write(text, x, y, colour, align = "left") {
  context.textAlign = align;
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} colour */
function fill(x, y, width, height, colour) {
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
}

/** @param {number} alpha @param {() => void} work */
function faintly(alpha, work) {
  context.globalAlpha = alpha;
  work();
  context.globalAlpha = 1;
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {() => void} work */
function within(x, y, width, height, work) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  work();
  context.restore();
}

/** The time between ticks: 1, 2 or 5 times a power of ten. */
function tickLength() {
  const least = (viewLength() * TICK_PX) / plotWidth();
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((item) => item * power >= least) ?? 10);
}

function* ticks() {
  const tick = tickLength();
  for (let time = Math.ceil(stage.view.from / tick) * tick; time < stage.view.to; time += tick) yield time;
}

/* The frame. */

export function drawLanes() {
  const { size, palette, scroll_px } = stage;
  if (!size.width || !stage.names.length) return;
  ease();
  context.setTransform(size.dpr, 0, 0, size.dpr, 0, 0);
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  context.imageSmoothingEnabled = false;
  const room = size.height - HEAD_PX;
  const isShown = (/** @type {number} */ top, /** @type {number} */ bottom) =>
    bottom > scroll_px && top < scroll_px + room;
  const entries = stage.entries.filter(({ top, bottom }) => isShown(top, bottom));
  const bands = entries
    .flatMap((entry) => entry.bands)
    .filter(({ y, height }) => isShown(y, y + height));
  const image = blank(bands.length + 1);
  words = [];
  bands.forEach((band, at) => paint(band, image, at));
  paintOverview(image, bands.length);
  texture.putImageData(image, 0, 0, 0, 0, image.width, bands.length + 1);
  fill(0, 0, size.width, size.height, palette.ground);
  within(0, HEAD_PX, size.width, room, () => {
    drawGround(entries);
    bands.forEach((band, at) => stretch(at, HEAD_PX + band.y - scroll_px, band.height));
    words.forEach(writeWord);
    entries.filter(({ lane }) => lane.kind === "counter").forEach(drawCounter);
    drawFrames();
    within(size.gutter, HEAD_PX, plotWidth(), room, drawArrows);
    entries.forEach(drawLabel);
    drawScrollbar();
  });
  drawHead(bands.length);
}

/** Pixels without a strip, one row for each line. @param {number} nLines */
function blank(nLines) {
  const columns = Math.round(plotWidth() * stage.size.dpr);
  if (!pixels || pixels.width !== columns || pixels.height < nLines) {
    texture.canvas.width = columns;
    texture.canvas.height = Math.max(nLines, 64);
    pixels = texture.createImageData(columns, texture.canvas.height);
  }
  pixels.data.fill(0, 0, nLines * columns * 4);
  return pixels;
}

/** @param {number} line @param {number} y @param {number} height */
function stretch(line, y, height) {
  const columns = texture.canvas.width;
  context.drawImage(texture.canvas, 0, line, columns, 1, stage.size.gutter, y, plotWidth(), height);
}

/** @param {Word} word */
function writeWord({ x, width, band, name, ink, isDim }) {
  const { dpr, gutter } = stage.size;
  const text = fitted(shortened(plainName(stage.names[name] ?? ""), 160), width / dpr - 8);
  const colour = isDim ? stage.palette.text : stage.palette.colours[ink].ink;
  const y = HEAD_PX + band.y - stage.scroll_px + band.height / 2 + 0.5;
  if (text) write(text, gutter + x / dpr + 4, y, colour);
}

/** @param {ImageData} image @param {number} line */
function paintOverview(image, line) {
  overviewLane ??= [...stage.lanes]
    .filter(({ isGroup, kind }) => !isGroup && kind !== "counter" && kind !== "findings")
    .sort((a, b) => Number(b.kind === "stream") - Number(a.kind === "stream") || b.n_events - a.n_events)[0];
  if (!overviewLane) return;
  const whole = { from: 0, to: stage.file.header.length_ns };
  paint({ lane: overviewLane, depth: 0, y: 0, height: 8 }, image, line, whole);
}

/** @param {Entry[]} entries */
function drawGround(entries) {
  const { size, palette, marked } = stage;
  for (const { lane, top, bottom } of entries) {
    const y = HEAD_PX + top - stage.scroll_px;
    if (lane.isGroup) fill(0, y, size.width, bottom - top, palette.raised);
    fill(0, y + bottom - top - 1, size.width, 1, palette.grid);
  }
  for (const time of ticks()) fill(Math.round(xOf(time)), HEAD_PX, 1, size.height, palette.grid);
  if (!marked) return;
  const left = Math.max(size.gutter, xOf(marked.from));
  const width = Math.min(size.width, xOf(marked.to)) - left;
  faintly(0.16, () => fill(left, HEAD_PX, Math.max(0, width), size.height, palette.link));
}

/** The whole time, the axis, and where every event is shown. @param {number} line */
function drawHead(line) {
  const { size, palette, view } = stage;
  const { windows, length_ns, is_unix, start_ns } = stage.file.header;
  const over = (/** @type {number} */ time) => size.gutter + (time / length_ns) * plotWidth();
  fill(size.gutter, 0, plotWidth(), WHOLE_PX, palette.raised);
  for (const { start, end } of windows) {
    fill(over(start), 0, Math.max(2, over(end) - over(start)), WHOLE_PX, palette.line);
  }
  stretch(line, 3, WHOLE_PX - 6);
  context.strokeStyle = palette.link;
  context.lineWidth = 2;
  const left = Math.min(over(view.from), size.width - 5) + 1;
  context.strokeRect(left, 1, Math.max(3, over(view.to) - over(view.from) - 2), WHOLE_PX - 2);
  within(size.gutter, AXIS_TOP_PX, plotWidth(), HEAD_PX, () => {
    const most = Math.max(3, Math.ceil(Math.log10(Math.max(view.to, 1) / tickLength())) + 1);
    for (const time of ticks()) {
      fill(Math.round(xOf(time)), AXIS_TOP_PX + 4, 1, DETAIL_TOP_PX - AXIS_TOP_PX - 4, palette.line);
      write(time ? timeText(time, most) : "0", xOf(time) + 4, AXIS_TOP_PX + 12, palette.muted);
    }
    for (let x = size.gutter + 1; x < size.width; x += 6) fill(x, DETAIL_TOP_PX + 2, 3, 2, palette.muted);
    for (const { start, end } of windows) {
      fill(xOf(start), DETAIL_TOP_PX + 1, Math.max(2, xOf(end) - xOf(start)), 4, palette.link);
    }
  });
  const zero = is_unix ? `0 = ${instantText(start_ns, 0).slice(11, 23)} UTC` : "from the start";
  if (size.gutter) write(zero, size.gutter - 8, AXIS_TOP_PX + 12, palette.muted, "right");
  partOf("full").textContent = fullText();
}

/** The parts of the range in view that are left out. */
function fullText() {
  const { windows, length_ns } = stage.file.header;
  const { from, to } = stage.view;
  const ofAll = windows.filter(({ nodes }) => !nodes);
  if (ofAll.some(({ start, end }) => start <= 0 && end >= length_ns)) return "Every event is shown.";
  const inside = windows.filter(({ start, end }) => start < to && end > from);
  const why = inside.slice(0, 3).map(({ why, nodes }) =>
    shortened(why + (nodes ? `, ${nodes.slice(0, 3).join(", ")} only` : ""))
  );
  const said = why.join("; ") + (inside.length > 3 ? "; …" : "");
  if (ofAll.some(({ start, end }) => start <= from && end >= to)) {
    return `In view, every event is shown (${said}).`;
  }
  return inside.length
    ? `Every event is shown where the axis has a thick line (${said}); elsewhere neighbouring events are drawn as runs.`
    : "Here neighbouring events are drawn as runs: single events, their arguments and arrows are left out.";
}

/** @param {Entry} entry */
function drawLabel({ lane, depth, top, bottom, isFolded }) {
  const { size, palette } = stage;
  const y = HEAD_PX + top - stage.scroll_px;
  const x = 6 + Math.min(depth, 5) * 11;
  const middle = size.gutter ? y + Math.min(bottom - top, 22) / 2 : y + 8;
  if (size.gutter) {
    fill(0, y, size.gutter, bottom - top - 1, lane.isGroup ? palette.raised : palette.ground);
    fill(size.gutter - 1, y, 1, bottom - top, palette.line);
  }
  if (stage.cursor?.lane === lane) fill(0, y, 3, bottom - top - 1, palette.link);
  context.font = `15px ${FONT}`;
  if (canFold(lane)) write(isFolded ? "▸" : "▾", x - 1, middle, palette.muted);
  context.font = `${lane.isGroup ? "600 " : ""}12px ${FONT}`;
  write(fitted(lane.label, (size.gutter || 240) - x - 17), x + 13, middle, palette.text);
  context.font = `10px ${FONT}`;
  if (lane.kind === "counter" && size.gutter) {
    const { least = 0, most = 0, unit = "" } = lane;
    const range = least < 0 ? `${amountText(least, unit)} to` : "up to";
    write(`${range} ${amountText(most, unit)}`, x + 13, middle + 13, palette.muted);
  }
  context.font = `11px ${FONT}`;
}

function drawScrollbar() {
  if (!mostScroll()) return;
  const room = stage.size.height - HEAD_PX;
  const height = Math.max(24, (room * room) / (room + mostScroll()));
  const y = HEAD_PX + ((room - height) * stage.scroll_px) / mostScroll();
  fill(stage.size.width - 5, y, 4, height, stage.palette.muted);
}

/** @param {Entry} entry */
function drawCounter({ lane, bottom }) {
  const { size, palette, view } = stage;
  const [least, largest] = [lane.least ?? 0, lane.most ?? 0];
  const unit = COUNTER_PX / (largest - least || 1);
  const zero = HEAD_PX + bottom - stage.scroll_px - 3 + least * unit;
  const colour = palette.colours[palette.first[lane.family ?? "runtime"]].fill;
  need(lane, view.from, view.to);
  for (const [{ time, value }, from, to] of piecesOf(lane, view.from, view.to)) {
    if (!time || !value) continue;
    let at = Math.max(0, above(time, from) - 1);
    while (at < time.length && time[at] < to) {
      const x = Math.max(size.gutter, xOf(Math.max(time[at], from)));
      const next = Math.max(at + 1, lowest(time, timeOf(x + 1)));
      let most = 0;
      for (; at < Math.min(next, time.length); at++) {
        if (Math.abs(value[at]) > Math.abs(most)) most = value[at];
      }
      const right = Math.min(size.width, xOf(Math.min(time[next] ?? to, to)));
      const height = most * unit;
      faintly(0.45, () => fill(x, zero - height, right - x, height, colour));
      fill(x, zero - height, right - x, 1.5, colour);
    }
  }
}

/* The chosen strip, and arrows. */

/** @param {Strip} strip @param {string} colour @param {number} width */
function drawFrame(strip, colour, width) {
  const { size } = stage;
  const { y, height } = bandOf(strip);
  const left = Math.max(size.gutter - 4, xOf(strip.start));
  const right = Math.min(size.width + 4, xOf(strip.end));
  if (right < size.gutter || left > size.width) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  const top = HEAD_PX + y - stage.scroll_px - 1;
  context.strokeRect(left - 1, top, Math.max(3, right - left) + 1, height + 2);
}

function drawFrames() {
  const { palette, marked, hits, chosen, cursor, size } = stage;
  for (const time of marked ? [marked.from, marked.to] : []) {
    if (xOf(time) >= size.gutter) fill(xOf(time), HEAD_PX, 1.5, size.height, palette.link);
  }
  const hit = hits?.list[hits.at];
  if (hit) drawFrame(hit, palette.text, 2);
  for (const strip of new Set(stage.links.flat())) drawFrame(strip, palette.link, 2);
  if (chosen) drawFrame(chosen, palette.text, 2.5);
  if (cursor?.strip && document.activeElement === canvas && !isSame(cursor.strip, chosen)) {
    context.setLineDash([3, 2]);
    drawFrame(cursor.strip, palette.text, 1.5);
    context.setLineDash([]);
  }
}

/** Those of what is chosen, and where there are few, all. */
function drawArrows() {
  const { palette, lanes, view } = stage;
  stage.nArrows = 0;
  for (const block of stage.file.header.arrows) {
    if (!block.flow || entryOf(lanes[block.lane]).isFolded) continue;
    const first = lowest(block.fromStart, view.from);
    const last = lowest(block.fromStart, view.to);
    if (last - first > MOST_ARROWS) continue;
    block.lanes ??= [...new Set([...block.fromLane, ...block.toLane])].map((id) => lanes[id]);
    for (const lane of block.lanes) need(lane, view.from, view.to);
    for (let at = first; at < last; at++) {
      const link = linkAt(block, at);
      if (!link) continue;
      stage.nArrows++;
      faintly(last - first > FEW_ARROWS ? 0.3 : 0.55, () => drawArrow(link[0], link[1], palette.muted, 1));
    }
  }
  for (const [launch, run] of stage.links) drawArrow(launch, run, palette.link, 2);
  for (const [launch, run] of stage.links) {
    pointOut(launch, "launch");
    pointOut(run, "run");
  }
}

/** @param {Strip} launch @param {Strip} run @param {string} colour @param {number} width */
function drawArrow(launch, run, colour, width) {
  const [x0, y0, x1, y1] = [xOf(launch.start), middleOf(launch), xOf(run.start), middleOf(run)];
  const bend = Math.min(60, Math.abs(x1 - x0) / 2 + 3);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
  context.stroke();
  context.fillStyle = colour;
  context.beginPath();
  context.lineTo(x1, y1);
  context.lineTo(x1 - 6, y1 - 3.5);
  context.lineTo(x1 - 6, y1 + 3.5);
  context.fill();
}

/** Names an end of an arrow at the edge beyond which it lies. @param {Strip} strip @param {string} what */
function pointOut(strip, what) {
  const { size, view, palette } = stage;
  const middle = middleOf(strip);
  const y = Math.min(Math.max(middle, HEAD_PX + 9), size.height - 9);
  const x = xOf(strip.start);
  let text = "";
  if (strip.end < view.from) text = `◂ ${what}, ${timeText(view.from - strip.start, 3)} earlier`;
  else if (strip.start > view.to) text = `${what}, ${timeText(strip.start - view.to, 3)} later ▸`;
  else if (middle < y) text = `${what} above ▴`;
  else if (middle > y) text = `${what} below ▾`;
  else return;
  const width = context.measureText(text).width + 10;
  const left = Math.min(Math.max(x - width / 2, size.gutter + 4), size.width - width - 10);
  fill(left, y - 8, width, 16, palette.link);
  write(text, left + 5, y + 0.5, palette.ground);
}

addEventListener("resize", () => stage.palette && arrange());
