/** Instants as texts: in UTC, as the page writes them, or in this browser's zone. */

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");

/**
 * The zone of this browser at an instant: `UTC+02:00`.
 * @param {number} ms since 1970
 */
export function zoneAt(ms) {
  const minutes = -new Date(ms).getTimezoneOffset();
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** @param {number} ms */
export function localDay(ms) {
  const moment = new Date(ms);
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
}

/** @param {number} ms */
export function localClock(ms) {
  const moment = new Date(ms);
  return [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
}

/** @param {number} ms */
export const offsetMs = (ms) => -new Date(ms).getTimezoneOffset() * 60000;

/**
 * The local text of an instant that the page writes in UTC: it keeps the form of that text, which
 * may have a date, decimals, and the word UTC.
 * @param {string} text as written: `2023-09-07 22:16:41.5 UTC`, `22:16:43`
 * @param {number} ms the instant
 * @param {number} [startMs] the instant before it in a range, on whose day a date is not repeated
 */
export function localText(text, ms, startMs) {
  const decimals = /\.\d+/.exec(text)?.[0] ?? "";
  const hasDay = startMs === undefined ? /\d-\d/.test(text) : localDay(ms) !== localDay(startMs);
  const zone = text.endsWith("UTC") ? ` ${zoneAt(startMs ?? ms)}` : "";
  return `${hasDay ? `${localDay(ms)} ` : ""}${localClock(ms)}${decimals}${zone}`;
}

const TO_THE_MINUTE = "2026-07-03 09:30".length;

/**
 * The instant of a date as the page's charts have it, in UTC: `2026-07-03 09:30:21.250001`.
 * @param {string} text
 */
export const instantIn = (text) => Date.parse(`${text.slice(0, TO_THE_MINUTE).replace(" ", "T")}Z`);

/**
 * The same date in this browser's zone; zones differ by whole minutes.
 * @param {string | null} text
 */
export function localDate(text) {
  if (!text) return text;
  const ms = instantIn(text);
  const shown = new Date(ms + offsetMs(ms)).toISOString().slice(0, TO_THE_MINUTE);
  return shown.replace("T", " ") + text.slice(TO_THE_MINUTE);
}

const INSTANT =
  /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?(?: – (\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d)(\.\d+)?)? UTC/g;

/**
 * The texts of a chart with their instants and ranges in this browser's zone.
 * @param {string} text
 */
export const localInText = (text) =>
  text.replace(INSTANT, (_, day, clock, part = "", endDay = day, endClock = "", endPart = "") => {
    const start = Date.parse(`${day}T${clock}Z`);
    if (!endClock) return localText(`${day} ${clock}${part} UTC`, start);
    const end = Date.parse(`${endDay.trim()}T${endClock}Z`);
    return `${localText(`${day} ${clock}${part}`, start)} – ${localText(`${endClock}${endPart} UTC`, end, start)}`;
  });
