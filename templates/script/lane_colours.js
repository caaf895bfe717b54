/** Colours of strips: a family, which the file says for each name, and a shade by the name. */

/** @typedef {{fill: string, ink: string, bits: number}} Colour */
/**
 * @typedef {{ground: string, raised: string, line: string, grid: string, text: string, muted: string,
 *   link: string, colours: Colour[], first: Record<string, number>,
 *   n: Record<string, number>}} Palette
 */

const LEAST_CONTRAST = 3;
/** Colours mixed into a hue for its shades: black (0) or white (255), and how much. */
const SHADES = [[0, 0], [0, 0.25], [255, 0.22], [0, 0.42], [255, 0.4]];
/** Families and the hues of the theme. */
const HUES = {
  compute: "gpu",
  communication: "network",
  copies: "gpu-memory",
  operators: "cpu",
  runtime: "other",
  annotations: "step",
  phases: "start",
  functions: "memory",
  loading: "io",
  critical: "critical",
  warning: "warning",
  info: "info"
};
/** Tokens of the theme that are taken as they are. */
const PLAIN = ["surface", "raised", "line", "grid", "text", "muted", "link"];
/** @param {string} hex */
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** @param {string} hex */
function luminance(hex) {
  const linear = channels(hex)
    .map((channel) => channel / 255)
    .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05;
}

/**
 * The contrast of two colours, 1 to 21 (WCAG 2.2).
 * @param {string} one
 * @param {string} other
 */
export function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)];
  return Math.max(a / b, b / a);
}

/**
 * @param {string} hex
 * @param {number} to
 * @param {number} share
 */
function mixed(hex, to, share) {
  const parts = channels(hex).map((channel) => Math.round(channel + (to - channel) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * The colours of the theme that an element has now: of each family those that stand out.
 * @param {Element} element
 * @returns {Palette}
 */
export function paletteOf(element) {
  const style = getComputedStyle(element);
  const token = (/** @type {string} */ name) => style.getPropertyValue(`--rg-${name}`).trim();
  const [ground, raised, line, grid, text, muted, link] = PLAIN.map(token);
  /** @type {Palette} */
  const palette = { ground, raised, line, grid, text, muted, link, colours: [], first: {}, n: {} };
  for (const [family, hue] of Object.entries(HUES)) {
    const shades = SHADES.map(([to, share]) => mixed(token(hue), to, share)).filter(
      (fill, at) => !at || contrast(fill, ground) >= LEAST_CONTRAST
    );
    palette.first[family] = palette.colours.length;
    palette.n[family] = shades.length;
    palette.colours.push(...shades.map(colourOf));
  }
  return palette;
}

/** @param {string} fill @returns {Colour} */
function colourOf(fill) {
  const [red, green, blue] = channels(fill);
  const isDark = contrast(fill, "#ffffff") > contrast(fill, "#000000");
  return { fill, ink: isDark ? "#ffffff" : "#000000", bits: (blue << 16) | (green << 8) | red };
}

/** A number for a name, the same in each page. @param {string} name */
export function hashOf(name) {
  let hash = 7;
  for (let at = 0; at < Math.min(name.length, 200); at++) {
    hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
  }
  return hash;
}
