// The console's views: how to get to one, and how to tell that it is there.

/** @typedef {import('playwright-core').Page} Page */

/**
 * Goes to a route as somebody does who follows a link to it.
 *
 * @param {Page} page
 * @param {string} route What stands behind `#/`.
 * @param {string} view Its name, which is the route without the tenant, and with `id` for what is particular.
 */
export async function openView(page, route, view) {
  await page.goto(`/-/console/#/${route}`);
  await untilReady(page, view);
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
