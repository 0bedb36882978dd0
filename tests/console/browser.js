// The browser that the tests drive, with a separate page for each test.

import { join } from 'node:path';
import { after, test } from 'node:test';

import { chromium } from 'playwright-core';

import * as environment from './environment.js';
import { Watch } from './watch.js';

/** @typedef {import('./server.js').Server} Server */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').BrowserContext} BrowserContext */

/** The time limit of a test, also on a busy machine. */
const LIMIT_MILLISECONDS = 900_000;

/** The limit of one wait within a test. */
const WAIT_LIMIT_MILLISECONDS = 180_000;

const OPTIONS = [
  // Chromium has no sandbox for root, and the tests only open the console.
  '--no-sandbox',
  '--disable-gpu',
  // Containers have little shared memory.
  '--disable-dev-shm-usage',
  // Requests that the browser sends by itself.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
];

/** @type {Promise<import('playwright-core').Browser> | undefined} */
let browser;
after(async () => (await browser)?.close());

/**
 * The arguments of a test.
 *
 * @typedef {object} Visit
 * @property {Page} page
 * @property {BrowserContext} context
 * @property {Watch} watch The test announces the failures that it expects here.
 */

/**
 * Runs a test with a fresh browser profile. The test fails for every failure on the page that it hasn't announced.
 *
 * @param {string} sentence
 * @param {Server} server
 * @param {(visit: Visit) => Promise<void>} body
 * @param {string[]} origins Other origins that the page may call.
 */
export function inBrowser(sentence, server, body, origins = []) {
  test(sentence, { timeout: LIMIT_MILLISECONDS }, async () => {
    const context = await openContext(server);
    const watch = new Watch(context, [server.url, ...origins]);
    const page = await context.newPage();
    const logged = server.log().length;
    try {
      await body({ page, context, watch });
      // After this round trip, all earlier messages of the page have arrived.
      await page.evaluate(() => document.readyState);
      const complaints = watch.complaints();
      if (complaints.length) throw new Error(complaints.join('\n'));
    } catch (failure) {
      await explain(sentence, page, watch);
      console.error(`the server has said meanwhile:\n${server.log().slice(logged)}`);
      throw failure;
    } finally {
      await context.close();
    }
  });
}

/**
 * Opens a fresh browser profile, without a watch.
 *
 * @param {Server} server
 * @param {import('playwright-core').BrowserContextOptions} options Options that differ from the defaults.
 */
export async function openContext(server, options = {}) {
  const timeout = WAIT_LIMIT_MILLISECONDS;
  browser ??= chromium.launch({ executablePath: environment.chromium, args: OPTIONS, timeout });
  const context = await (await browser).newContext({
    baseURL: server.url,
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...options,
  });
  context.setDefaultTimeout(timeout);
  // Chromium logs most violations itself, but not all.
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) => {
      console.error(`content security policy: ${effectiveDirective} stops ${blockedURI} ${sample}`);
    });
  });
  return context;
}

/**
 * Prints the details of a failed test, and takes a screenshot.
 *
 * @param {string} sentence
 * @param {Page} page
 * @param {Watch} watch
 */
async function explain(sentence, page, watch) {
  const name = `failed-${sentence.replace(/\W+/g, '-')}.png`;
  const path = join(environment.screenshots, name);
  const picture = await page.screenshot({ path }).then(
    () => path,
    (cause) => `none: ${cause.message}`,
  );
  const complaints = watch.complaints().join('\n  ') || 'nothing';
  console.error(`"${sentence}" has failed at ${page.url()}\npicture: ${picture}\ngone wrong:\n  ${complaints}`);
}
