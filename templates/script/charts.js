/** Draws the figures of the page: plotly's JSON, as the notebook has it. Plotly lies packed in the page
 * and is unpacked when the first chart comes near the window. A trace says the role of its colour. */
import { all, byId, first, make } from "./dom.js";
import { textOf } from "./packing.js";

const AWAKE_PX = 1200;
const INSTANT_PX = 74;
const SHEET_PX = 770;
const LEAST_PLOT_PX = 160;
const AROUND_PX = 56;
const SETTLING_TRIES = 6;
const CONFIG = {
  displaylogo: false,
  responsive: true,
  showTips: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud"]
};

export const figures = all("figure.chart");
/* A finger that scrolls the page over a chart must not zoom it. */
const isTouched = matchMedia("(pointer: coarse)").matches;
/** @type {Set<HTMLElement>} */
const awake = new Set();
/** @type {Map<HTMLElement, Promise<void>>} */
const asked = new Map();
/** @type {Map<HTMLElement, string>} */
const texts = new Map();
/** @type {Promise<any> | null} */
let library = null;
let isPrinting = false;

/**
 * The element that plotly draws into and changes.
 * @param {Element} figure
 * @returns {any}
 */
export const plotOf = (figure) => first(".rg-plot", figure);

/** @param {HTMLElement} figure */
export const isAwake = (figure) => awake.has(figure);

/** @param {HTMLElement} figure */
const isDrawn = (figure) => Boolean(figure.dataset.drawn);

/* Charts of the user's own cells are plotly's JSON already. */
/** @param {HTMLElement} figure */
const isOwn = (figure) => "own" in figure.dataset;

/* How many charts may stay drawn, which a page can set: each costs thousands of elements. */
const mostAwake = () => Number(document.documentElement.dataset.mostCharts ?? 10);

/* The text of the library, when those of the figures are there too: then they are drawn at once. */
async function inflate() {
  const figuresRead = figures.map(async (figure) => {
    const source = first(isOwn(figure) ? ":scope > script" : `script[data-figure="${figure.id}"]`, isOwn(figure) ? figure : document);
    if (source) texts.set(figure, await textOf(source));
  });
  const packed = byId("plotly-gz");
  const [text] = await Promise.all([packed ? textOf(packed) : "", ...figuresRead]);
  return text;
}
const inflated = figures.length ? Promise.resolve().then(inflate) : null;

function unpackLibrary() {
  library ??= Promise.resolve(inflated).then((text) => {
    performance.mark("rg:unpacked");
    document.head.append(make("script", { textContent: text }));
    performance.mark("rg:library");
    return window.Plotly;
  });
  return library;
}

/** @param {any} layout */
const datedAxes = (layout) => ["xaxis", "xaxis2"].filter((name) => layout?.[name]?.type === "date");

/** @param {number} width_px */
const ticksIn = (width_px) => Math.max(2, Math.floor(width_px / INSTANT_PX));

/**
 * As wide as a sheet and no higher (half by less room, half by smaller print), with as many instants
 * below it as find room there, and without what only a click in the legend shows.
 * @param {HTMLElement} figure
 * @param {number} width_px
 */
export function fitSheet(figure, width_px) {
  const plot = plotOf(figure);
  const scale = Math.sqrt(Math.min(1, SHEET_PX / plot.clientHeight));
  const height = plot.clientHeight * scale;
  Object.assign(plot.style, { zoom: `${scale}`, maxHeight: `${height}px` });
  const size = {
    width: width_px / scale,
    height,
    autosize: false,
    ...Object.fromEntries(datedAxes(plot.layout).map((name) => [`${name}.nticks`, ticksIn(width_px / scale)]))
  };
  const hidden = (plot.data ?? []).flatMap((/** @type {any} */ trace, /** @type {number} */ at) =>
    trace.visible === "legendonly" ? [at] : []
  );
  if (hidden.length) window.Plotly.update(plot, { showlegend: false }, size, hidden);
  else window.Plotly.relayout(plot, size);
}

/* On a phone a legend takes many lines, the more the taller it may be: the chart below it keeps
   its height. */
/**
 * @param {HTMLElement} figure
 * @param {any} plot
 */
async function giveRoom(figure, plot) {
  if (isOwn(figure)) return;
  for (let tries = SETTLING_TRIES; tries; tries--) {
    const size = plot._fullLayout?._size;
    const least_px = Math.min(LEAST_PLOT_PX, parseFloat(plot.style.getPropertyValue("--rg-height")) - AROUND_PX);
    if (!size || size.h >= least_px - 1) return;
    const height = Math.ceil(plot.clientHeight + least_px - size.h);
    plot.style.height = `${height}px`;
    await window.Plotly.relayout(plot, { height });
  }
}

/** @param {string} role `gpu-2`, of a colour of the page's style sheet */
const colourOf = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--rg-${role}`).trim();

/** The look of all charts in the reader's theme. */
function chartStyle() {
  const written = byId("chart-style")?.textContent ?? "{}";
  return JSON.parse(written.replace(/var\(--rg-([a-z0-9-]+)\)/g, (_, role) => colourOf(role)));
}

/**
 * Gives a trace of ours the colours of the reader's theme.
 * @param {any} trace
 */
function paint(trace) {
  const { role, fill = role } = trace.meta ?? {};
  if (trace.type === "heatmap") {
    for (const [at, step] of trace.colorscale.entries()) step[1] = colourOf(`scale-${at}`);
  }
  if (!role) return;
  for (const part of [trace.line, trace.marker, trace.marker?.line]) {
    if (part?.color) part.color = colourOf(role);
  }
  if (trace.fillcolor) trace.fillcolor = colourOf(fill);
}

/**
 * The figure as plotly takes it, in the reader's colours.
 * @param {HTMLElement} figure
 * @param {any} plot
 */
function madeFor(figure, plot) {
  const { data, layout: written } = JSON.parse(texts.get(figure) ?? "{}");
  const layout = { template: chartStyle(), ...written };
  if (isOwn(figure)) return { data, layout };
  data.forEach(paint);
  delete layout.title;
  layout.margin.t = layout.meta.top;
  layout.height = plot.clientHeight;
  if (isTouched) layout.dragmode = false;
  /* Times to the millisecond are wide: on a phone they would overlap. */
  for (const name of datedAxes(layout)) layout[name].nticks = ticksIn(plot.clientWidth);
  if (figure.classList.contains("rg-timeline")) layout.hovermode = false;
  return { data, layout };
}

/** @param {HTMLElement} figure */
async function draw(figure) {
  const plot = plotOf(figure);
  const { data, layout = {} } = madeFor(figure, plot);
  awake.add(figure);
  const toImageButtonOptions = { scale: 2, filename: figure.id };
  const drawing = window.Plotly.react(plot, data, layout, { ...CONFIG, toImageButtonOptions });
  if (isPrinting) figure.dataset.drawn = "yes";
  await drawing;
  await giveRoom(figure, plot);
  figure.dataset.drawn = "yes";
  performance.mark(`rg:drawn ${figure.id}`);
  figure.dispatchEvent(new CustomEvent("rg:drawn"));
  letSleep();
}

/* One in a closed fold, or in a view that is not chosen, has no size to be drawn in. */
/** @param {HTMLElement} figure */
const hasRoom = (figure) => !figure.closest("details:not([open])") && figure.getClientRects().length > 0;

/** @param {HTMLElement} figure */
function putToSleep(figure) {
  awake.delete(figure);
  window.Plotly.purge(plotOf(figure));
  figure.dispatchEvent(new CustomEvent("rg:asleep"));
}

/** @param {HTMLElement} figure */
function distanceOf(figure) {
  if (!hasRoom(figure)) return Infinity;
  const { top, bottom } = figure.getBoundingClientRect();
  return Math.max(top - innerHeight, -bottom, 0);
}

/* Those farthest from the window are taken apart, and drawn again when they come near. One that is
   still being drawn would wake from its purge as drawn and stay empty. */
function letSleep() {
  if (isPrinting || awake.size <= mostAwake()) return;
  [...awake]
    .filter(isDrawn)
    .map((figure) => ({ figure, distance_px: distanceOf(figure) }))
    .sort((one, other) => other.distance_px - one.distance_px)
    .slice(0, awake.size - mostAwake())
    .filter(({ distance_px }) => distance_px >= AWAKE_PX)
    .forEach(({ figure }) => putToSleep(figure));
}

/**
 * Draws a chart that was never drawn.
 * @param {HTMLElement} figure
 * @returns {Promise<void>}
 */
function drawSoon(figure) {
  let drawing = asked.get(figure);
  if (!drawing) {
    figure.dataset.asked = "yes";
    drawing = unpackLibrary()
      .then(() => draw(figure))
      .catch((error) => {
        figure.dataset.failed = "yes";
        console.error(`chart ${figure.id} could not be drawn`, error);
      });
    asked.set(figure, drawing);
  }
  return drawing;
}

/**
 * Draws a chart that was never drawn, or that sleeps.
 * @param {HTMLElement} figure
 */
const wake = (figure) => (isDrawn(figure) && !isAwake(figure) ? draw(figure) : drawSoon(figure));

/** For print: at once if the library is there, as a browser does not wait for promises. */
export function drawAll() {
  isPrinting = true;
  for (const figure of figures.filter(hasRoom)) {
    if (!window.Plotly || isAwake(figure) || figure.dataset.failed) drawSoon(figure);
    else {
      figure.dataset.asked = "yes";
      draw(figure);
    }
  }
}

/** Draws again what is drawn: the colours are other ones. */
export function repaint() {
  if (!window.Plotly) return;
  [...awake].filter((figure) => isDrawn(figure) && !hasRoom(figure)).forEach(putToSleep);
  [...awake].forEach(draw);
}

const nearCharts = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) wake(/** @type {HTMLElement} */ (target));
    }
  },
  { rootMargin: "400px 0px" }
);
figures.forEach((figure) => nearCharts.observe(figure));

addEventListener("afterprint", () => {
  isPrinting = false;
  for (const figure of figures) Object.assign(plotOf(figure).style, { zoom: "", maxHeight: "" });
  letSleep();
});

/* The library is there before the reader is at the first chart, and before the page is printed; near
   ones are drawn ahead. */
const whenIdle = window.requestIdleCallback ?? ((/** @type {() => void} */ work) => setTimeout(work, 200));
function drawNext() {
  const waiting = figures.find((figure) => !figure.dataset.asked && hasRoom(figure));
  if (!window.Plotly && figures.length) unpackLibrary();
  if (waiting && awake.size < mostAwake()) drawSoon(waiting).then(() => whenIdle(drawNext));
}
addEventListener("load", () => setTimeout(() => whenIdle(drawNext), 200));
