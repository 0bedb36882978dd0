// A field for a text that may be very long: a short one is read with each keystroke, a long one a moment after the last.

/** So many characters are read between two keystrokes without anybody noticing. */
const SHORT_MAX = 50_000;

const MOMENT_MS = 300;

/**
 * Reads what is in a field whenever it has changed.
 * @param {HTMLTextAreaElement} area
 * @param {() => void} read
 * @returns {() => void} reads it now, if it has changed since it was read
 */
export function readAsTyped(area, read) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const readNow = () => {
    if (waiting === undefined) return;
    clearTimeout(waiting);
    waiting = undefined;
    read();
  };
  area.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(readNow, MOMENT_MS);
    if (area.value.length <= SHORT_MAX) readNow();
  });
  return readNow;
}
