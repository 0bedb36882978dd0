// Whether everyone can use a page, as far as a program can tell: axe-core looks at what is shown now.

import axe from 'axe-core';

/** @typedef {import('playwright-core').Page} Page */

/** What keeps people out; what is merely advice is left to people. */
const BARRIERS = ['serious', 'critical'];

/**
 * The barriers on the page, a line for each element that is one.
 *
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
export async function findBarriers(page) {
  // Evaluated by the debugger, not loaded by the page: its content security policy stays as it is.
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
