/** The lanes of the timeline: strips from host to device on a canvas. Comes packed to a page
 * (lanes_soon.js) and gives it `reportLanes`. */
import { hit } from "./lane_input.js";
import { choose } from "./lane_choice.js";
import { contrast, paletteOf } from "./lane_colours.js";
import { drawLanes, forgetInks } from "./lane_drawing.js";
import { openFile } from "./lane_file.js";
import { linkCharts, tellCharts } from "./lane_link.js";
import { piecesOf, tally } from "./lane_rows.js";
import {
  HEAD_PX, arrange, arrowsOf, canvas, clamped, complain, drawn, entryOf, figure, fit, foldFirst, frameRange,
  isWithin, middleOf, partOf, prepareLanes, request, say, scrollLanes, setView, settled, stage, unfoldTo, xOf
} from "./lane_stage.js";
import { listSteps, tellSoon } from "./lane_tools.js";
import { timeText } from "./lane_words.js";
import { bytesOf } from "./packing.js";

/** Deeper lanes are shown small beside a finding: host and GPU then fit into the window. */
const FEW_ROWS = 3;

/** @type {Promise<void> | null} */
let woken = null;

function wake() {
  woken = woken ?? prepare().catch((error) => {
    complain(`The timeline cannot be read: ${error.message}.`);
    throw error;
  });
  return woken;
}

async function prepare() {
  stage.file = openFile(bytesOf(partOf("file").textContent ?? ""));
  const { header, texts } = stage.file;
  stage.lanes = header.lanes;
  const { names, families, details } = header;
  [stage.names, stage.families, stage.details] = await Promise.all([names, families, details].map(texts));
  const hasEvents = stage.lanes.some(({ kind, n_events: n }) => kind !== "counter" && n);
  if ((hasEvents && !stage.names.length) || stage.names.length !== stage.families.length) throw new Error("names are missing");
  stage.palette = paletteOf(figure);
  prepareLanes();
  foldFirst();
  figure.dataset.lanes = "awake";
  for (const name of ["tools", "box", "hint", "full", "table"]) partOf(name).hidden = false;
  fit();
  new ResizeObserver(() => {
    const { clientWidth } = partOf("box");
    if (clientWidth && clientWidth !== stage.size.width) fit();
  }).observe(partOf("box"));
  await listSteps();
  setView(...firstView());
  for (const lane of stage.lanes.filter(({ kind }) => kind === "rank")) {
    stage.waits.push(arrowsOf(lane).then(request));
  }
  linkCharts();
  figure.dataset.lanes = "ready";
}

/** The median step with what is beside it; all where all is shown in full. @returns {[number, number]} */
function firstView() {
  const { windows, length_ns } = stage.file.header;
  const median = windows.find(({ why }) => why.includes("median")) ?? windows[0];
  const room = median ? (median.end - median.start) * 0.05 : 0;
  return median ? [median.start - room, median.end + room] : [0, length_ns];
}

/**
 * Shows the place of a finding: its part unfolded, the other ranks folded, its time marked.
 * @param {DOMStringMap} spot `node`, and `start` and `end` in ns where it has a time
 */
async function show({ node, start, end }) {
  await wake();
  const { lanes, folded } = stage;
  const own = lanes.filter((lane) => lane.node === node);
  const top = own.find(({ kind }) => kind === "rank") ?? own[0];
  if (top) {
    for (const lane of lanes) if (lane.kind === "rank" && lane !== top) folded.add(lane.id);
    unfoldTo(top);
    for (const lane of lanes.filter((one) => isWithin(one, top))) {
      if (lane.isGroup || lane.rows <= FEW_ROWS) folded.delete(lane.id);
      else folded.add(lane.id);
    }
    arrange();
    scrollLanes(entryOf(top).top - stage.size.height / 3);
  }
  stage.marked = start ? clamped(Number(start), Math.max(Number(end), Number(start) + 1000)) : null;
  if (stage.marked) frameRange(stage.marked, 0.3);
  else setView(...firstView());
  figure.scrollIntoView({ block: "start" });
  canvas.focus({ preventScroll: true });
  const when = stage.marked ? `, ${timeText(stage.marked.from)} after the start` : "";
  say(`Timeline at ${top?.label ?? "the finding"}${when}`);
}

function repaint() {
  if (!stage.palette) return;
  stage.palette = paletteOf(figure);
  forgetInks();
  request();
}
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
stage.draw = () => {
  drawLanes();
  tellSoon();
  tellCharts();
};

window.reportLanes = {
  HEAD_PX, choose, contrast, drawn, hit, middleOf, piecesOf, setView, settled, show, stage, tally, wake, xOf
};
