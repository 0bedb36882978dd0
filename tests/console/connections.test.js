// Connections: the list over all platforms, the search by numbers, and one connection in detail; also with platforms that
// fail.

import assert from 'node:assert/strict';

import { Api } from './api.js';
import { inBrowser } from './browser.js';
import { makeFailingTenant, tokenForFailingTenant } from './failing_tenant.js';
import { startDemo } from './server.js';
import { cellsOf, factsOf, leadsTo, openView, signInWith, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;
await makeFailingTenant(server);
const token = await tokenForFailingTenant(server);
const failing = new Api(server.url, token);

const CAPTION = 'Connections, by platform and account';

/** The connections on a page of the API. @param {string} query @returns {Promise<any[]>} */
const productsOf = async (query) => (await api.get(`/demo/product?${query}`)).entities;

/** The value of a characteristic. @param {any} product @param {string} name @returns {string} */
const numberOf = (product, name) =>
  product.productCharacteristic.find((/** @type {any} */ it) => it.name === name)?.value;

/** @param {any[]} products */
const idsOf = (products) => products.map(({ id }) => id);

/** The connections in a table. @param {Page} page @param {string} caption */
const listed = async (page, caption = CAPTION) => {
  const table = page.getByRole('table', { name: caption });
  await table.waitFor();
  return table.getByRole('rowheader').getByRole('link').allInnerTexts();
};

/** @param {Page} page @param {string} title */
const problems = (page, title) => page.getByRole('region', { name: title }).getByRole('listitem');

inBrowser('the connections of all platforms are one list, page by page', server, async ({ page }) => {
  const [first, second] = await Promise.all([1, 2].map((n) => productsOf(`pageSize=25&pageNumber=${n}`)));
  await openView(page, 'demo/connections?size=25', 'connections');
  assert.deepEqual(await listed(page), idsOf(first));
  assert.equal(new Set(first.map((it) => numberOf(it, 'PLATFORM'))).size, 3);
  const [[connection, status, account, numbers]] = await cellsOf(page, CAPTION);
  assert.equal(connection, `${first[0].id}\nSIM`);
  assert.equal(status, 'Active');
  assert.equal(account, 'acme-eu\nat ALPHA');
  assert.equal(
    numbers.replaceAll('\n', ' '),
    `ICCID ${numberOf(first[0], 'ICCID')} MSISDN ${numberOf(first[0], 'MSISDN')}`,
  );

  await leadsTo(page, 'connections', () => page.getByRole('link', { name: 'Next page' }).click());
  assert.deepEqual(await listed(page), idsOf(second));
  await leadsTo(page, 'connections', () => page.getByRole('link', { name: 'Previous page' }).click());
  assert.deepEqual(await listed(page), idsOf(first));
  // The list has no known end; a page after it says so.
  await openView(page, 'demo/connections?size=25&page=5000', 'connections');
  await page.getByText('This page is empty').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Next page' }).count(), 0);
  await leadsTo(page, 'connections', () =>
    page.getByRole('link', { name: 'Go to the first page', exact: true }).click(),
  );
  assert.deepEqual(await listed(page), idsOf(first));
});

inBrowser('connections are filtered by known values', server, async ({ page }) => {
  await openView(page, 'demo/connections?size=25', 'connections');
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  const value = page.getByLabel('Condition 1.1: Platform');
  const offered = await value.evaluate((it) =>
    [.../** @type {HTMLDataListElement} */ (/** @type {HTMLInputElement} */ (it).list).options].map((one) => one.value),
  );
  assert.deepEqual(offered, ['ALPHA', 'BETA', 'GAMMA']);
  await value.fill('GAMMA');
  await leadsTo(page, 'connections', () => page.getByRole('button', { name: 'Apply' }).click());
  assert.deepEqual(await listed(page), idsOf(await productsOf('platform=GAMMA&pageSize=25&pageNumber=1')));
  await page.getByText('Satellite terminal').first().waitFor();

  const [sim] = await productsOf('platform=BETA&pageSize=1&pageNumber=1');
  const written = page.getByLabel('As an expression');
  await written.fill(`ICCID=${numberOf(sim, 'ICCID')}`);
  await leadsTo(page, 'connections', () => written.press('Enter'));
  assert.deepEqual(await listed(page), [sim.id]);

  await openView(page, 'demo/connections?filter=ICCID%3D8900000000000000000', 'connections');
  await page.getByText('No connection on this page matches the filter').waitFor();
  await leadsTo(page, 'connections', () => page.getByRole('link', { name: 'Show all' }).click());
  await listed(page);
  await openView(page, 'demo/connections?filter=colour%3Dred', 'connections');
  await page.getByRole('heading', { name: 'Invalid filter' }).waitFor();
  assert.equal(await page.getByRole('table').count(), 0);
});

inBrowser('failed accounts are shown beside the results of the others', server, async ({ page }) => {
  await signInWith(page, token, 'failing/connections', 'connections');
  const { entities } = await failing.get('/failing/product?pageSize=50&pageNumber=1');
  assert.ok(entities.length > 0);
  assert.deepEqual(await listed(page), idsOf(entities));
  const told = problems(page, 'Incomplete results from 2 accounts');
  await told.first().waitFor();
  const [gone, keyless] = (await told.allInnerTexts()).sort();
  assert.match(gone, /^gone at GAMMA: .*can't be reached/s);
  assert.match(keyless, /^keyless at BETA: .*answered 401/s);
  await told.getByText('Response of the platform').click();
  await told.getByText(/^\{"status":401.*a token is needed/).waitFor();
  // Incomplete results don't end the list.
  await page.getByRole('link', { name: 'Next page' }).waitFor();

  await openView(page, 'failing/connections?filter=platform%3DBETA', 'connections');
  await problems(page, 'Incomplete results from 1 account').waitFor();
  assert.equal(await page.getByRole('table').count(), 0);
  await openView(page, 'failing/connections?filter=platform%3DALPHA', 'connections');
  assert.ok((await listed(page)).length > 0);
  assert.equal(await page.getByRole('heading', { name: /Incomplete results/ }).count(), 0);
  // The overview now shows the health of the accounts.
  await openView(page, 'failing/overview', 'overview');
  const accounts = await cellsOf(page, /^Accounts at platforms/);
  assert.deepEqual(
    accounts.map(([name, , health]) => [name, health]),
    [
      ['fine', 'Up'],
      ['keyless', 'Down'],
      ['gone', 'Down'],
    ],
  );
});

/** @param {Page} page @param {string} numbers */
async function find(page, numbers) {
  await page.getByLabel('Numbers').fill(numbers);
  await page.getByRole('button', { name: 'Find', exact: true }).click();
}

/** The numbers in a group of results. @param {Page} page @param {string} title */
async function group(page, title) {
  const tokens = page.getByRole('region', { name: title }).getByRole('listitem').locator('code');
  await tokens.first().waitFor();
  return tokens.allInnerTexts();
}

inBrowser('connections are found by each kind of number', server, async ({ page, context }) => {
  const products = await productsOf('pageSize=8&pageNumber=1');
  const [alpha, other] = products.filter((it) => numberOf(it, 'PLATFORM') === 'ALPHA' && numberOf(it, 'MSISDN'));
  const beta = products.find((it) => numberOf(it, 'PLATFORM') === 'BETA');
  const gamma = products.find((it) => numberOf(it, 'PLATFORM') === 'GAMMA');
  await openView(page, 'demo/connections', 'connections');
  await page.getByRole('link', { name: 'Find by numbers' }).click();
  await untilReady(page, 'connections/find');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.getByText('There is nothing to search for').waitFor();

  // BETA lists ICCIDs with their check digit; users often have them without.
  const sought = [
    numberOf(alpha, 'ICCID'),
    numberOf(alpha, 'IMSI'),
    `+${numberOf(other, 'MSISDN')}`,
    numberOf(beta, 'ICCID').slice(0, 19),
    numberOf(gamma, 'SERIAL_NUMBER'),
    beta.id,
  ];
  const missing = ['8949000000000000001', '999990000000001', 'SL-DF-0000000-00000-00', 'ALPHA-nowhere'];
  await find(page, `${sought.slice(0, 3).join('\n')}\n${sought.slice(3).join(', ')};${missing.join(' ')} nonsense! \n`);
  await page.getByRole('heading', { name: 'Found (6)', exact: true }).waitFor();
  const found = await cellsOf(page, 'Connections found, with the number searched for');
  assert.deepEqual(
    found.map(([number, connection]) => [...number.split('\n'), connection.split('\n')[0]]),
    [
      [sought[0], 'ICCID', alpha.id],
      [sought[1], 'IMSI', alpha.id],
      [sought[2], 'MSISDN', other.id],
      [sought[3], 'ICCID', beta.id],
      [sought[4], 'serial number', gamma.id],
      [sought[5], 'product ID', beta.id],
    ],
  );
  assert.deepEqual(await group(page, 'Not found (4)'), missing);
  assert.deepEqual(await group(page, 'Not recognised (1)'), ['nonsense!']);
  assert.equal(await page.getByRole('heading', { name: /Unknown/ }).count(), 0);

  // The search can be shared.
  const elsewhere = await context.newPage();
  await elsewhere.goto(page.url());
  await elsewhere.getByRole('heading', { name: 'Found (6)', exact: true }).waitFor();
  assert.deepEqual(await group(elsewhere, 'Not found (4)'), missing);
});

inBrowser('numbers of a failed account are unknown, not missing', server, async ({ page }) => {
  const { entities } = await failing.get('/failing/product?pageSize=3&pageNumber=1');
  const here = numberOf(entities[0], 'ICCID');
  await signInWith(page, token, 'failing/connections/find', 'connections/find');
  await find(page, `${here} 8949000000000000001 ALPHA-nowhere BETA-perhaps 999990000000001`);
  await page.getByRole('heading', { name: 'Found (1)', exact: true }).waitFor();
  // Only ALPHA could have this connection, and ALPHA has responded.
  assert.deepEqual(await group(page, 'Not found (1)'), ['ALPHA-nowhere']);
  assert.deepEqual(await group(page, 'Unknown (3)'), ['8949000000000000001', 'BETA-perhaps', '999990000000001']);
  assert.equal(await problems(page, 'Incomplete results from 2 accounts').count(), 2);
});

inBrowser('one connection is shown with all data of its platform', server, async ({ page, context, watch }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const products = await productsOf('pageSize=8&pageNumber=1');
  const sim = products.find((it) => it.customProperty?.length > 1 && numberOf(it, 'MSISDN'));
  await openView(page, 'demo/connections?size=25', 'connections');
  await page.getByRole('link', { name: sim.id }).click();
  await untilReady(page, 'connections/id');
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), sim.id);
  const facts = await factsOf(page, 'The connection');
  assert.equal(facts.Kind, 'SIM');
  assert.equal(facts.Platform, numberOf(sim, 'PLATFORM'));
  assert.equal(facts['Platform status'], numberOf(sim, 'PLATFORM_STATUS'));
  for (const name of ['ICCID', 'IMSI', 'MSISDN']) assert.match(facts[name], new RegExp(`^${numberOf(sim, name)}`));
  const [{ name: account }] = sim.relatedParty;
  assert.match(facts.Account, new RegExp(`^${account} \\(`));
  await page.getByRole('button', { name: 'Copy the ICCID' }).click();
  await page.getByText('Copied').first().waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), numberOf(sim, 'ICCID'));
  // A property may occur twice; the view shows both.
  const properties = page.getByRole('region', { name: 'Properties' });
  assert.deepEqual(
    await properties.locator('dd').allInnerTexts(),
    sim.customProperty.map((/** @type {any} */ it) => it.value),
  );

  await page.getByRole('link', { name: account }).click();
  await untilReady(page, 'connections');
  const accounts = (await cellsOf(page, CAPTION)).map((cells) => cells[2].split('\n')[0]);
  assert.deepEqual([...new Set(accounts)], [account]);

  watch.announce(404, '/demo/product/ALPHA-nowhere');
  await openView(page, 'demo/connections/ALPHA-nowhere', 'connections/id');
  assert.match(await page.getByRole('alert').innerText(), /ALPHA-nowhere/);
});
