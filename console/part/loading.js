// What comes later than the rest of its view, or again and again: each part waits, fails and is tried again by itself.

import { Problem, SignedOut } from '../api/problem.js';
import { h, redraw, replace } from '../element.js';
import { problemPanel } from './problem_panel.js';
import { timeElement } from './time.js';

/** @typedef {import('../element.js').Child} Child */

/** Seconds after which something that fails is tried at the latest, if the server doesn't want to be left alone longer. */
const LONGEST = 30;

/**
 * A place that is filled when its content has come.
 * @param {AbortSignal} signal
 * @param {string} waiting what is said until then
 * @param {() => Promise<Child>} load
 */
export function later(signal, waiting, load) {
  const place = h('div', { class: 'later' }, h('p', { class: 'waiting' }, waiting));
  fill(signal, place, load);
  return place;
}

/**
 * The same, filled before it is shown: whoever turns a page stays at the pager.
 * @param {AbortSignal} signal
 * @param {() => Promise<Child>} load
 */
export async function filled(signal, load) {
  const place = h('div', { class: 'later' });
  await fill(signal, place, load);
  return place;
}

/**
 * @param {AbortSignal} signal
 * @param {Element} place
 * @param {() => Promise<Child>} load
 */
function fill(signal, place, load) {
  return attempt(signal, place, async () => {
    const content = await load();
    if (!signal.aborted) replace(place, content);
  });
}

/**
 * Does something for a place; what goes wrong is told there, and can be tried again.
 * @param {AbortSignal} signal
 * @param {Element} place
 * @param {() => Promise<void>} work
 */
async function attempt(signal, place, work) {
  const again = () => {
    attempt(signal, place, work);
  };
  place.setAttribute('aria-busy', 'true');
  try {
    await work();
  } catch (cause) {
    if (!signal.aborted) replace(place, problemPanel(cause, { retry: again }));
    if (cause instanceof SignedOut) addEventListener('gatehouse:session', again, { once: true, signal });
  }
  place.setAttribute('aria-busy', 'false');
}

/**
 * Fills a place, and keeps it up to date: drawn anew only when something has changed. When it can't be read again, it says
 * how old it is.
 * @param {AbortSignal} signal
 * @param {Element} place
 * @param {string} waiting
 * @param {number} seconds between two looks
 * @param {() => Promise<{text: string, draw: () => Child}>} read what is there, as a text to compare and as something to see
 * @returns {Promise<void>} until it is filled for the first time
 */
export async function keepUp(signal, place, waiting, seconds, read) {
  const age = h('p', { class: 'fine whole', role: 'status', hidden: true });
  /** @type {{text: string, at: Date} | undefined} */
  let last;
  const look = async () => {
    const { text, draw } = await read();
    if (signal.aborted) return;
    age.hidden = true;
    if (!last) replace(place, draw(), age);
    else if (text !== last.text) redraw(place, draw(), age);
    last = { text, at: new Date() };
  };
  repeat(signal, seconds, look, () => {
    if (!last) return;
    replace(age, 'This could not be read again since ', timeElement(last.at.toISOString(), { isPrecise: true }), '.');
    age.hidden = false;
  });
  replace(place, h('p', { class: 'waiting' }, waiting));
  await attempt(signal, place, look);
}

/**
 * Does something again and again, as long as the view is there and somebody looks, until it says that it is over (`false`).
 * Where it fails, it waits longer and longer, and as long as the server wants.
 * @param {AbortSignal} signal
 * @param {number} seconds between two times
 * @param {() => Promise<boolean | void>} look
 * @param {(cause: unknown) => void} [fail] is told what went wrong
 */
export async function repeat(signal, seconds, look, fail) {
  let wait = seconds;
  while (await pause(signal, wait)) {
    if (document.hidden) continue;
    try {
      if ((await look()) === false) return;
      wait = seconds;
    } catch (cause) {
      if (signal.aborted) return;
      if (cause instanceof SignedOut) {
        await untilBack(signal);
        wait = 0;
        continue;
      }
      const wanted = cause instanceof Problem ? cause.retryAfter : 0;
      wait = Math.max(wanted, Math.min(2 * wait, LONGEST));
      fail?.(cause);
    }
  }
}

/**
 * Waits, unless somebody goes elsewhere. Whether it has waited.
 * @param {AbortSignal} signal
 * @param {number} seconds
 * @returns {Promise<boolean>}
 */
function pause(signal, seconds) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const timer = setTimeout(() => end(true), seconds * 1000);
    const leave = () => end(false);
    const end = (/** @type {boolean} */ hasWaited) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      resolve(hasWaited);
    };
    signal.addEventListener('abort', leave);
  });
}

/** Waits until somebody is signed in again, unless somebody goes elsewhere. @param {AbortSignal} signal */
function untilBack(signal) {
  return new Promise((resolve) => {
    addEventListener('gatehouse:session', resolve, { once: true, signal });
    signal.addEventListener('abort', resolve, { once: true });
  });
}
