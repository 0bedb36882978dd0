// What comes later than the rest of its view, or again and again: each part waits, fails and is tried again by itself.

import { h, replace } from '../element.js';
import { SignedOut } from '../problem.js';
import { problemPanel } from './problem.js';

/** @typedef {import('../element.js').Child} Child */

/**
 * A place that is filled when its content has come.
 * @param {AbortSignal} signal
 * @param {string} waiting what is said until then
 * @param {() => Promise<Child>} load
 */
export function later(signal, waiting, load) {
  const place = h('div', { class: 'later', 'aria-busy': 'true' }, h('p', { class: 'waiting' }, waiting));
  const fill = async () => {
    try {
      const content = await load();
      if (!signal.aborted) replace(place, content);
    } catch (cause) {
      if (!signal.aborted) replace(place, problemPanel(cause, { retry: fill }));
      onceBack(cause, signal, fill);
    }
    place.setAttribute('aria-busy', 'false');
  };
  fill();
  return place;
}

/**
 * Fills a place, and keeps it up to date: drawn anew only when something has changed, and what somebody has opened there
 * stays open.
 * @param {AbortSignal} signal
 * @param {Element} place
 * @param {string} waiting
 * @param {number} seconds between two looks
 * @param {() => Promise<{text: string, draw: () => Child}>} read what is there, as a text to compare and as something to see
 */
export function keepUp(signal, place, waiting, seconds, read) {
  /** @type {string | undefined} */
  let before;
  const look = async () => {
    const { text, draw } = await read();
    if (signal.aborted || text === before) return;
    // Whoever is inside with the keyboard isn't thrown out; the next look comes soon.
    if (before !== undefined && place.contains(document.activeElement)) return;
    const opened = [...place.querySelectorAll('details')].map((it) => it.open);
    before = text;
    replace(place, draw());
    for (const [n, it] of place.querySelectorAll('details').entries()) it.open = opened[n] ?? it.open;
  };
  const first = async () => {
    replace(place, h('p', { class: 'waiting' }, waiting));
    place.setAttribute('aria-busy', 'true');
    try {
      await look();
    } catch (cause) {
      if (!signal.aborted) replace(place, problemPanel(cause, { retry: first }));
      onceBack(cause, signal, first);
    }
    place.setAttribute('aria-busy', 'false');
  };
  first();
  repeat(signal, seconds, look);
}

/**
 * Tries again when somebody is signed in again, if that was what was wrong.
 * @param {unknown} cause
 * @param {AbortSignal} signal
 * @param {() => void} retry
 */
function onceBack(cause, signal, retry) {
  if (cause instanceof SignedOut) addEventListener('gatehouse:session', retry, { once: true, signal });
}

/**
 * Does something again and again, as long as the view is there and somebody looks, until it says that it is over (`false`).
 * @param {AbortSignal} signal
 * @param {number} seconds between two times
 * @param {() => Promise<boolean | void>} look
 */
export async function repeat(signal, seconds, look) {
  while (await pause(signal, seconds)) {
    if (document.hidden) continue;
    try {
      if ((await look()) === false) return;
    } catch {
      // The next look may be luckier. What is shown stays, and says since when it is.
    }
  }
}

/**
 * Waits, unless somebody goes elsewhere. Whether it has waited.
 * @param {AbortSignal} signal
 * @param {number} seconds
 * @returns {Promise<boolean>}
 */
export function pause(signal, seconds) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const timer = setTimeout(() => resolve(true), seconds * 1000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}
