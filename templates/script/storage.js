/** The reader's choices. A page opened from a file may have no storage: they last as long as it. */

/**
 * @param {string} name
 * @returns {string | null}
 */
export function remembered(name) {
  try {
    return localStorage.getItem(`reportgen-${name}`);
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
export function remember(name, value) {
  try {
    localStorage.setItem(`reportgen-${name}`, value);
  } catch {
    /* See above. */
  }
}
