// Debounced reading of a text field: a short text is read at each keystroke, a long one after a pause.

/** The longest text that can be read between two keystrokes without a noticeable delay. */
const SHORT_MAX = 50_000;

const PAUSE_MS = 300;

/**
 * Calls `read` when the text of a field has changed.
 * @param {HTMLTextAreaElement} area
 * @param {() => void} read
 * @returns {() => void} calls `read` at once, if a change is pending
 */
export function onInputDebounced(area, read) {
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
    waiting = setTimeout(readNow, PAUSE_MS);
    if (area.value.length <= SHORT_MAX) readNow();
  });
  return readNow;
}
