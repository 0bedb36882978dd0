// The overview: empty, and with figures that match the API.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, openView, untilReady } from './views.js';

const server = await startDemo();
const { api } = server;

/** The console's word for each status, in its order. */
const WORDS = /** @type {const} */ ([
  ['PENDING_ACTIVE', 'Pending'],
  ['ACTIVE', 'Active'],
  ['SUSPENDED', 'Suspended'],
  ['PENDING_TERMINATE', 'Ending'],
  ['TERMINATED', 'Terminated'],
]);

inBrowser('an empty overview says what to do, and updates itself', server, async ({ page }) => {
  await openView(page, 'demo/overview', 'overview');
  await page.getByRole('heading', { name: 'No accesses yet' }).waitFor();
  await page.getByText('No batch was sent yet').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Create many' }).count(), 1);
  await api.createAccess();
  await page.getByRole('heading', { name: '1 access' }).waitFor();
  await page.getByRole('link', { name: 'C-PAYG' }).waitFor();
});

inBrowser('the figures match the summary', server, async ({ page }) => {
  const { accesses } = await api.createMany({ numberOfAccesses: 1200 });
  await api.createMany({ contractId: 'C-PRE', numberOfAccesses: 30 });
  await api.changeAccess(accesses[0].id, { status: 'SUSPENDED' });
  await api.changeAccess(accesses[1].id, { status: 'TERMINATED' });
  const ends = { operationType: 'terminate', operationBody: {}, accessesIdList: [accesses[2].id, accesses[3].id] };
  const { id } = await api.ask('POST', '/demo/access/batchUpdate', ends);
  await api.untilOver(id);
  const summary = await api.get('/demo/summary');

  await openView(page, 'demo/overview', 'overview');
  await page.getByRole('heading', { name: '1,231 accesses' }).waitFor();
  const number = (/** @type {number} */ n) => n.toLocaleString('en-GB');
  const byStatus = await cellsOf(page, 'Accesses by status');
  assert.deepEqual(
    byStatus.map(([word, n]) => [word, n]),
    WORDS.map(([status, word]) => [word, number(summary.byStatus[status])]),
  );
  const sum = (/** @type {Record<string, number>} */ all) => Object.values(all).reduce((one, other) => one + other, 0);
  const byContract = await cellsOf(page, 'Accesses by contract and status');
  assert.deepEqual(
    byContract.map((cells) => cells.slice(0, 7)),
    summary.byContract.map((/** @type {any} */ it) => [
      it.contractId,
      number(sum(it.byStatus)),
      ...WORDS.map(([status]) => number(it.byStatus[status])),
    ]),
  );

  // The chart's label has the totals for screen readers.
  const chart = page.getByRole('img', { name: /^Created and ended on each day/ });
  assert.match(String(await chart.getAttribute('aria-label')), /: 1,231 created, 1 ended\.$/);
  await page.getByText('Numbers as a table').click();
  const [[, created, ended]] = await cellsOf(page, 'Created and ended on each day, newest first');
  assert.deepEqual([created, ended], ['1,231', '1']);

  await page.getByRole('link', { name: 'C-PRE' }).click();
  await untilReady(page, 'accesses');
  assert.equal(new URL(page.url()).hash, '#/demo/accesses?filter=contractId%3DC-PRE');
  await page.getByText('30 accesses').waitFor();
});

inBrowser('a running batch shows its progress', server, async ({ page }) => {
  const id = await api.beginSlowly('overview');
  try {
    await openView(page, 'demo/overview', 'overview');
    const running = page.getByRole('region', { name: 'Running batches' });
    await running.getByText(/^\d+ of 5,000$/).waitFor();
    const bar = running.getByRole('progressbar');
    const far = Number(await bar.getAttribute('value'));
    // Polling updates the progress.
    await page.waitForFunction((before) => Number(document.querySelector('progress')?.value) > before, far);
    await running.getByRole('link', { name: 'Creation' }).click();
    await untilReady(page, 'batches/id');
    assert.equal(new URL(page.url()).hash, `#/demo/batches/${id}`);
  } finally {
    await api.stop(id);
  }
  await openView(page, 'demo/overview', 'overview');
  await page.getByText('No batch is running.').waitFor();
});

inBrowser('the health of platforms is known once connections were listed', server, async ({ page }) => {
  await openView(page, 'demo/overview', 'overview');
  const caption = /^Accounts at platforms/;
  assert.deepEqual(
    (await cellsOf(page, caption)).map((cells) => cells.slice(0, 4)),
    [
      ['acme-eu', 'ALPHA', 'Not checked yet', '—'],
      ['acme-us', 'ALPHA', 'Not checked yet', '—'],
      ['trucks', 'BETA', 'Not checked yet', '—'],
      ['ships', 'GAMMA', 'Not checked yet', '—'],
    ],
  );
  await api.get('/demo/product?pageSize=8&pageNumber=1');
  // Polling updates the health.
  await page.getByRole('region', { name: 'Platforms' }).getByText('Up', { exact: true }).nth(3).waitFor();
  const accounts = await cellsOf(page, caption);
  for (const [name, , health, latency] of accounts) {
    assert.equal(health, 'Up', name);
    assert.match(latency, /^(< 1|[\d,]+) ms$/, name);
  }
});
