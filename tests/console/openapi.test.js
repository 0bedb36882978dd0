// The console uses the public API only: each of its requests is an operation of the OpenAPI document.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { openView, pasteToken, signOut, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;
const FILES = '/-/console/';

const description = await (await fetch(`${server.url}/-/openapi.json`)).json();

/**
 * An operation, with the pattern of its path and its parameters.
 *
 * @typedef {{ name: string, method: string, path: RegExp, parameters: Set<string> }} Operation
 */

/** @type {Operation[]} */
const OPERATIONS = Object.entries(description.paths).flatMap(([path, item]) =>
  Object.entries(/** @type {Record<string, any>} */ (item)).map(([method, { parameters = [] }]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    parameters: new Set(parameters.map((/** @type {any} */ it) => `${it.in} ${it.name.toLowerCase()}`)),
  })),
);

/** Headers that every browser request may have. */
const USUAL =
  /^(accept|accept-encoding|accept-language|authorization|cache-control|connection|content-.*|host|origin|pragma|priority|referer|sec-.*|user-agent)$/;

/**
 * The operation of a request; a literal path segment wins over a parameter.
 *
 * @param {string} method
 * @param {string} path
 */
function operationOf(method, path) {
  const fitting = OPERATIONS.filter((it) => it.method === method && it.path.test(path));
  const nVariables = (/** @type {{ name: string }} */ { name }) => name.split('{').length;
  return fitting.sort((a, b) => nVariables(a) - nVariables(b))[0];
}

/**
 * The parts of a request that the document doesn't describe.
 *
 * @param {import('playwright-core').Request} request
 */
function undescribed(request) {
  const { pathname, searchParams } = new URL(request.url());
  const operation = operationOf(request.method(), pathname);
  if (!operation) return [`${request.method()} ${pathname}`];
  // The operator of a filter is not part of the parameter's name.
  const queries = [...searchParams.keys()].map((it) => `query ${it.toLowerCase().replace(/[<>]$/, '')}`);
  const headers = Object.keys(request.headers())
    .filter((it) => !USUAL.test(it))
    .map((it) => `header ${it}`);
  return [...queries, ...headers].filter((it) => !operation.parameters.has(it)).map((it) => `${operation.name}: ${it}`);
}

test('requests are matched to operations', () => {
  assert.equal(operationOf('GET', '/demo/access/batch')?.name, 'GET /{tenantName}/access/batch');
  assert.equal(operationOf('GET', '/demo/access/01a1')?.name, 'GET /{tenantName}/access/{accessId}');
  assert.equal(operationOf('DELETE', '/demo/access/01a1')?.name, undefined);
  assert.equal(operationOf('GET', '/-/console-data')?.name, undefined);
  assert.equal(operationOf('GET', '/demo/access/01a1/secret')?.name, undefined);
});

inBrowser('every request of the console is in the OpenAPI document', server, async ({ page, watch }) => {
  watch.announce(401, '/demo/verify');
  /** @type {Set<string>} */
  const asked = new Set();
  /** @type {Set<string>} */
  const unknown = new Set();
  page.on('request', (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin !== server.url || pathname.startsWith(FILES)) return;
    for (const it of undescribed(request)) unknown.add(it);
    asked.add(operationOf(request.method(), pathname)?.name ?? '');
  });

  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' });

  await openView(page, 'demo/accesses/new', 'accesses/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Open the access' }).click();
  await untilReady(page, 'accesses/id');
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('the next check refuses its device').first().waitFor();
  await openView(page, 'demo/accesses?filter=contractId%3DC-PAYG&sort=-createdAt', 'accesses');
  await page.getByRole('table').waitFor();
  await page.getByRole('combobox', { name: 'Find an access' }).fill('u-');
  await page.getByText('1 access found.').first().waitFor();

  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('How many').fill('3');
  await page.getByRole('button', { name: 'Send the batch' }).click();
  await untilReady(page, 'batches/id');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  await download.path();
  const [id] = (await api.get('/demo/access?pageSize=1&pageNumber=2')).map((/** @type {any} */ it) => it.id);
  await openView(page, 'demo/batches/new?kind=end', 'batches/new');
  await page.getByLabel('Access IDs').fill(id);
  await page.getByRole('button', { name: 'Send the batch' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Terminate/ })
    .click();
  await untilReady(page, 'batches/id');
  const slow = await api.beginSlowly('described');
  await openView(page, `demo/batches/${slow}`, 'batches/id');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Stop the batch' }).click();
  await page.getByText('Stopped').waitFor();
  await openView(page, 'demo/batches', 'batches');
  await page.getByRole('table').waitFor();

  await openView(page, 'demo/connections?filter=platform%3DALPHA', 'connections');
  const product = await page.getByRole('rowheader').getByRole('link').first().innerText();
  await openView(page, `demo/connections/find?numbers=${product}`, 'connections/find');
  await page.getByRole('heading', { name: 'Found (1)' }).waitFor();
  await openView(page, `demo/connections/${product}`, 'connections/id');
  await openView(page, 'demo/contracts', 'contracts');
  await openView(page, 'demo/check', 'check');
  await page.getByLabel('Username').fill('absent');
  await page.getByLabel('Password').fill('nothing');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('heading', { name: 'Refused' }).waitFor();
  const conditions = 'eventType=TokenIssueEvent&subject=demo&from=2026-01-01T00:00:00Z&before=2126-01-01T00:00:00Z';
  await openView(page, `demo/audit?${conditions}`, 'audit');

  await openView(page, 'demo/hubs', 'hubs');
  await openView(page, 'demo/hubs/new', 'hubs/new');
  await page.getByLabel('Callback').fill('https://crm.example.com/events');
  await page.getByLabel('State of a batch changed').check();
  await page.getByRole('button', { name: 'Create' }).click();
  const letter = { eventNumber: 1, attempts: 9, since: '2026-11-15T09:59:12Z', error: 'the subscriber answered 500' };
  await page.route('**/deadLetter?*', (route) => route.fulfill({ json: [letter] }));
  await page.getByRole('link', { name: 'Open the hub' }).click();
  await untilReady(page, 'hubs/id');
  await page.getByRole('button', { name: 'Send again: event 1' }).click();
  await page.getByRole('main').getByText('None of these events is a dead letter any more.').waitFor();
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByRole('heading', { name: 'The secret is shown only once' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the hub' }).click();
  await page.getByRole('main').getByText('The hub is deleted.').waitFor();

  await signOut(page);
  await page.evaluate(() => localStorage.clear());
  await pasteToken(page, await server.makeToken(['*'], 'admin access:read'));
  await untilReady(page, 'tenant');
  await openView(page, 'demo/audit/estate', 'audit/estate');

  assert.deepEqual([...unknown], []);
  // The walk has used every operation of the console.
  assert.deepEqual([...asked].sort(), [
    'DELETE /{tenantName}/access/batch/{taskId}',
    'DELETE /{tenantName}/hub/{hubId}',
    'GET /-/admin/audit',
    'GET /-/admin/tenants',
    'GET /-/admin/tenants/{tenantName}',
    'GET /-/admin/tenants/{tenantName}/audit',
    'GET /-/me',
    'GET /-/sign-in',
    'GET /{tenantName}/access',
    'GET /{tenantName}/access/batch',
    'GET /{tenantName}/access/batch/{taskId}',
    'GET /{tenantName}/access/batch/{taskId}/items',
    'GET /{tenantName}/access/batch/{taskId}/progress',
    'GET /{tenantName}/access/{accessId}',
    'GET /{tenantName}/access/{accessId}/event',
    'GET /{tenantName}/account',
    'GET /{tenantName}/contract',
    'GET /{tenantName}/hub',
    'GET /{tenantName}/hub/{hubId}',
    'GET /{tenantName}/hub/{hubId}/deadLetter',
    'GET /{tenantName}/hub/{hubId}/delivery',
    'GET /{tenantName}/product',
    'GET /{tenantName}/product/{productId}',
    'GET /{tenantName}/search',
    'GET /{tenantName}/summary',
    'PATCH /{tenantName}/access/{accessId}',
    'PATCH /{tenantName}/hub/{hubId}',
    'POST /{tenantName}/access',
    'POST /{tenantName}/access/batch',
    'POST /{tenantName}/access/batchUpdate',
    'POST /{tenantName}/hub',
    'POST /{tenantName}/hub/{hubId}/replay',
    'POST /{tenantName}/product/find',
    'POST /{tenantName}/verify',
  ]);
});
