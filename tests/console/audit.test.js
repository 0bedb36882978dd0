// The audit: who changed the setup, tokens and refused requests, of a tenant and of the estate.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { Api } from './api.js';
import { inBrowser } from './browser.js';
import { loadModule } from './environment.js';
import { everywhere } from './everywhere.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView, signInWith, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;
const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));
const { boundsOfTime, readBehind, readBounds, readUpTo } = await loadModule('audit/reading.js');
const { changedFields, whatHappened } = await loadModule('audit/event_words.js');

const AUDIT = '/-/admin/tenants/demo/audit';

const CAPTION = 'Events, newest first';

/** Milliseconds between two looks at the audit. */
const BETWEEN = 50;

/** Waits until the audit has an event that fits. @param {string} address @param {(event: any) => boolean} fits */
async function untilAudited(address, fits) {
  while (!(await operator.get(`${address}?pageSize=1000`)).some(fits)) await pause(BETWEEN);
}

/** @param {string} id @param {object} rest */
const putContract = (id, rest) =>
  api.ask('PUT', `/-/admin/tenants/demo/contracts/${id}`, {
    productOfferingId: 'PO-IOT-PAYG',
    billingModel: 'PAY_PER_USE',
    ...rest,
  });

/** The table's rows, each as one text. The times are left out. @param {Page} page */
async function rowsOf(page) {
  const cells = await cellsOf(page, CAPTION);
  const words = (/** @type {string} */ it) =>
    it
      .replaceAll('→', ' ')
      .replace(/\s+/g, ' ')
      .replace(/ ?More about event.*/, '');
  return cells.map(([, ...rest]) => rest.map(words).join(' | '));
}

/** @param {Page} page @param {Record<string, string>} values */
async function filterBy(page, values) {
  const form = page.locator('.filter-panel');
  if (!(await form.getAttribute('open').then((it) => it !== null))) await form.locator('summary').click();
  for (const [label, value] of Object.entries(values)) {
    const control = form.getByLabel(label, { exact: true });
    if (label === 'What') await control.selectOption(value);
    else await control.fill(value);
  }
  await leadsTo(page, 'audit', () => form.getByRole('button', { name: 'Apply' }).click());
}

await putContract('C-SEASON', { status: 'ACTIVE', maxAccesses: 10 });
await putContract('C-SEASON', { status: 'SUSPENDED' });
const GONE = await api.ask('POST', '/-/admin/tenants/demo/clients', {
  scope: 'access:verify',
  name: '<i>broker</i>',
});
await api.ask('DELETE', `/-/admin/tenants/demo/clients/${encodeURIComponent(GONE.clientId)}`);
const stranger = new Api(server.url, await server.makeToken(['demo'], 'product:read'));
for (let n = 0; n < 3; n += 1) assert.equal((await stranger.send('GET', '/demo/access')).status, 403);
await untilAudited(AUDIT, (it) => it.eventType === 'RefusalEvent');

inBrowser('an admin reads who changed the setup, and what', server, async ({ page }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  await leadsTo(page, 'audit', () => page.getByRole('link', { name: 'Audit' }).click());
  await page.getByRole('heading', { level: 1, name: 'Audit of demo' }).waitFor();
  const rows = await rowsOf(page);
  const by = 'demo from 127.0.0.1';
  for (const row of [
    `Client ${GONE.clientId} deleted |  | ${by}`,
    `Contract C-SEASON changed | status ACTIVE changed to SUSPENDED maxAccesses 10 changed to none | ${by}`,
    `Contract C-SEASON created |  | ${by}`,
    'Tenant demo created |  | The server',
  ]) {
    assert.ok(rows.includes(row), `${row}\nis not in\n${rows.join('\n')}`);
  }
  assert.match(
    rows.join('\n'),
    /^(3 requests|Request) refused \| Reason the token lacks the scope.* from 127\.0\.0\.1$/m,
  );
  assert.match(rows.join('\n'), /^Token issued for demo \| Scopes access:read .* Tenants demo Expires /m);
  // The newest is first.
  assert.match(rows[rows.length - 1], /^Tenant demo created/);

  const record = page.getByRole('row', { name: 'C-SEASON changed' }).locator('details');
  await record.locator('summary').click();
  await record.getByText('ContractAttributeValueChangeEvent').waitFor();
  await record.getByText('Correlation ID').waitFor();
  await everywhere(page, 'audit');
});

inBrowser('the audit is filtered by type, subject and time', server, async ({ page }) => {
  await openView(page, 'demo/audit', 'audit');
  await filterBy(page, { What: 'All about contracts' });
  assert.deepEqual(new Set((await rowsOf(page)).map((it) => it.split(' ')[0])), new Set(['Contract']));
  await filterBy(page, { What: 'Contract changed' });
  assert.equal((await rowsOf(page)).length, 1);
  await everywhere(page, 'audit-filtered');
  await leadsTo(page, 'audit', () => page.getByRole('button', { name: 'Clear' }).click());
  assert.ok((await rowsOf(page)).length > 5);

  await filterBy(page, { What: 'All events', By: 'demo' });
  const ofDemo = await rowsOf(page);
  assert.ok(ofDemo.length >= 4 && ofDemo.every((it) => it.includes('| demo from ')), ofDemo.join('\n'));
  await filterBy(page, { By: 'unknown' });
  await page.getByRole('heading', { name: 'No event matches this filter' }).waitFor();
  await leadsTo(page, 'audit', () => page.getByRole('link', { name: 'Show all' }).click());
  await leadsTo(page, 'audit', () => page.getByRole('table').getByRole('link', { name: 'demo' }).first().click());
  assert.match(page.url(), /subject=demo$/);
  assert.deepEqual(await rowsOf(page), ofDemo);

  await filterBy(page, { By: '', Before: '2020-01-01T00:00:00' });
  await page.getByRole('heading', { name: 'No event matches this filter' }).waitFor();
  await filterBy(page, { Before: '', From: '2020-01-01T00:00:00' });
  assert.ok((await rowsOf(page)).length > 5);
  assert.match(decodeURIComponent(page.url()), /from=2019-12-31T23:00:00Z$/);
  assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), '2020-01-01T00:00');
});

inBrowser('an invalid condition is explained', server, async ({ page, watch }) => {
  watch.announce(400, AUDIT);
  await openView(page, 'demo/audit?eventType=Nonsense', 'audit');
  assert.match(await page.getByRole('alert').innerText(), /must be some of/);
  await leadsTo(page, 'audit', () => page.getByRole('button', { name: 'Clear' }).click());
  assert.ok((await rowsOf(page)).length > 5);
});

inBrowser('a long audit is read page by page from its end', server, async ({ page }) => {
  await operator.ask('PUT', '/-/admin/tenants/long', {});
  const contract = '/-/admin/tenants/long/contracts/C-1';
  for (let n = 1; n <= 120; n += 1) {
    const body = { productOfferingId: 'PO', billingModel: 'PAY_PER_USE', maxAccesses: n };
    await operator.ask('PUT', contract, body);
  }
  // The tenant, the contract, and 119 changes.
  await untilAudited('/-/admin/tenants/long/audit', (it) => it['x-number'] === 121);
  await signInWith(page, await server.makeToken(['long'], 'admin'), 'long/audit', 'audit');
  const total = async () => page.getByRole('navigation', { name: 'Pages of events' }).innerText();
  const changes = async () =>
    (await rowsOf(page)).map((it) => /maxAccesses (\d+) changed to/.exec(it)?.[1] ?? it.split(' |')[0]);
  // The token of this test may be audited, too.
  const [issued] = await changes();
  const n = issued.startsWith('Token') ? 1 : 0;
  const newest = Array.from({ length: 50 - n }, (_, at) => String(119 - at));
  assert.deepEqual((await changes()).slice(n), newest);
  assert.match(await total(), new RegExp(`Numbers ${72 + n} to ${121 + n} of ${121 + n}`));
  const turn = (/** @type {string} */ name) =>
    leadsTo(page, 'audit', () => page.getByRole('link', { name: `${name} events` }).click());
  await turn('Older');
  assert.match(await total(), new RegExp(`Numbers ${22 + n} to ${71 + n} of `));
  await turn('Older');
  assert.deepEqual((await changes()).slice(-3), ['1', 'Contract C-1 created', 'Tenant long created']);
  assert.equal(await page.getByRole('link', { name: 'Older events' }).count(), 0);
  await turn('Newer');
  assert.match(await total(), new RegExp(`Numbers ${22 + n} to ${71 + n} of `));
  await turn('Newest');
  assert.match(await total(), new RegExp(`to ${121 + n} of ${121 + n}`));
  await turn('Oldest');
  assert.match(await total(), /Numbers 1 to 50 of /);
  assert.deepEqual((await changes()).slice(-2), ['Contract C-1 created', 'Tenant long created']);
  // The address of the page can be shared.
  const shown = await changes();
  await leadsTo(page, 'audit', () => page.reload());
  assert.deepEqual(await changes(), shown);
});

inBrowser('without the right, the audit is not offered, and its address says why', server, async ({ page }) => {
  await signInWith(page, await server.makeToken(['demo'], 'access:read'), 'demo/audit', 'audit');
  const menu = page.getByRole('navigation', { name: 'Views' });
  assert.equal(await menu.getByRole('link', { name: 'Audit' }).count(), 0);
  assert.match(await page.getByRole('main').innerText(), /Not permitted\s+This page needs the scope admin/);
});

inBrowser('the audit of the estate is for tokens of all tenants', server, async ({ page }) => {
  await openView(page, 'demo/audit/estate', 'audit/estate');
  assert.match(await page.getByRole('main').innerText(), /Not permitted.*for all tenants \(\*\)/s);
  await everywhere(page, 'audit-estate-not-permitted');
  await leadsTo(page, 'audit', () => page.getByRole('main').getByRole('link', { name: 'Audit of demo' }).click());
  assert.equal(await page.getByRole('link', { name: 'Audit of the estate' }).count(), 0);

  await operator.ask('PUT', '/-/admin/tenants/passing', {});
  await operator.ask('DELETE', '/-/admin/tenants/passing');
  await untilAudited('/-/admin/audit', (it) => it.eventType === 'TenantDeleteEvent');
  await signInWith(page, await server.makeToken(['*'], 'admin'), 'demo/audit', 'audit');
  await leadsTo(page, 'audit/estate', () => page.getByRole('link', { name: 'Audit of the estate' }).click());
  const rows = (await rowsOf(page)).join('\n');
  assert.match(rows, /^Tenant passing deleted/m);
  assert.match(rows, /^Token issued for .* Tenants all tenants/m);
  assert.equal(await page.getByRole('link', { name: 'Audit', exact: true }).getAttribute('aria-current'), 'page');
  await everywhere(page, 'audit-estate');
});

inBrowser('an audit that has not begun or is empty says so', server, async ({ page, watch }) => {
  watch.announce(503, AUDIT);
  const upgrade = { status: 503, title: 'Upgrade under way', detail: 'there are no events yet' };
  await page.route(`**${AUDIT}?*`, (route) => route.fulfill({ status: 503, json: upgrade }), { times: 2 });
  await openView(page, 'demo/audit', 'audit');
  assert.match(await page.getByRole('alert').innerText(), /Nothing is recorded yet/);
  const headers = { 'x-event-number': '7' };
  await page.route(`**${AUDIT}?*`, (route) => route.fulfill({ status: 200, headers, json: [] }), { times: 2 });
  await leadsTo(page, 'audit', () => page.getByRole('button', { name: 'Try again' }).click());
  await page.getByRole('heading', { name: 'No events yet' }).waitFor();
});

/**
 * An audit as the server answers: numbers without gaps, and pages with conditions that look at so many events at most.
 *
 * @param {{ deletedTo?: number, last: number, pageMax?: number, fits?: (n: number) => boolean }} journal
 */
function auditOf({ deletedTo = 0, last, pageMax = 1000, fits = () => true }) {
  let nRequests = 0;
  /** @param {{ after?: number | 'last', size: number }} wanted */
  const read = async ({ after = deletedTo, size }) => {
    nRequests += 1;
    const from = after === 'last' ? last : after;
    assert.ok(from >= deletedTo && from <= last && size >= 1 && size <= 1000, `${after} ${size}`);
    const events = [];
    let seenTo = from;
    while (seenTo < last && events.length < Math.min(size, pageMax) && seenTo - from < 20_000) {
      seenTo += 1;
      if (fits(seenTo)) events.push({ 'x-number': seenTo, eventTime: new Date(seenTo * 60_000).toISOString() });
    }
    return { events, seenTo, hasNext: seenTo < last };
  };
  return { read, nRequests: () => nRequests };
}

/** @param {any} stretch */
const numbersOf = (stretch) => stretch.events.map((/** @type {any} */ it) => it['x-number']);

test('pages from the end have every event once, also with conditions', async () => {
  for (const every of [1, 2, 7, 300, 9000]) {
    for (const pageMax of [1000, 10]) {
      const fits = (/** @type {number} */ n) => n % every === 0;
      const { read } = auditOf({ deletedTo: 700, last: 30_500, pageMax, fits });
      const bounds = { first: 701, last: 30_500 };
      const expected = Array.from({ length: 30_500 }, (_, n) => 30_500 - n).filter((n) => n > 700 && fits(n));
      /** @type {number[]} */
      const seen = [];
      for (let to = bounds.last, n = 0; to >= bounds.first && n < 40; n += 1) {
        const stretch = await readUpTo(read, bounds, { to, size: 50, hasConditions: every > 1 });
        assert.equal(stretch.to, to);
        assert.ok(stretch.events.length <= 50);
        seen.push(...numbersOf(stretch));
        to = stretch.from - 1;
      }
      assert.deepEqual(seen, expected.slice(0, seen.length), `${every}, pages of ${pageMax}`);
      assert.ok(seen.length >= Math.min(expected.length, 400), `${every}, pages of ${pageMax}: ${seen.length}`);
    }
  }
});

test('newer events follow a number', async () => {
  const { read } = auditOf({ last: 500, fits: (n) => n % 3 === 0 });
  const stretch = await readBehind(read, { first: 1, last: 500 }, { after: 100, size: 5 });
  assert.deepEqual([numbersOf(stretch), stretch.from, stretch.to], [[114, 111, 108, 105, 102], 101, 114]);
  const end = await readBehind(read, { first: 1, last: 500 }, { after: 490, size: 5 });
  assert.deepEqual([numbersOf(end), end.to], [[498, 495, 492], 500]);
});

test('a long audit is not read as a whole', async () => {
  const last = 5_000_000;
  const all = auditOf({ deletedTo: 1000, last });
  const bounds = await readBounds(all.read);
  assert.deepEqual(bounds, { first: 1001, last });
  const time = (/** @type {number} */ n) => new Date(n * 60_000).toISOString();
  const narrow = await boundsOfTime(all.read, bounds, { from: time(2_000_000), before: time(2_000_100) });
  assert.ok(narrow.first <= 2_000_000 && narrow.last >= 2_000_100, JSON.stringify(narrow));
  assert.ok(narrow.last - narrow.first < 50_000, JSON.stringify(narrow));
  assert.ok(all.nRequests() < 25, `${all.nRequests()} requests`);
  const rare = auditOf({ deletedTo: 1000, last, fits: () => false });
  const stretch = await readUpTo(rare.read, bounds, { to: last, size: 50, hasConditions: true });
  assert.ok(rare.nRequests() <= 25, `${rare.nRequests()} requests`);
  assert.ok(stretch.events.length === 0 && stretch.from > bounds.first);
  assert.deepEqual(await readBounds(auditOf({ deletedTo: 9, last: 9 }).read), { first: 10, last: 9 });
});

test('an event of the audit is told in words', () => {
  const told = (/** @type {any} */ event) => {
    const { words, name, verb } = whatHappened(event);
    return [words, name, verb].filter(Boolean).join(' ');
  };
  /** @type {[string, object, string][]} */
  const events = [
    ['TenantCreateEvent', { tenant: { name: 'acme' } }, 'Tenant acme created'],
    ['ContractAttributeValueChangeEvent', { contract: { id: 'C-1' } }, 'Contract C-1 changed'],
    ['ClientDeleteEvent', { client: { clientId: 'acme~x', name: 'broker' } }, 'Client acme~x deleted'],
    ['HubCreateEvent', { hub: { id: 'hub-7', callback: 'https://crm.example.com/' } }, 'Hub hub-7 created'],
    ['TokenIssueEvent', { token: { id: '7', subject: 'ann', count: 1 } }, 'Token issued for ann'],
    ['TokenIssueEvent', { token: { id: '7', subject: 'ann', count: 3 } }, '3 tokens issued for ann'],
    ['TokenRevokeEvent', { token: { id: '7' } }, 'Token revoked'],
    ['RefusalEvent', { refusal: { reason: 'token', count: 1 } }, 'Request refused'],
    ['RefusalEvent', { refusal: { reason: 'token', count: 20 } }, '20 requests refused'],
    ['JournalStartEvent', {}, 'The audit begins'],
    ['FutureEvent', {}, 'FutureEvent'],
  ];
  for (const [eventType, event, expected] of events) assert.equal(told({ eventType, event }), expected);
  const account = { name: 'eu', settings: { baseUrl: 'b', paging: 'page' }, tags: ['x'] };
  assert.deepEqual(
    changedFields({
      eventType: 'AccountAttributeValueChangeEvent',
      'x-changed': ['settings', 'tags', 'hasCredentials'],
      'x-before': { ...account, settings: { baseUrl: 'a', paging: 'page' }, hasCredentials: true },
      event: { account: { ...account, tags: ['x', 'y'] } },
    }),
    [
      ['settings.baseUrl', 'a', 'b'],
      ['tags', ['x'], ['x', 'y']],
      ['hasCredentials', true, undefined],
    ],
  );
});
