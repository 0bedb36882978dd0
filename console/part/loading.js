// Parts of a view that load after it, or are polled: each waits, fails and is retried independently.

import { Problem, SignedOut } from '../api/problem.js';
import { h, redraw, replace } from '../element.js';
import { problemPanel } from './problem_panel.js';
import { timeElement } from './time.js';

/** @typedef {import('../element.js').Child} Child */

/** The longest back-off between two attempts, unless the server asks for more. */
const BACK_OFF_MAX_SECONDS = 30;

/**
 * An element whose content loads after the view is shown.
 * @param {AbortSignal} signal
 * @param {string} waiting the text until then
 * @param {() => Promise<Child>} load
 */
export function loadAfter(signal, waiting, load) {
  const place = h('div', { class: 'later' }, h('p', { class: 'waiting' }, waiting));
  fill(signal, place, load);
  return place;
}

/**
 * An element whose content loads before the view is shown, so that the focus stays on the pager when the page changes.
 * @param {AbortSignal} signal
 * @param {() => Promise<Child>} load
 */
export async function loadBefore(signal, load) {
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
 * Runs the work of an element. A failure is shown in the element, with a button that retries.
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
 * Loads the content of an element, and polls for changes: only a change redraws it. When polling fails, the element shows the
 * age of its content.
 * @param {AbortSignal} signal
 * @param {Element} place
 * @param {string} waiting
 * @param {number} seconds between two polls
 * @param {() => Promise<{text: string, draw: () => Child}>} read loads the content: a text that is compared, and a function that
 * draws it
 * @returns {Promise<void>} resolves when the content has loaded for the first time
 */
export async function poll(signal, place, waiting, seconds, read) {
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
    const time = timeElement(last.at.toISOString(), { isPrecise: true });
    replace(age, 'Last refreshed: ', time, '. Refreshing fails at the moment; the page retries.');
    age.hidden = false;
  });
  replace(place, h('p', { class: 'waiting' }, waiting));
  await attempt(signal, place, look);
}

/**
 * Polls while the view is open and its tab visible, until `look` returns `false`. A failure doubles the delay, up to a limit, and
 * `Retry-After` extends it.
 * @param {AbortSignal} signal
 * @param {number} seconds between two polls
 * @param {() => Promise<boolean | void>} look
 * @param {(cause: unknown) => void} [fail] called after a failure
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
        await untilSignedIn(signal);
        wait = 0;
        continue;
      }
      const asked = cause instanceof Problem ? cause.retryAfter : 0;
      wait = Math.max(asked, Math.min(2 * wait, BACK_OFF_MAX_SECONDS));
      fail?.(cause);
    }
  }
}

/**
 * Waits; resolves to `false` if the user leaves the view before the time is over.
 * @param {AbortSignal} signal
 * @param {number} seconds
 * @returns {Promise<boolean>}
 */
function pause(signal, seconds) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const timer = setTimeout(() => end(true), seconds * 1000);
    const leave = () => end(false);
    const end = (/** @type {boolean} */ isElapsed) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      resolve(isElapsed);
    };
    signal.addEventListener('abort', leave);
  });
}

/** Waits until the user has signed in again or left the view. @param {AbortSignal} signal */
function untilSignedIn(signal) {
  return new Promise((resolve) => {
    addEventListener('gatehouse:session', resolve, { once: true, signal });
    signal.addEventListener('abort', resolve, { once: true });
  });
}
