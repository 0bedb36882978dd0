// A server with a small page size limit.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, openView } from './views.js';

const server = await startDemo(`
[limits]
page_size_max = 10

[events]
callback_networks = ["127.0.0.0/8"]
callback_retry_for = "1s"
`);
const api = server.api;

/** Nothing listens here. */
const CLOSED = 'http://127.0.0.1:9/';

/** Milliseconds between two looks at a hub. */
const BETWEEN = 50;

inBrowser('the console respects the server’s page size limit', server, async ({ page, watch }) => {
  // The console learns the limit from a refusal.
  watch.announce(400, /^\/demo\//);
  const { id: hub } = await api.ask('POST', '/demo/hub', { callback: CLOSED, query: 'eventType=AccessCreateEvent' });
  const batch = await api.createMany({ numberOfAccesses: 24 });
  await openView(page, 'demo/overview', 'overview');
  await page.getByRole('heading', { name: '24 accesses' }).waitFor();
  assert.equal((await cellsOf(page, /^Accounts at platforms/)).length, 4);
  await openView(page, 'demo/accesses?page=3', 'accesses');
  assert.equal((await cellsOf(page, /^Accesses/)).length, 4);
  const sizes = await page.getByRole('combobox', { name: 'Rows per page' }).locator('option').allInnerTexts();
  assert.deepEqual(sizes, ['10 per page']);
  await openView(page, 'demo/batches', 'batches');
  assert.equal((await cellsOf(page, /^Batches/)).length, 1);
  await openView(page, `demo/batches/${batch.id}`, 'batches/id');
  assert.equal((await cellsOf(page, /^Accesses that the batch created/)).length, 10);
  await openView(page, 'demo/connections', 'connections');
  assert.ok((await cellsOf(page, /^Connections/)).length > 0);
  await openView(page, 'demo/batches/new', 'batches/new');
  assert.ok((await page.getByLabel('Contract').locator('option').count()) > 1);
  const [{ id }] = batch.accesses;
  for (let n = 0; n < 12; n += 1) await api.changeAccess(id, { labels: { round: `${n}` } });
  await api.untilRecorded(id, 10);
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await page.getByRole('button', { name: /^Show older changes/ }).click();
  await page.getByRole('rowheader', { name: 'Created' }).waitFor();
  const contract = { productOfferingId: 'PO', billingModel: 'PAY_PER_USE' };
  for (let n = 1; n <= 12; n += 1) {
    await api.ask('PUT', '/-/admin/tenants/demo/contracts/C-1', { ...contract, maxAccesses: n });
  }
  await openView(page, 'demo/audit', 'audit');
  await page.getByRole('rowheader', { name: 'Tenant demo created' }).waitFor();
  while ((await api.get(`/demo/hub/${hub}`)).deadLetters < 24) await pause(BETWEEN);
  await openView(page, `demo/hubs/${hub}`, 'hubs/id');
  assert.equal((await cellsOf(page, /^Dead letters/)).length, 24);
});
