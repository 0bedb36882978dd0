// The history of an access: what changed, when and by whom.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { inBrowser } from './browser.js';
import { loadModule } from './environment.js';
import { everywhere } from './everywhere.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView, signInWith } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;
const { changesOf, changeWords, labelChanges } = await loadModule('event/access_change.js');

const CAPTION = 'Changes of the access, newest first';

/** @param {Page} page */
const history = (page) => page.getByRole('region', { name: 'History' });

/** Waits until the newest change in the history has these words. @param {Page} page @param {string} words */
const untilNewest = (page, words) => history(page).locator('tbody tr:first-child th', { hasText: words }).waitFor();

/** The rows of the history, each as one text. The times are left out. @param {Page} page */
async function rowsOf(page) {
  const cells = await cellsOf(page, CAPTION);
  return cells.map(([, ...rest]) => rest.map((it) => it.replace(/\s+/g, ' ')).join(' | '));
}

inBrowser('the history says what changed, and by whom', server, async ({ page }) => {
  const credentials = { username: 'buoy-7', password: 'salt water' };
  const { id } = await api.createAccess({ contractId: 'C-PRE', labels: { site: 'hamburg' }, ...credentials });
  assert.equal(await api.letsIn(credentials), true);
  await api.changeAccess(id, { status: 'SUSPENDED' });
  await api.changeAccess(id, { status: 'ACTIVE', labels: { site: null, team: '<b>pumps</b>' } });
  await api.changeAccess(id, { rotatePassword: true });
  await api.changeAccess(id, { status: 'TERMINATED' });
  await api.untilRecorded(id, 8);

  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await untilNewest(page, 'Terminated');
  const rows = await rowsOf(page);
  const by = 'demo from 127.0.0.1';
  const time = /\d+ \w+ \d+, \d\d:\d\d/.source;
  for (const [n, pattern] of [
    `^Terminated \\| Status Active changed to Terminated Ends ${time} changed to ${time} \\| ${by}$`,
    `^New password \\|  \\| ${by}$`,
    `^Activated, labels changed \\| Status Suspended changed to Active Label site hamburg changed to none Label team none changed to <b>pumps</b> \\| ${by}$`,
    `^Suspended \\| Status Active changed to Suspended \\| ${by}$`,
    `^First connection \\| Status Pending changed to Active Starts ${time} Ends ${time} \\| Its device connected, checked by ${by}$`,
    `^Created \\| Status Pending Starts ${time} Label site hamburg \\| ${by}$`,
  ].entries()) {
    assert.match(said(rows[n]), new RegExp(pattern));
  }
  assert.equal(rows.length, 6);
  await history(page).scrollIntoViewIfNeeded();
  await everywhere(page, 'access-history', async () => history(page).scrollIntoViewIfNeeded());
});

inBrowser('a change by a batch shows what the batch has set, and leads to it', server, async ({ page }) => {
  const { id } = await api.createAccess();
  const ends = { operationType: 'terminate', operationBody: {}, accessesIdList: [id] };
  const task = await api.untilOver((await api.ask('POST', '/demo/access/batchUpdate', ends)).id);
  await api.untilRecorded(id, 2);
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await untilNewest(page, 'End planned');
  const [newest] = await rowsOf(page);
  assert.match(said(newest), /^End planned \| Status Active changed to Ending Ends no end changed to .* \| Batch of /);
  await leadsTo(page, 'batches/id', () => page.getByRole('link', { name: /^Batch of/ }).click());
  assert.ok(page.url().endsWith(task.id));
});

/** A row without the arrow that only eyes read. @param {string} row */
const said = (row) => row.replaceAll(/ ?→ ?/g, ' ').replaceAll(/ +/g, ' ').replaceAll('| |', '|  |');

inBrowser('a change on the page appears in its history', server, async ({ page }) => {
  const { id } = await api.createAccess({ deviceName: 'followed' });
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await untilNewest(page, 'Created');
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await untilNewest(page, 'Suspended');
  await page.getByRole('button', { name: 'Add labels' }).click();
  await page.getByLabel('Label 1: key').fill('site');
  await page.getByLabel('Label 1: value').fill('kiel');
  await page.getByRole('button', { name: 'Save the labels' }).click();
  await untilNewest(page, 'Labels changed');
  assert.equal((await rowsOf(page)).length, 3);
});

inBrowser('a long history shows its newest changes first, and the others on demand', server, async ({ page }) => {
  const { id } = await api.createAccess({ labels: { round: '0' } });
  for (let n = 1; n <= 14; n += 1) await api.changeAccess(id, { labels: { round: `${n}` } });
  await api.untilRecorded(id, 15);
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await untilNewest(page, 'Labels changed');
  const [newest, ...others] = await rowsOf(page);
  assert.match(said(newest), /Label round 13 changed to 14/);
  assert.equal(others.length, 9);
  await page.getByRole('button', { name: 'Show older changes (5)' }).click();
  await history(page).getByRole('rowheader', { name: 'Created' }).waitFor();
  assert.equal((await rowsOf(page)).length, 15);
  assert.equal(await page.getByRole('button', { name: /^Show older/ }).count(), 0);
});

inBrowser('a token without the scope reads why there is no history', server, async ({ page }) => {
  const { id } = await api.createAccess();
  await signInWith(page, await server.makeToken(['demo'], 'access:read'), `demo/accesses/${id}`, 'accesses/id');
  assert.match(await history(page).innerText(), /needs the scope event:read, which your token does not have/);
  await everywhere(page, 'access-history-no-scope');
});

inBrowser('a history that has not begun, is empty or is cut off says so', server, async ({ page, watch }) => {
  const { id } = await api.createAccess();
  const address = `/demo/access/${id}/event`;
  watch.announce(503, address);
  const upgrade = { status: 503, title: 'Upgrade under way', detail: 'there are no events yet' };
  await page.route(`**${address}?*`, (route) => route.fulfill({ status: 503, json: upgrade }), { times: 1 });
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  const alert = history(page).getByRole('alert');
  await alert.waitFor();
  assert.match(await alert.innerText(), /Nothing is recorded yet.*older version has stopped.*Try again later/s);
  await everywhere(page, 'access-history-not-begun');

  const answerWith = (/** @type {object[]} */ events) =>
    page.route(
      `**${address}?*`,
      (route) => route.fulfill({ status: 200, headers: { 'x-event-number': '40' }, json: events }),
      { times: 1 },
    );
  await answerWith([]);
  await page.getByRole('button', { name: 'Try again' }).click();
  await history(page).getByText('No changes are recorded').waitFor();
  await answerWith([
    {
      eventTime: '2026-11-15T03:43:54.935Z',
      eventType: 'AccessStateChangeEvent',
      'x-number': 40,
      'x-origin': { kind: 'expiry' },
      'x-partial': true,
      'x-changed': ['status'],
      'x-version': 9,
      event: { access: { id, status: 'TERMINATED', endDateTime: '2026-11-15T03:43:54.935Z' } },
    },
  ]);
  await leadsTo(page, 'accesses/id', () => page.reload());
  await untilNewest(page, 'Ended');
  assert.match((await rowsOf(page)).join(), /^Ended \| Status Terminated \| Its end was reached$/);
  await history(page).getByText('Earlier changes are not recorded, or no longer kept.').waitFor();
});

test('events of one version are one change, and partial events add what they set', () => {
  const whole = { status: 'ACTIVE', startDateTime: 's', endDateTime: 'e', labels: { a: '1' } };
  const event = (
    /** @type {number} */ version,
    /** @type {string[]} */ changed,
    /** @type {object} */ access,
    more = {},
  ) => ({
    eventType: 'AccessStateChangeEvent',
    'x-version': version,
    'x-changed': changed,
    event: { access },
    ...more,
  });
  const partial = { 'x-partial': true };
  const changes = changesOf([
    event(1, [], whole, { eventType: 'AccessCreateEvent' }),
    event(2, ['labels'], { labels: {} }, partial),
    event(2, ['status'], { status: 'SUSPENDED' }, partial),
    event(3, ['endDateTime'], { endDateTime: null }, partial),
  ]);
  assert.deepEqual(
    changes.map((/** @type {any} */ it) => [it.version, it.changed, it.after]),
    [
      [1, [], whole],
      [2, ['labels', 'status'], { ...whole, labels: {}, status: 'SUSPENDED' }],
      [3, ['endDateTime'], { ...whole, labels: {}, status: 'SUSPENDED', endDateTime: null }],
    ],
  );
  assert.deepEqual(changes.map(changeWords), ['Created', 'Suspended, labels changed', 'End changed']);
});

test('a change is named by what its user has done', () => {
  const words = (
    /** @type {string[]} */ changed,
    /** @type {string} */ from,
    /** @type {string} */ to,
    kind = 'request',
  ) => changeWords({ changed, before: { status: from }, after: { status: to }, origin: { kind } });
  assert.equal(words(['status', 'plannedTermination'], 'ACTIVE', 'PENDING_TERMINATE'), 'End planned');
  assert.equal(
    words(['status', 'plannedTermination'], 'PENDING_TERMINATE', 'ACTIVE'),
    'Kept: its planned end was cancelled',
  );
  assert.equal(words(['plannedTermination'], 'SUSPENDED', 'SUSPENDED'), 'Planned end changed');
  assert.equal(words(['status'], 'ACTIVE', 'TERMINATED', 'expiry'), 'Ended');
  assert.equal(words(['status', 'firstConnection'], 'PENDING_ACTIVE', 'ACTIVE', 'check'), 'First connection');
  assert.equal(words(['status', 'firstConnection'], 'PENDING_ACTIVE', 'ACTIVE'), 'Activated');
  assert.equal(words(['status', 'password'], 'SUSPENDED', 'ACTIVE'), 'Activated, new password');
  assert.deepEqual(labelChanges({ a: '1', b: '2', c: '3' }, { b: '2', c: '4', d: '5' }), [
    ['a', '1', undefined],
    ['c', '3', '4'],
    ['d', undefined, '5'],
  ]);
});
