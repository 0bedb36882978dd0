// Finding an access while typing the beginning of its username, name or ID.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { everywhere } from './everywhere.js';
import { choose, focusIsOn, tabTo } from './keys.js';
import { startDemo } from './server.js';
import { leadsTo, openView, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;

const EXACT = await api.createAccess({ username: 'pump', deviceName: 'Hall pump' });
await api.createMany({ accesses: Array.from({ length: 60 }, (_, n) => ({ username: `pump-${n}` })) });
const METER = await api.createAccess({ username: 'u-meter', deviceName: 'Meter <b>12</b>' });

/** @param {Page} page */
const box = (page) => page.getByRole('combobox', { name: 'Find an access' });

/** @param {Page} page */
const options = (page) => page.getByRole('listbox', { name: 'Find an access' }).getByRole('option');

/** The option that a screen reader reads. @param {Page} page */
const activeOption = (page) =>
  box(page).evaluate((it) => document.getElementById(it.getAttribute('aria-activedescendant') ?? '')?.innerText);

/** Opens the list of accesses. @param {Page} page */
const openList = (page) => openView(page, 'demo/accesses', 'accesses');

inBrowser('an access is found by its username, its name and its ID', server, async ({ page }) => {
  for (const text of ['U-MET', 'meter <B>', METER.id.slice(0, 36).toUpperCase()]) {
    await openList(page);
    await box(page).fill(text);
    await page.getByText('1 access found.').first().waitFor();
    assert.match(await options(page).innerText(), /^Meter <b>12<\/b> u-meter\s+Active$/);
    await leadsTo(page, 'accesses/id', () => options(page).click());
    assert.equal(new URL(page.url()).hash, `#/demo/accesses/${METER.id}`);
  }
});

inBrowser('an access is found by keyboard', server, async ({ page }) => {
  await openList(page);
  await tabTo(page, 'Find an access');
  await page.keyboard.type('pum');
  await page.getByText('The first 50 accesses.').first().waitFor();
  assert.equal(await options(page).count(), 50);
  assert.equal(await box(page).getAttribute('aria-expanded'), 'true');
  assert.equal(await activeOption(page), undefined);
  // Enter doesn't choose among several: it moves to the first.
  await page.keyboard.press('Enter');
  const first = await options(page).first().innerText();
  assert.equal(await activeOption(page), first);
  await page.keyboard.press('ArrowDown');
  assert.equal(await activeOption(page), await options(page).nth(1).innerText());
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  assert.equal(await activeOption(page), undefined);
  await page.keyboard.press('ArrowUp');
  assert.equal(await activeOption(page), await options(page).last().innerText());
  await focusIsOn(page, 'Find an access');

  await page.keyboard.press('Escape');
  assert.equal(await box(page).getAttribute('aria-expanded'), 'false');
  assert.equal(await options(page).first().isVisible(), false);
  assert.equal(await box(page).inputValue(), 'pum');
  await page.keyboard.press('ArrowDown');
  assert.equal(await activeOption(page), first);
  await page.keyboard.press('Tab');
  assert.equal(await options(page).first().isVisible(), false);
});

inBrowser('Enter opens the access that is exactly meant', server, async ({ page }) => {
  await openList(page);
  await box(page).fill('PUMP');
  // The options of this text aren't loaded yet.
  await leadsTo(page, 'accesses/id', () => box(page).press('Enter'));
  assert.equal(new URL(page.url()).hash, `#/demo/accesses/${EXACT.id}`);
  await openList(page);
  await tabTo(page, 'Find an access');
  await page.keyboard.type('u-met');
  await page.keyboard.press('Enter');
  await untilReady(page, 'accesses/id');
  await focusIsOn(page, 'Meter <b>12</b>');
  await choose(page, 'Accesses');
  await untilReady(page, 'accesses');
  assert.equal(await box(page).inputValue(), '');
});

inBrowser('a search without a result, and one that fails, say so', server, async ({ page, watch }) => {
  watch.announce(503, '/demo/search');
  await openList(page);
  await box(page).fill('absent');
  await page.getByText('No username, name or ID begins with “absent”.').first().waitFor();
  assert.equal(await options(page).count(), 0);
  await page.route('**/demo/search*', (route) => route.fulfill({ status: 503, json: { title: 'Too busy' } }), {
    times: 1,
  });
  await box(page).fill('pump');
  await page.getByText('Too busy').first().waitFor();
  await box(page).fill('pump-1');
  await page.getByText('11 accesses found.').first().waitFor();
});

inBrowser('a late response doesn’t replace the options of a newer text', server, async ({ page }) => {
  await openList(page);
  let release = () => {};
  const isReleased = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  await page.route(
    '**/demo/search*',
    async (route) => {
      await isReleased;
      await route.continue().catch(() => {});
    },
    { times: 1 },
  );
  const asked = page.waitForRequest('**/demo/search*');
  await box(page).fill('pump');
  await asked;
  await box(page).fill('u-meter');
  await page.getByText('1 access found.').first().waitFor();
  release();
  assert.equal(await options(page).count(), 1);
});

inBrowser('the options can be used everywhere', server, async ({ page }) => {
  await openList(page);
  await box(page).fill('pump');
  await page.getByText('The first 50 accesses.').first().waitFor();
  await page.keyboard.press('ArrowDown');
  await everywhere(page, 'find-access');
  await box(page).fill('absent');
  await page.getByText('No username').first().waitFor();
  await everywhere(page, 'find-access-nothing');
});
