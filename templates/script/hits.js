/** The results of a search: places whose title has all words first, then those whose text has them. */
import { wordsIn } from "./texts.js";

/** @typedef {{id: string, title: string, kind: string, where: string, text: string}} Place */
/** @typedef {{place: Place, note: string}} Hit */

const EXCERPT = 90;

/**
 * @param {Place} place
 * @param {string} word
 */
function excerpt({ text }, word) {
  const start = Math.max(0, text.toLowerCase().indexOf(word) - EXCERPT / 3);
  return `${start ? "…" : ""}${text.slice(start, start + EXCERPT)}…`;
}

/**
 * @param {Place[]} places
 * @param {string} query
 * @returns {Hit[]}
 */
export function hitsOf(places, query) {
  const asked = wordsIn(query);
  const has = (/** @type {string[]} */ ...texts) => {
    const text = texts.join(" ").toLowerCase();
    return asked.every((word) => text.includes(word));
  };
  const isTitled = (/** @type {Place} */ { title, where, kind }) => has(title, where, kind);
  const titled = places.filter(isTitled).map((place) => ({ place, note: place.where }));
  const others = places.filter((place) => !isTitled(place) && has(place.title, place.where, place.text));
  const inText = others.map((place) => {
    const word = asked.find((one) => place.text.toLowerCase().includes(one));
    return { place, note: word ? excerpt(place, word) : place.where };
  });
  return [...titled, ...inText];
}
