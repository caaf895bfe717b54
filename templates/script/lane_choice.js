/** The chosen strip: its details as text, its launch and what it started, its operator and its step. */
import { make } from "./dom.js";
import { enclosing } from "./lane_rows.js";
import {
  arrowsOf, canvas, describe, isRun, isSame, linkAt, loadAll, nameOf, partOf, pathOf, rankOf, request,
  revealStrip, say, stage
} from "./lane_stage.js";
import { instantText, shortened, timeText, wholeText } from "./lane_words.js";

/** @typedef {import("./lane_rows.js").Strip} Strip */
/** @typedef {import("./lane_stage.js").Link} Link */

const MOST_LISTED = 12;

/** @param {Strip | null} strip */
export async function choose(strip) {
  stage.chosen = strip;
  stage.links = [];
  request();
  if (!strip) {
    partOf("details").hidden = true;
    return;
  }
  stage.cursor = { lane: strip.lane, depth: strip.depth, strip };
  const links = await linksOf(strip);
  if (stage.chosen !== strip) return;
  stage.links = links;
  showDetails(strip, links);
  request();
}

/**
 * The arrows of a strip: all of its launch, where it is a run or the launch itself.
 * @param {Strip} strip
 */
async function linksOf(strip) {
  const flow = strip.level ? 0 : strip.row.b[strip.at];
  if (!flow) return [];
  const blocks = await arrowsOf(strip.lane);
  const places = blocks.flatMap((block) =>
    Array.from(block.flow ?? [], (one, at) => ({ block, at, one })).filter(({ one }) => one === flow)
  );
  const { lanes } = stage;
  const ends = new Set(
    places.flatMap(({ block, at }) => [lanes[block.fromLane[at]], lanes[block.toLane[at]]])
  );
  await loadAll([...ends]);
  const links = places.map(({ block, at }) => linkAt(block, at)).filter((link) => link !== null);
  const own = links.find((link) => link.some((end) => isSame(end, strip)));
  return own ? links.filter(([launch]) => isSame(launch, own[0])) : [];
}

/** The step of a strip, of its own rank if that has steps. @param {Strip} strip */
function stepOf(strip) {
  const own = stage.steps.filter(({ lane }) => rankOf(lane) === rankOf(strip.lane));
  const steps = own.length ? own : stage.steps;
  return steps.find(({ start, end }) => start <= strip.start && end > strip.start) ?? null;
}

/** A button that leads to a strip. @param {Strip} strip */
function leadTo(strip) {
  const words = `${describe(strip)} · ${shortened(strip.lane.label, 40)}`;
  const button = make("button", { type: "button", textContent: words });
  button.addEventListener("click", () => {
    revealStrip(strip);
    choose(strip);
  });
  return button;
}

/** @param {string} term @param {...(Node | string)} said */
const row = (term, ...said) =>
  make("div", {}, make("dt", { textContent: term }), make("dd", {}, ...said));

/** @param {Strip} strip */
function* ownRows(strip) {
  const { start_ns, is_unix } = stage.file.header;
  const from = `${timeText(strip.start, 9)} after the start`;
  const length = timeText(strip.end - strip.start, 9);
  const detail = strip.level ? "" : stage.details[strip.row.a[strip.at]];
  yield row(isRun(strip) ? "Most of it" : "Name", nameOf(strip));
  if (isRun(strip)) {
    yield row("Events", `${wholeText(strip.row.a[strip.at])}, drawn as one run: they lie closer than what is kept here`);
  }
  yield row("Start", is_unix ? `${from} (${instantText(start_ns, strip.start)})` : from);
  yield row("Duration", isRun(strip) ? `${length}, busy for ${timeText(strip.row.b[strip.at])}` : length);
  yield row("Lane", pathOf(strip.lane));
  if (detail) yield row("Arguments", detail);
}

/** @param {Strip} strip @param {Link[]} links */
function* relatedRows(strip, links) {
  const launch = links.length ? links[0][0] : null;
  const isLaunch = launch !== null && isSame(launch, strip);
  const step = strip.lane.kind === "steps" ? null : stepOf(strip);
  if (step) yield row("Step", leadTo(step));
  if (launch && !isLaunch) yield row("Launch", leadTo(launch));
  const call = launch ?? (strip.level ? null : strip);
  const operator = call && enclosing(call, (name) => stage.families[name] !== "runtime");
  if (operator) yield row(launch && !isLaunch ? "Operator of the launch" : "Operator", leadTo(operator));
  const runs = links.map(([, run]) => run).filter((run) => !isSame(run, strip));
  if (runs.length) {
    const title = `Starts ${runs.length === 1 ? "one run" : `${runs.length} runs`}`;
    const rest = runs.length - MOST_LISTED;
    const more = rest > 0 ? [`and ${rest} more`] : [];
    yield row(isLaunch ? title : "Started together", ...runs.slice(0, MOST_LISTED).map(leadTo), ...more);
  } else if (!links.length && !strip.level && strip.row.b[strip.at]) {
    yield row("Arrows", "The other end is not kept in this page.");
  }
}

/** @param {Strip} strip @param {Link[]} links */
function showDetails(strip, links) {
  const close = make("button", { type: "button", className: "rg-lanes-close", textContent: "Close" });
  close.addEventListener("click", () => {
    choose(null);
    canvas.focus();
  });
  const title = make("h4", { textContent: isRun(strip) ? "Run of events" : "Event" });
  const list = make("dl", {}, ...ownRows(strip), ...relatedRows(strip, links));
  partOf("details").replaceChildren(title, close, list);
  partOf("details").hidden = false;
  say(`${describe(strip)}, ${shortened(strip.lane.label, 60)}`);
}
