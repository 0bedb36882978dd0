// A view in every theme and screen size: light and dark on a desktop, and on a phone. Each gets a screenshot and an accessibility
// check.

import { join } from 'node:path';

import { findBarriers } from './axe.js';
import { screenshots } from './environment.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{ theme: 'light' | 'dark', width: number, height: number }} Look */

/** @type {Look[]} */
const LOOKS = [
  { theme: 'light', width: 1280, height: 800 },
  { theme: 'light', width: 360, height: 740 },
  { theme: 'dark', width: 1280, height: 800 },
];

/** @type {Look} */
const WALL = { theme: 'dark', width: 3840, height: 2160 };

/**
 * Checks the current view in every look, and fails with all violations.
 *
 * @param {Page} page
 * @param {string} name Names the screenshots: `<name>-<theme>-<width>.png`.
 * @param {(look: Look) => Promise<void>} check A further check in each look.
 * @param {{ onWall?: boolean }} options Whether there is also a screenshot of a very wide window.
 */
export async function everywhere(page, name, check = async () => {}, { onWall = false } = {}) {
  /** @type {string[]} */
  const wrong = [];
  for (const look of onWall ? [...LOOKS, WALL] : LOOKS) {
    const { theme, width, height } = look;
    const called = `${name}-${theme}-${width}`;
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height });
    await settle(page);
    await check(look);
    await page.screenshot({ path: join(screenshots, `${called}.png`) });
    const found = [...(look === WALL ? [] : await findBarriers(page)), ...(await findOverflow(page))];
    wrong.push(...found.map((it) => `${called}: ${it}`));
  }
  const [{ theme, width, height }] = LOOKS;
  await page.emulateMedia({ colorScheme: theme });
  await page.setViewportSize({ width, height });
  if (wrong.length) throw new Error(`the view is not accessible:\n${wrong.join('\n')}`);
}

/**
 * Waits until the layout and the finite animations are complete.
 *
 * @param {Page} page
 */
export async function settle(page) {
  await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const ends = document.getAnimations().filter((it) => Number.isFinite(it.effect?.getComputedTiming().endTime));
    await Promise.allSettled(ends.map((it) => it.finished));
  });
}

/**
 * The outermost elements that make the document scroll sideways.
 *
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
async function findOverflow(page) {
  return page.evaluate(() => {
    const { scrollWidth } = document.documentElement;
    if (scrollWidth <= innerWidth) return [];
    const sticksOut = (/** @type {Element} */ it) => it.getBoundingClientRect().right > innerWidth + 0.5;
    const outermost = [...document.body.querySelectorAll('*')].filter(
      (it) => sticksOut(it) && !(it.parentElement && it.parentElement !== document.body && sticksOut(it.parentElement)),
    );
    const names = outermost.map(
      (it) => it.tagName.toLowerCase() + [...it.classList].map((name) => `.${name}`).join(''),
    );
    return [`the document scrolls sideways, ${scrollWidth} of ${innerWidth} px: ${names.join(', ')}`];
  });
}
