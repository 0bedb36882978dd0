// Moving through a page by keyboard, and reading the focus.

import assert from 'node:assert/strict';

/** @typedef {import('playwright-core').Page} Page */

/** More focus stops than any view has. */
const STOPS_MAX = 250;

/**
 * The element with the focus.
 *
 * @typedef {object} Stop
 * @property {string} what The tag.
 * @property {string} name The accessible name.
 * @property {boolean} isNothing Whether no element has the focus.
 * @property {string} trouble Why the focus is not visible; empty if it is.
 */

/**
 * Reads the focus after the page has been drawn.
 *
 * @param {Page} page
 * @returns {Promise<Stop>}
 */
export async function focusOf(page) {
  // Removed and disabled elements lose the focus when the page is drawn.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  return stopOf(page);
}

/**
 * Reads the focus after Tab. A stop that looks wrong is read again after the page has been drawn.
 *
 * @param {Page} page
 * @returns {Promise<Stop>}
 */
async function nextStop(page) {
  const stop = await stopOf(page);
  return stop.trouble ? focusOf(page) : stop;
}

/**
 * @param {Page} page
 * @returns {Promise<Stop>}
 */
async function stopOf(page) {
  return page.evaluate(() => {
    const it = /** @type {HTMLElement} */ (document.activeElement ?? document.body);
    if (it === document.body) return { what: 'body', name: '', isNothing: true, trouble: '' };
    const labels = /** @type {HTMLInputElement} */ (it).labels;
    const name = it.ariaLabel ?? labels?.[0]?.innerText ?? it.innerText ?? '';
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(it);
    const { left, top, right, bottom, width, height } = it.getBoundingClientRect();
    const trouble =
      outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2 || /, 0\)$/.test(outlineColor)
        ? `no ring: ${outlineWidth} ${outlineStyle} ${outlineColor}`
        : width === 0 || height === 0 || right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight
          ? `out of sight at ${Math.round(left)}, ${Math.round(top)}`
          : '';
    return { what: it.tagName.toLowerCase(), name: name.trim(), isNothing: false, trouble };
  });
}

/**
 * Presses Tab until the element of this name has the focus. Every stop on the way has to show its focus.
 *
 * @param {Page} page
 * @param {string} name
 * @param {string} key
 */
export async function tabTo(page, name, key = 'Tab') {
  /** @type {string[]} */
  const passed = [];
  for (let n = 0; n < STOPS_MAX; n += 1) {
    await page.keyboard.press(key);
    const stop = await nextStop(page);
    if (stop.isNothing) continue;
    assert.equal(stop.trouble, '', `${stop.what} “${stop.name}”`);
    if (stop.name === name) return;
    passed.push(stop.name.split('\n')[0]);
  }
  assert.fail(`Tab never comes to “${name}”, but to ${[...new Set(passed)].join(' | ')}`);
}

/**
 * Moves to an element by Tab, and presses Enter.
 *
 * @param {Page} page
 * @param {string} name
 */
export async function choose(page, name) {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/**
 * Fails unless the element of this name has the focus.
 *
 * @param {Page} page
 * @param {string | RegExp} name
 */
export async function focusIsOn(page, name) {
  const { what, name: found } = await focusOf(page);
  const fits = typeof name === 'string' ? found === name : name.test(found);
  assert.ok(fits, `the focus is on ${what} “${found}”, not on “${name}”`);
}

/**
 * Fails if no element has the focus: a keyboard user would start at the top of the page again.
 *
 * @param {Page} page
 * @param {string} after
 */
export async function focusIsKept(page, after) {
  assert.equal((await focusOf(page)).isNothing, false, `nothing has the focus after ${after}`);
}

/**
 * Moves through the whole page by Tab, and returns the faults: stops without a visible focus, and controls that are no stops.
 *
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
export async function findLostStops(page) {
  await page.evaluate(() => {
    /** @type {any} */ (globalThis).passed = new Set();
    /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
    getSelection()?.removeAllRanges();
  });
  /** @type {string[]} */
  const wrong = [];
  for (let n = 0; n < STOPS_MAX; n += 1) {
    await page.keyboard.press('Tab');
    const isNew = await page.evaluate(() => {
      const state = /** @type {any} */ (globalThis);
      const before = state.passed.size;
      // In an input of several fields, such as a date, Tab moves from field to field.
      const isSameInput = document.activeElement === state.last;
      state.last = document.activeElement;
      state.passed.add(state.last);
      return isSameInput || state.passed.size > before;
    });
    const stop = await nextStop(page);
    if (!isNew && !stop.isNothing) break;
    if (!stop.isNothing && stop.trouble) wrong.push(`${stop.what} “${stop.name}”: ${stop.trouble}`);
  }
  const missed = await page.evaluate(() => {
    const { passed } = /** @type {any} */ (globalThis);
    const usable = 'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary';
    const isPassed = (/** @type {Element} */ it) => {
      if (passed.has(it)) return true;
      // In a radio group, Tab stops at one button; arrows reach the others.
      const { type, name } = /** @type {HTMLInputElement} */ (it);
      return type === 'radio' && [...passed].some((other) => other.type === 'radio' && other.name === name);
    };
    return [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(usable))]
      .filter((it) => it.checkVisibility() && !isPassed(it))
      .map((it) => `${it.tagName.toLowerCase()} “${it.ariaLabel ?? it.innerText.trim()}”: Tab doesn't come there`);
  });
  return [...wrong, ...missed];
}
