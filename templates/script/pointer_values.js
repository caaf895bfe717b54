/** Over the time axis the pointer reads every panel and every lane. */
import { clock } from "./axis.js";
import { lastAt, panelText, standing, stepText } from "./axis_words.js";
import { plotOf } from "./charts.js";
import { all, make } from "./dom.js";
import { facts, fromCounted, main } from "./range.js";

/** @typedef {{name: string, x: number[], y: (number | null)[], step: string[]}} Curve */

/**
 * The curves of each panel as plotly has calculated them.
 * @param {any} plot
 * @returns {Curve[][]}
 */
const curvesOf = (plot) =>
  facts.panels.map((/** @type {any} */ panel) =>
    panel.names.flatMap((/** @type {string} */ name, /** @type {number} */ at) => {
      const trace = plot.data.findIndex(
        (/** @type {any} */ one) =>
          one.yaxis === panel.axis && one.name === name && one.mode === "lines" && one.hovertemplate && one.visible !== false
      );
      if (trace < 0) return [];
      return { name: panel.lines[at], ...standing(plot.calcdata[trace]) };
    })
  );

/**
 * The intervals of a lane at an instant: two of them at most.
 * @param {{start: number[], end: number[], words: string[]}} lane
 * @param {number} time_s
 */
function laneText({ start, end, words }, time_s) {
  const found = [];
  for (let at = lastAt(start, time_s); at >= 0 && found.length < 2; at--) {
    if (end[at] >= time_s) found.push(words[at]);
  }
  return found.join(" · ");
}

/** @param {HTMLElement} figure */
function addReader(figure) {
  const plot = plotOf(figure);
  const { t: top_px, h: height_px } = plot._fullLayout._size;
  all(".rg-reads, .rg-cross", plot).forEach((old) => old.remove());
  const cross = make("div", { className: "rg-cross", hidden: true });
  const reads = make("div", { className: "rg-reads", hidden: true });
  Object.assign(cross.style, { top: `${top_px}px`, height: `${height_px}px` });
  const label = (/** @type {number} */ at_px) => {
    const span = make("span");
    span.style.top = `${at_px}px`;
    reads.append(span);
    return span;
  };
  const when = label(top_px - 24);
  when.className = "rg-when";
  const laneLabels = facts.lanes.map((/** @type {any} */ _, /** @type {number} */ at) => label(top_px + 30 * at - 1));
  const panelLabels = facts.panels.map((/** @type {any} */ panel) => label(top_px + panel.top - 19));
  plot.append(cross, reads);

  /** @type {Curve[][]} */
  let curves = [];
  /** @type {unknown} */
  let calculated = null;
  /** @type {number | null} */
  let pointer_px = null;

  const hide = () => (cross.hidden = reads.hidden = true);

  function show() {
    if (pointer_px === null) return;
    const box = plot.getBoundingClientRect();
    const { l: left_px, w: width_px } = plot._fullLayout._size;
    const at_px = pointer_px - box.left;
    if (at_px < left_px || at_px > left_px + width_px) return void hide();
    if (calculated !== plot.calcdata) {
      curves = curvesOf(plot);
      calculated = plot.calcdata;
    }
    const counted = plot._fullLayout.xaxis.p2c(at_px - left_px);
    const time_s = fromCounted(plot, counted);
    cross.hidden = reads.hidden = false;
    cross.style.left = `${at_px}px`;
    when.textContent = clock(time_s) + (facts.steps.time.length ? `  ${stepText(facts.steps, time_s)}` : "");
    const most_px = box.width - when.offsetWidth;
    when.style.left = `${Math.min(Math.max(0, at_px - when.offsetWidth / 2), most_px)}px`;
    laneLabels.forEach((/** @type {HTMLElement} */ span, /** @type {number} */ at) => {
      span.textContent = laneText(facts.lanes[at], time_s);
    });
    panelLabels.forEach((/** @type {HTMLElement} */ span, /** @type {number} */ at) => {
      const read = curves[at].map(({ name, x, y, step }) => {
        const place = lastAt(x, counted);
        return { name, value: y[place] ?? null, step: step[place] };
      });
      const steps = new Set(read.flatMap(({ value, step }) => (value !== null && step ? [`step ${step}`] : [])));
      span.textContent = [...steps, panelText(facts.panels[at], read)].join(" · ");
    });
  }

  plot.onmousemove = (/** @type {MouseEvent} */ event) => {
    pointer_px = event.clientX;
    show();
  };
  plot.onmouseleave = hide;
  /* A zoom by keys or numbers leaves the pointer where it is, over another moment. */
  figure.addEventListener("rg:followed", () => {
    if (!cross.hidden) show();
  });
}

main?.addEventListener("rg:drawn", ({ currentTarget }) => addReader(/** @type {HTMLElement} */ (currentTarget)));
