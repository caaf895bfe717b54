/** Texts of the page, and what is said to the reader. */
import { byId } from "./dom.js";

/** @param {string} text */
export const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/** @param {Element} element */
export const wordsOf = (element) => oneLine(element.textContent ?? "");

/** @param {string} text */
export const wordsIn = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * Tells the reader something, also one who listens.
 * @param {string} text
 */
export function announce(text) {
  const status = byId("rg-said");
  if (status) status.textContent = text;
}
