// Addresses: every view has one that can be shared, bookmarked, reloaded and returned to.

import assert from 'node:assert/strict';

import { inBrowser, openContext } from './browser.js';
import { startDemo } from './server.js';
import { leadsTo, openView, untilReady } from './views.js';
import { Watch } from './watch.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;

const BATCH = await api.createMany({ numberOfAccesses: 60 });
const [ACCESS] = BATCH.accesses;
const { entities } = await api.get('/demo/product?pageSize=4&pageNumber=1');
const PRODUCT = entities[0].id;
/** A hub that gets no event, as no journal begins during the tests. */
const HUB = await server.api.ask('POST', '/demo/hub', {
  callback: 'https://crm.example.com/events',
  query: 'eventType=JournalStartEvent',
});
const FILTER = encodeURIComponent(`createdBy=${BATCH.id}`);

/** Every view: an address with parameters, the view's name, and a text that it then shows. @type {[string, string, string][]} */
const ADDRESSES = [
  ['overview', 'overview', '60 accesses'],
  [`accesses?filter=${FILTER}&size=25&page=3`, 'accesses', BATCH.accesses[59].name],
  ['accesses/new?contract=C-PRE', 'accesses/new', 'Create an access'],
  [`accesses/${ACCESS.id}`, 'accesses/id', ACCESS.username],
  ['batches?size=50', 'batches', 'Creation'],
  ['batches/new?kind=end', 'batches/new', 'Access IDs'],
  [`batches/${BATCH.id}?page=3`, 'batches/id', BATCH.accesses[59].name],
  ['connections?filter=platform%3DGAMMA&size=25&page=2', 'connections', 'Satellite terminal'],
  [`connections/find?numbers=${PRODUCT}+ALPHA-nowhere`, 'connections/find', 'Not found (1)'],
  [`connections/${PRODUCT}`, 'connections/id', PRODUCT],
  ['contracts?size=100', 'contracts', 'PO-IOT-YEAR'],
  ['check', 'check', 'Check a device’s credentials'],
  ['hubs', 'hubs', HUB.callback],
  ['hubs/new', 'hubs/new', 'New hub'],
  [`hubs/${HUB.id}`, 'hubs/id', HUB.id],
  ['audit?eventType=ContractCreateEvent&to=3', 'audit', 'Contract C-PRE created'],
];

/** All texts and inputs of a view that has loaded. @param {Page} page @param {string} text */
async function wordsOf(page, text) {
  const main = page.getByRole('main');
  await main.getByText(text).first().waitFor();
  await main.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  const fields = await main
    .locator('input, select, textarea')
    .evaluateAll((all) => all.map((it) => /** @type {HTMLInputElement} */ (it).value));
  return [await page.title(), await main.innerText(), ...fields].join('\n');
}

inBrowser('a shared address shows the same view', server, async ({ page }) => {
  const context = await openContext(server);
  const watch = new Watch(context, [server.url]);
  try {
    for (const [route, view, text] of ADDRESSES) {
      await openView(page, `demo/${route}`, view);
      const words = await wordsOf(page, text);
      // In a new tab, like a link from a mail.
      const other = await context.newPage();
      await other.goto(page.url());
      await untilReady(other, view);
      assert.equal(await wordsOf(other, text), words, route);
      assert.equal(other.url(), page.url());
      await other.close();
    }
  } finally {
    await context.close();
  }
  assert.deepEqual(watch.complaints(), []);
});

inBrowser('a reload keeps the view', server, async ({ page }) => {
  const [, [route, view, text]] = ADDRESSES;
  await openView(page, `demo/${route}`, view);
  const words = await wordsOf(page, text);
  await leadsTo(page, view, () => page.reload());
  assert.equal(await wordsOf(page, text), words);
});

inBrowser('back and forward lead through the views that were open', server, async ({ page }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  const follow = (/** @type {string} */ name, /** @type {string} */ view) =>
    leadsTo(page, view, () => page.getByRole('link', { name, exact: true }).first().click());
  await follow('Accesses', 'accesses');
  await follow('Next page', 'accesses');
  await follow(BATCH.accesses[50].name, 'accesses/id');
  await follow('C-PAYG', 'accesses');
  await follow('Check', 'check');
  /** @type {[string, string, string][]} */
  const steps = [
    ['accesses', '#/demo/accesses?filter=contractId%3DC-PAYG', 'Filter: contractId=C-PAYG'],
    ['accesses/id', `#/demo/accesses/${BATCH.accesses[50].id}`, BATCH.accesses[50].username],
    ['accesses', '#/demo/accesses?size=50&page=2', BATCH.accesses[50].name],
    ['accesses', '#/demo/accesses', ACCESS.name],
    ['overview', '#/demo/overview', '60 accesses'],
  ];
  for (const [view, hash, text] of steps) {
    await leadsTo(page, view, () => page.goBack());
    assert.equal(new URL(page.url()).hash, hash);
    await page.getByRole('main').getByText(text).first().waitFor();
  }
  for (const [view, hash, text] of steps.slice(0, -1).reverse()) {
    await leadsTo(page, view, () => page.goForward());
    assert.equal(new URL(page.url()).hash, hash);
    await page.getByRole('main').getByText(text).first().waitFor();
  }
});

inBrowser('an unknown address says so, and links to the start page', server, async ({ page }) => {
  for (const route of ['demo/accesss', 'demo/accesses/a/b', 'demo/%E0%A4%A', 'demo/batches//x/y']) {
    await openView(page, route, 'not-found');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  }
  await leadsTo(page, 'overview', () => page.getByRole('link', { name: 'Go to the start page' }).click());
  // Odd addresses are read as the closest valid one.
  await openView(page, 'demo', 'overview');
  await openView(page, 'demo/accesses/', 'accesses');
  await openView(page, 'demo/accesses?page=-3&size=nonsense', 'accesses');
  await page.getByText(ACCESS.name).waitFor();
  await openView(page, 'demo/batches/new?kind=nonsense', 'batches/new');
  await page.getByLabel('How many').waitFor();
});

inBrowser('the address without its slash redirects to the console', server, async ({ page }) => {
  await page.goto('/-/console#/demo/contracts');
  await untilReady(page, 'contracts');
  assert.equal(page.url(), `${server.url}/-/console/#/demo/contracts`);
});
