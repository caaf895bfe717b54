/** Above and below the lanes: search by name, steps, and the table of the events in a range. */
import { make } from "./dom.js";
import { choose } from "./lane_choice.js";
import { above, lowest } from "./lane_numbers.js";
import { matchesIn, piecesOf, stripOf, tally } from "./lane_rows.js";
import {
  aim, describe, frameRange, loadAll, loadRange, nameOf, partOf, pathOf, request, revealStrip, say, stage
} from "./lane_stage.js";
import { shortened, timeText, wholeText } from "./lane_words.js";

/** @typedef {import("./lane_rows.js").Lane} Lane */
/** @typedef {import("./lane_rows.js").Strip} Strip */
/** @typedef {import("./lane_rows.js").Sum} Sum */

const MOST_ROWS_LISTED = 200;
const MOST_STEPS = 2000;
const TABLE_DELAY_MS = 200;

/* Search. */

/** @type {HTMLInputElement} */
const query = partOf("query");
const sought = () => query.value.trim().toLowerCase();

/** @param {string} text */
function count(text) {
  partOf("count").textContent = text;
}

async function search() {
  const text = sought();
  if (!text) {
    stage.hits = null;
    count("");
    request();
    return;
  }
  const isHit = Uint8Array.from(stage.names, (name) => Number(name.toLowerCase().includes(text)));
  const lanes = stage.lanes.filter(({ isGroup, kind }) => !isGroup && kind !== "counter");
  await loadAll(lanes);
  if (text !== sought()) return;
  const list = matchesIn(lanes, (name) => isHit[name]);
  stage.hits = { isHit, list, at: -1 };
  const n = list.length;
  count(n ? `${wholeText(n)} ${n === 1 ? "event" : "events"}` : "none");
  request();
}

/** Goes to the next match, or the one before. @param {1 | -1} by */
export async function nextMatch(by) {
  if (!stage.hits) await search();
  const { hits, view } = stage;
  const n = hits?.list.length ?? 0;
  if (!hits || !n) return;
  const first = lowest(hits.list.map(({ start }) => start), view.from);
  hits.at = ((hits.at < 0 ? first + Math.min(by, 0) : hits.at + by) + n) % n;
  count(`${wholeText(hits.at + 1)} of ${wholeText(n)}`);
  revealStrip(hits.list[hits.at]);
  await choose(hits.list[hits.at]);
}

query.addEventListener("input", search);
query.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  nextMatch(event.shiftKey ? -1 : 1);
});

/* Steps. */

/** @type {HTMLSelectElement} */
const stepBox = partOf("step");

/** The steps of a lane, one by one: not runs of them. @param {Lane} lane */
function stepsOf(lane) {
  return piecesOf(lane, 0, stage.file.header.length_ns).flatMap(([{ level, rows }, from, to]) =>
    (rows ?? []).flatMap((row, depth) =>
      Array.from({ length: row.n }, (_, at) => stripOf(lane, depth, level, row, at)).filter(
        ({ start, at }) => !level || (start >= from && start < to && row.a[at] === 1)
      )
    )
  );
}

/** Lists the steps of each lane that has some, and the ranges that are shown in full. */
export async function listSteps() {
  const lanes = stage.lanes.filter(({ kind }) => kind === "steps");
  await loadAll(lanes);
  const windows = stage.file.header.windows.map(({ why }, at) => new Option(shortened(why, 60), `w${at}`));
  listGroup("Shown in full", windows);
  for (const [place, lane] of lanes.entries()) {
    const steps = stepsOf(lane).sort((a, b) => a.start - b.start);
    const listed = steps.slice(0, place ? Math.ceil(MOST_STEPS / lanes.length) : MOST_STEPS).map((step, at) => {
      const length = timeText(step.end - step.start);
      return new Option(`${shortened(stepName(step), 40)} · ${length}`, String(stage.steps.length + at));
    });
    listGroup(lanes.length > 1 ? pathOf(lane) : "Steps", listed);
    stage.steps = stage.steps.concat(steps);
  }
  partOf("steps").hidden = !windows.length && !stage.steps.length;
}

/** @param {string} label @param {HTMLOptionElement[]} options */
function listGroup(label, options) {
  if (options.length) stepBox.append(make("optgroup", { label }, ...options));
}

/** The name of a step; its number is in its detail where steps have one name. @param {Strip} step */
const stepName = (step) => [nameOf(step), step.level ? "" : stage.details[step.row.a[step.at]]].filter(Boolean).join(" · ");

/**
 * Zooms to the step in the middle of the view; to another one where that fills the view. It is of
 * the lane of the step in the list, of the first lane without one.
 * @param {1 | -1} by
 */
export function goStep(by) {
  const listed = stage.steps[Number(stepBox.value || "0")] ?? stage.steps[0];
  const steps = stage.steps.filter(({ lane }) => lane === listed?.lane);
  const { from, to } = aim();
  const at = Math.max(0, above(steps.map(({ start }) => start), (from + to) / 2) - 1);
  const isNear = steps[at] && to - from < (steps[at].end - steps[at].start) * 3;
  const next = steps[Math.min(Math.max(isNear ? at + by : at, 0), steps.length - 1)];
  if (!next) return;
  frameRange({ from: next.start, to: next.end }, 0.05);
  stepBox.value = String(stage.steps.indexOf(next));
  say(describe(next));
}

stepBox.addEventListener("change", () => {
  const { value } = stepBox;
  const item = value.startsWith("w") ? stage.file.header.windows[Number(value.slice(1))] : stage.steps[Number(value)];
  if (item) frameRange({ from: item.start, to: item.end }, 0.05);
});

/* The events in the marked range, or in the one in view. */

/** @type {HTMLDetailsElement} */
const table = partOf("table");
let waiting = 0;

/** Fills the table again, if it is open, when the view has come to rest. */
export function tellSoon() {
  clearTimeout(waiting);
  if (table.open) waiting = setTimeout(tell, TABLE_DELAY_MS);
}

async function tell() {
  const { from, to } = stage.marked ?? stage.view;
  const lanes = [...new Set(stage.entries.flatMap(({ bands }) => bands.map(({ lane }) => lane)))];
  await Promise.all(lanes.map((lane) => loadRange(lane, from, to)));
  const sums = lanes.flatMap((lane) => tally(lane, from, to).map((sum) => ({ lane, sum })));
  sums.sort((a, b) => b.sum.ns - a.sum.ns);
  const most = sums.length > MOST_ROWS_LISTED ? `, the ${MOST_ROWS_LISTED} with the most time listed` : "";
  partOf("range").textContent =
    `${stage.marked ? "Marked range" : "Range in view"}: ${timeText(from, 6)} to ${timeText(to, 6)}, ` +
    `${timeText(to - from)} long; ${wholeText(sums.length)} names${most}. Lanes that are folded away are left out.`;
  const rows = sums.slice(0, MOST_ROWS_LISTED).map(({ lane, sum }) => rowOf(lane, sum));
  const nothing = make("tr", {}, make("td", { textContent: "Nothing ran in this range." }));
  table.querySelector("tbody")?.replaceChildren(...(rows.length ? rows : [nothing]));
}

/** @param {Lane} lane @param {Sum} sum */
function rowOf(lane, { name, isRun, n, ns }) {
  const about = isRun ? "≈ " : "";
  const words = (isRun ? "run, most of it " : "") + shortened(stage.names[name] || "(no name)", 200);
  const cells = [pathOf(lane), about + wholeText(n), about + timeText(ns)];
  return make(
    "tr",
    {},
    make("th", { scope: "row", textContent: words }),
    ...cells.map((text) => make("td", { textContent: text }))
  );
}

table.addEventListener("toggle", () => {
  if (table.open) tell();
});
