// The console's views: opening, waiting for and reading them.

/** @typedef {import('playwright-core').Page} Page */

/**
 * Opens a route like a link does.
 *
 * @param {Page} page
 * @param {string} route What stands behind `#/`.
 * @param {string} view Its name, which is the route without the tenant, and with `id` for what is particular.
 */
export async function openView(page, route, view) {
  const before = page.url();
  const isInside = before.includes('/-/console/');
  await leadsTo(page, view, async () => {
    await page.goto(`/-/console/#/${route}`);
    // The browser ignores a link to the current address.
    if (isInside && page.url() === before) await page.reload();
  });
}

/**
 * Waits until a view has finished loading.
 *
 * @param {Page} page
 * @param {string} view
 */
export async function untilReady(page, view) {
  await page.locator(`html[data-ready="${view}"]`).waitFor({ state: 'attached' });
}

/**
 * Runs an action that leads to a view, and waits until the view is shown, also if it is the current one.
 *
 * @param {Page} page
 * @param {string} view
 * @param {() => Promise<unknown>} action
 */
export async function leadsTo(page, view, action) {
  await page.evaluate(() => {
    delete document.documentElement.dataset.ready;
  });
  await action();
  await untilReady(page, view);
}

/**
 * Signs in with a pasted token.
 *
 * @param {Page} page
 * @param {string} token
 * @param {string} route The view to open.
 * @param {string} view
 */
export async function signInWith(page, token, route, view) {
  await page.goto('/-/console/');
  if (!(await page.locator('html[data-ready="sign-in"]').count())) {
    await untilReady(page, 'overview');
    await signOut(page);
    // Like a browser without storage of the console.
    await page.evaluate(() => localStorage.clear());
  }
  await page.goto(`/-/console/#/${route}`);
  await untilReady(page, 'sign-in');
  await pasteToken(page, token);
  await untilReady(page, view);
}

/**
 * @param {Page} page
 * @param {string} token
 */
export async function pasteToken(page, token) {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in with the token' }).click();
}

/** @param {Page} page */
export async function signOut(page) {
  await page.locator('.person > summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await untilReady(page, 'sign-in');
}

/**
 * The texts of a table's cells, by row.
 *
 * @param {Page} page
 * @param {string | RegExp} caption
 * @returns {Promise<string[][]>}
 */
export async function cellsOf(page, caption) {
  const table = page.getByRole('table', { name: caption });
  await table.waitFor();
  return table
    .locator('tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => [.../** @type {HTMLTableRowElement} */ (row).cells].map((cell) => cell.innerText.trim())),
    );
}

/**
 * The values of a list of facts, by name.
 *
 * @param {Page} page
 * @param {string} region
 * @returns {Promise<Record<string, string>>}
 */
export async function factsOf(page, region) {
  const list = page.getByRole('region', { name: region }).locator('dl').first();
  await list.waitFor();
  return list.evaluate((element) =>
    Object.fromEntries(
      [...element.querySelectorAll('dt')].map((it) => [
        it.innerText.trim(),
        /** @type {HTMLElement} */ (it.nextElementSibling).innerText.trim(),
      ]),
    ),
  );
}
