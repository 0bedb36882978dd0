// The browser that the tests drive, and the page that each of them has to itself.

import { join } from 'node:path';
import { after, test } from 'node:test';

import { chromium } from 'playwright-core';

import * as environment from './environment.js';
import { Watch } from './watch.js';

/** @typedef {import('./server.js').Server} Server */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').BrowserContext} BrowserContext */

/** A test that takes longer than this hangs, however busy the machine is. */
const LIMIT_MILLISECONDS = 900_000;

/** The limit of one wait within a test. */
const WAIT_LIMIT_MILLISECONDS = 180_000;

const OPTIONS = [
  // There is no sandbox for root, and nothing is opened here but our own pages.
  '--no-sandbox',
  '--disable-gpu',
  // Containers have little of it.
  '--disable-dev-shm-usage',
  // What a browser asks for on its own account.
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
 * What a test is given.
 *
 * @typedef {object} Visit
 * @property {Page} page
 * @property {BrowserContext} context
 * @property {Watch} watch What it expects to go wrong is announced here.
 */

/**
 * A test with a fresh profile of the browser, which fails when anything goes wrong that it hasn't announced.
 *
 * @param {string} sentence
 * @param {Server} server
 * @param {(visit: Visit) => Promise<void>} body
 * @param {string[]} origins Who else may be asked.
 */
export function inBrowser(sentence, server, body, origins = []) {
  test(sentence, { timeout: LIMIT_MILLISECONDS }, async () => {
    const context = await openContext(server);
    const watch = new Watch(context, [server.url, ...origins]);
    const page = await context.newPage();
    const logged = server.log().length;
    try {
      await body({ page, context, watch });
      // What the page has said before this answer has been heard after it.
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
 * A fresh profile of the browser, which nobody watches yet.
 *
 * @param {Server} server
 * @param {import('playwright-core').BrowserContextOptions} options Where it differs from the others.
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
  // Chromium tells of most violations itself, but not of all.
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) => {
      console.error(`content security policy: ${effectiveDirective} stops ${blockedURI} ${sample}`);
    });
  });
  return context;
}

/**
 * Shows what people need who want to know why a test has failed.
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
