/** The time axis in words: instants, lengths, and the steps of the job. */

/**
 * The time of day of an instant, in UTC.
 * @param {number} time_ms since 1970
 * @param {boolean} isLong whether the job is so long that tenths say nothing
 */
export const clockText = (time_ms, isLong) =>
  new Date(Math.round(time_ms)).toISOString().slice(11, isLong ? 19 : 21);

/**
 * The place of the last value that is not above another; -1 where all are.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function lastAt(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * The points of a curve whose values stand until the next one. The last of each stretch, behind
 * which a gap follows or nothing, only ends it: from there on there is no value.
 * @param {{x?: number, y?: number, tx?: string}[]} points as plotly has calculated them
 * @returns {{x: number[], y: (number | null)[], step: string[]}}
 */
export function standing(points) {
  const found = /** @type {{x: number[], y: (number | null)[], step: string[]}} */ ({ x: [], y: [], step: [] });
  points.forEach(({ x, y, tx }, at) => {
    if (x === undefined || !Number.isFinite(x)) return;
    const isLast = !Number.isFinite(points[at + 1]?.x);
    found.x.push(x);
    found.y.push(y === undefined || isLast || !Number.isFinite(y) ? null : y);
    found.step.push(tx ?? "");
  });
  return found;
}

/**
 * The step at an instant, nothing where the job does other work, as in a validation. Of many steps
 * only some have their start here; between them the step is estimated, and said to be.
 * @param {{time: number[], step: number[], end: number[]}} steps
 * @param {number} time_s
 */
export function stepText({ time, step, end }, time_s) {
  const at = lastAt(time, time_s);
  if (at < 0 || time_s > end[at]) return "";
  const isLast = at === time.length - 1;
  if (isLast || step[at + 1] - step[at] <= 1) return `step ${step[at].toLocaleString("en")}`;
  const part = (time_s - time[at]) / (end[at] - time[at]);
  return `step ≈ ${Math.floor(step[at] + part * (step[at + 1] - step[at])).toLocaleString("en")}`;
}

/**
 * @param {number | null} value
 * @param {{percent: boolean, unit: string}} panel
 */
function valueText(value, { percent, unit }) {
  if (value === null) return "–";
  const text = percent ? value.toFixed(1) : Number(value.toPrecision(3)).toLocaleString("en");
  return unit ? `${text} ${unit}` : text;
}

/**
 * The values of a panel's curves at an instant: each of them, or the lowest and the highest of many.
 * @param {{percent: boolean, unit: string}} panel
 * @param {{name: string, value: number | null}[]} values
 */
export function panelText(panel, values) {
  if (values.length === 1) return valueText(values[0].value, panel);
  const known = values.filter(({ value }) => value !== null);
  if (values.length <= 3) {
    const said = known.length ? known : values;
    return said.map(({ name, value }) => `${name} ${valueText(value, panel)}`).join(" · ");
  }
  if (!known.length) return "–";
  known.sort((one, other) => Number(one.value) - Number(other.value));
  const [low, high] = [known[0], known[known.length - 1]];
  return `${low.name} ${valueText(low.value, panel)} – ${high.name} ${valueText(high.value, panel)}`;
}
