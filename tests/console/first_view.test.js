// The first view of the demo: signed in, complete and small.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { everywhere } from './everywhere.js';
import { startDemo } from './server.js';
import { countTraffic, timeFirstView } from './traffic.js';
import { untilReady } from './views.js';

/** The limit for the first view: about a second on a mobile network. */
const MOST_BYTES = 150_000;

/** The modules are not bundled; HTTP/1.1 fetches six of them at a time. */
const MOST_REQUESTS = 60;

const server = await startDemo();

inBrowser('the demo opens at its overview, signed in', server, async ({ page }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  assert.match(await page.title(), /^overview · demo · gatehouse$/i);
  assert.equal(new URL(page.url()).hash, '#/demo/overview');
  for (const landmark of ['banner', 'main']) {
    await page.getByRole(/** @type {'banner' | 'main'} */ (landmark)).waitFor();
  }
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
});

inBrowser('the overview of an empty estate can be used everywhere', server, async ({ page }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  await page.getByRole('heading', { name: 'No accesses yet' }).waitFor();
  await everywhere(page, 'overview-empty');
});

inBrowser('the first view is small', server, async ({ page }) => {
  const traffic = await countTraffic(page);
  const readyAfter = await timeFirstView(page);
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  const milliseconds = Math.round(await readyAfter());
  const { nRequests, nBytes } = traffic;
  // The time is printed, not asserted: it depends on the machine's load.
  console.log(`first view: ${nRequests} requests, ${nBytes} bytes, ready after ${milliseconds} ms`);
  assert.ok(nBytes > 0 && nBytes <= MOST_BYTES, `${nBytes} bytes`);
  assert.ok(nRequests <= MOST_REQUESTS, `${nRequests} requests`);
});

inBrowser('the page preloads the modules of the first view', server, async ({ page }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  // Without a preload, the browser finds a module only after it has loaded the importing one.
  const { named, loaded } = await page.evaluate(() => {
    const isModule = (/** @type {string} */ it) => it.endsWith('.js');
    const links = document.querySelectorAll('link[rel="modulepreload"], script[type="module"]');
    return {
      named: [...links].map((it) => it.getAttribute('href') ?? it.getAttribute('src')).sort(),
      loaded: performance
        .getEntriesByType('resource')
        .map((it) => new URL(it.name).pathname.replace('/-/console/', ''))
        .filter(isModule)
        .sort(),
    };
  });
  assert.deepEqual(loaded, named);
});
