/** How long something took, as people read it: the only place of the scripts that writes it. */

/** @param {number} value */
export const digits = (value, most = 4) =>
  Number(value.toPrecision(most)).toLocaleString("en", { maximumFractionDigits: 6 });

/** With more digits than these a duration is exact, and stays in seconds. */
const FEW_DIGITS = 4;

/**
 * A duration as `reportgen/text.py` writes it, to the nanosecond: `812 µs`, `1 min 35 s`, `2 h 05 min`.
 * @param {number} length_s
 * @returns {string}
 */
export function durationText(length_s, most = 3) {
  if (length_s < 0) return `-${durationText(-length_s, most)}`;
  if (!length_s) return "0 s";
  if (length_s < 60 || most > FEW_DIGITS) {
    const [size, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]].find(
      ([size]) => Number(length_s.toPrecision(most)) >= Number(size)
    ) ?? [1e-9, "ns"];
    return `${digits(length_s / Number(size), most)} ${unit}`;
  }
  const whole_s = Math.round(length_s);
  const minutes = Math.floor(whole_s / 60);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  if (minutes < 60) return `${minutes} min ${two(whole_s % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
