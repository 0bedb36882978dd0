// Accessibility: axe-core checks the current page.

import axe from 'axe-core';

/** @typedef {import('playwright-core').Page} Page */

/** The impacts that fail a test. */
const BARRIERS = ['serious', 'critical'];

/**
 * The violations on the page, a line for each element.
 *
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
export async function findBarriers(page) {
  // The debugger evaluates axe-core: the page's content security policy would block loading it.
  await page.evaluate(`if (!globalThis.axe) { ${axe.source} }`);
  /** @type {import('axe-core').AxeResults} */
  const { violations } = await page.evaluate(() =>
    /** @type {any} */ (globalThis).axe.run(document, { resultTypes: ['violations'] }),
  );
  return violations
    .filter(({ impact }) => BARRIERS.includes(String(impact)))
    .flatMap(({ id, impact, help, nodes }) =>
      nodes.map((node) => {
        const reasons = [...node.any, ...node.all, ...node.none].map(({ message }) => message).join('; ');
        return `${impact} ${id}: ${help}: ${node.target.join(' ')}: ${reasons || node.html}`;
      }),
    );
}
