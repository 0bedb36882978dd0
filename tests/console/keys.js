// Going through a page by keyboard alone, and what has the focus then.

import assert from 'node:assert/strict';

/** @typedef {import('playwright-core').Page} Page */

/** No view has so many stops that somebody would press Tab more often. */
const STOPS_MAX = 250;

/**
 * What has the focus.
 *
 * @typedef {object} Stop
 * @property {string} what Its tag.
 * @property {string} name What it is called.
 * @property {boolean} isNothing Whether nothing has it.
 * @property {string} trouble Why it can't be seen that it has it; empty when it can.
 */

/**
 * What has the focus now, once the page has been drawn.
 *
 * @param {Page} page
 * @returns {Promise<Stop>}
 */
export async function focusOf(page) {
  // What is taken off the page, or can't be used any more, loses the focus when the page is drawn.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  return stopOf(page);
}

/**
 * The stop that Tab has just come to. What looks wrong is looked at again once the page has been drawn.
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
 * Presses Tab until something of this name has the focus; on the way there, everything has to show that it has it.
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
 * Goes somewhere by Tab, and presses Enter there.
 *
 * @param {Page} page
 * @param {string} name
 */
export async function choose(page, name) {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/**
 * Fails unless this has the focus.
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
 * Fails when nothing has the focus any more: whoever has no pointer begins at the top of the page again.
 *
 * @param {Page} page
 * @param {string} after
 */
export async function focusIsKept(page, after) {
  assert.equal((await focusOf(page)).isNothing, false, `nothing has the focus after ${after}`);
}

/**
 * Goes through the whole page by Tab, and gives what is wrong with it: stops that can't be seen, and what can be used but is no
 * stop.
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
      const { passed } = /** @type {any} */ (globalThis);
      const before = passed.size;
      passed.add(document.activeElement);
      return passed.size > before;
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
      // Of a group of choices one is a stop; arrows lead to the others.
      const { type, name } = /** @type {HTMLInputElement} */ (it);
      return type === 'radio' && [...passed].some((other) => other.type === 'radio' && other.name === name);
    };
    return [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(usable))]
      .filter((it) => it.checkVisibility() && !isPassed(it))
      .map((it) => `${it.tagName.toLowerCase()} “${it.ariaLabel ?? it.innerText.trim()}”: Tab doesn't come there`);
  });
  return [...wrong, ...missed];
}
