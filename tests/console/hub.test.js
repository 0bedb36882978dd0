// Hubs: subscriptions to the tenant's events, their messages and dead letters, at a subscriber that the test runs.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { inBrowser } from './browser.js';
import { loadModule } from './environment.js';
import { everywhere } from './everywhere.js';
import { startDemo } from './server.js';
import { cellsOf, factsOf, leadsTo, openView, signInWith, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo(`
[events]
callback_networks = ["127.0.0.0/8"]
callback_retry_for = "1s"
`);
const api = server.api;
const { faultsByCondition, messageWords, parseQuery, writeQuery } = await loadModule('hub/query.js');

/** Milliseconds between two looks at a hub. */
const BETWEEN = 50;

/**
 * A subscriber that records its messages, and answers with the status that the test sets.
 *
 * @typedef {object} Receiver
 * @property {string} url
 * @property {number} status
 * @property {string[]} signatures The header `webhook-signature` of each message.
 * @property {any[]} events The events of all messages.
 */

/** @returns {Promise<Receiver>} */
async function startReceiver() {
  /** @type {Receiver} */
  const receiver = { url: '', status: 204, signatures: [], events: [] };
  const listener = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    receiver.signatures.push(String(request.headers['webhook-signature']));
    receiver.events.push(...[JSON.parse(Buffer.concat(chunks).toString())].flat());
    response.writeHead(receiver.status).end();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  after(() => listener.close().closeAllConnections());
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address());
  receiver.url = `http://127.0.0.1:${port}/events`;
  return receiver;
}

/**
 * Runs a test in a browser whose session may see hubs.
 *
 * @param {string} sentence
 * @param {(visit: import('./browser.js').Visit) => Promise<void>} body
 */
const withHubs = (sentence, body) =>
  inBrowser(sentence, server, async (visit) => {
    for (const { id } of await api.get('/demo/hub')) await deleteHub(id);
    await body(visit);
  });

/** @param {string} callback @param {string} [query] */
const createHub = (callback, query = '') => api.ask('POST', '/demo/hub', { callback, query });

/** @param {string} id */
const deleteHub = (id) => api.ask('DELETE', `/demo/hub/${id}`);

/** Waits until a hub fits. @param {string} id @param {(hub: any) => boolean} fits */
async function untilHub(id, fits) {
  for (;;) {
    const hub = await api.get(`/demo/hub/${id}`);
    if (fits(hub)) return hub;
    await pause(BETWEEN);
  }
}

/** Waits until the receiver fits. @param {() => boolean} fits */
async function until(fits) {
  while (!fits()) await pause(BETWEEN);
}

/** @param {Page} page @param {string} name @param {string | RegExp} text */
const untilFact = (page, name, text) =>
  page
    .getByRole('region', { name: 'The hub' })
    .locator(`dt:text-is("${name}") + dd`)
    .filter({ hasText: text })
    .waitFor();

/** @param {Page} page */
const region = (page) => page.getByRole('region', { name: 'Dead letters' });

withHubs('a hub is made from the menu on, and its secret is shown once', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const receiver = await startReceiver();
  await openView(page, 'demo/overview', 'overview');
  await leadsTo(page, 'hubs', () => page.getByRole('link', { name: 'Hubs' }).click());
  await page.getByRole('heading', { name: 'No hubs yet' }).waitFor();
  await everywhere(page, 'hubs-none');
  await leadsTo(page, 'hubs/new', () => page.getByRole('link', { name: 'New hub' }).first().click());
  await everywhere(page, 'hub-new');
  const { id: access } = await api.createAccess({ deviceName: 'followed' });

  await page.getByLabel('Callback').fill(receiver.url);
  await page.getByLabel('Access created').check();
  await page.getByLabel('Status of an access changed').check();
  await page.getByLabel('Access (optional)').fill(access);
  await page.getByLabel('Contract (optional)').selectOption('C-PAYG');
  await page.getByLabel('CloudEvent, whole in the body').check();
  await page.getByLabel('A list of several events').check();
  await page.getByLabel('Events in one message, at most').fill('20');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'The secret is shown only once' }).waitFor();
  const secret = await page.locator('#secret').innerText();
  assert.match(secret, /^whsec_/);
  await everywhere(page, 'hub-secret');
  await page.getByRole('button', { name: 'Copy the secret' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);

  const [hub] = await api.get('/demo/hub');
  assert.equal(
    hub.query,
    `eventType=AccessCreateEvent,AccessStateChangeEvent&accessId=${access}&contractId=C-PAYG&format=cloudevents&batch=20`,
  );
  await leadsTo(page, 'hubs/id', () => page.getByRole('link', { name: 'Open the hub' }).click());
  assert.equal((await page.getByRole('main').innerText()).includes(secret), false);
  const facts = await factsOf(page, 'The hub');
  assert.match(facts.State, /^Active\s+Events are sent as they happen\./);
  assert.equal(
    facts.Events,
    `Access created, Status of an access changed, of the access ${access} and of the contract C-PAYG`,
  );
  assert.equal(facts['Each message'], 'A list of up to 20 CloudEvents');
  assert.equal(facts['Dead letters'], 'none');
  await page.getByText('No message was sent yet.').waitFor();

  await api.changeAccess(access, { status: 'SUSPENDED' });
  await page.getByRole('table', { name: 'Latest messages, newest first' }).waitFor();
  const [[, response, , n, , error]] = await cellsOf(page, 'Latest messages, newest first');
  assert.deepEqual([response, n, error], ['204', '1', '']);
  assert.deepEqual(receiver.events.map((it) => it.type ?? it.eventType).length, 1);
  await deleteHub(hub.id);
});

withHubs('the server’s faults are shown at their fields', async ({ page, watch }) => {
  watch.announce(400, '/demo/hub');
  await openView(page, 'demo/hubs/new', 'hubs/new');
  const callback = page.getByLabel('Callback');
  for (const [text, why] of /** @type {[string, RegExp][]} */ ([
    ['crm.example.com', /must be an https address/],
    ['https://crm.example.com/#events', /must not have a #/],
  ])) {
    await callback.fill(text);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('#callback-fault').filter({ hasText: why }).waitFor();
    assert.equal(await callback.getAttribute('aria-invalid'), 'true');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'callback');
  }
  await everywhere(page, 'hub-new-faults');
  await callback.fill('https://crm.example.com/events');
  await page.getByLabel('Access (optional)').fill('pump-7');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.locator('#access-fault').filter({ hasText: 'The value must be the identifier of an access.' }).waitFor();
  assert.equal(await page.locator('#callback-fault').isVisible(), false);
  assert.deepEqual(await api.get('/demo/hub'), []);
});

withHubs('a CloudEvent in headers is alone in its message', async ({ page }) => {
  await openView(page, 'demo/hubs/new', 'hubs/new');
  const several = page.getByLabel('A list of several events');
  const most = page.getByLabel('Events in one message, at most');
  const why = page.getByText('has one event, never a list');
  await several.check();
  await most.waitFor();
  await page.getByLabel('CloudEvent, its attributes in headers').check();
  await why.waitFor();
  assert.equal(await several.isDisabled(), true);
  assert.equal(await page.getByLabel('One event').isChecked(), true);
  assert.equal(await most.isVisible(), false);
  await page.getByLabel('Callback').fill('https://crm.example.com/events');
  await everywhere(page, 'hub-new-headers');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'The secret is shown only once' }).waitFor();
  const [hub] = await api.get('/demo/hub');
  assert.equal(hub.query, 'format=cloudevents-binary');
  await deleteHub(hub.id);

  await openView(page, 'demo/hubs/new', 'hubs/new');
  await page.getByLabel('CloudEvent, its attributes in headers').check();
  await page.getByLabel('TMF event').check();
  assert.equal(await several.isDisabled(), false);
  assert.equal(await why.isVisible(), false);
});

withHubs('a hub is paused, resumed, given a new secret and deleted', async ({ page }) => {
  const receiver = await startReceiver();
  const { id } = await createHub(receiver.url);
  await openView(page, `demo/hubs/${id}`, 'hubs/id');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Pause' }).click();
  assert.match(await dialog.innerText(), /Events wait/);
  await everywhere(page, 'dialog-pause-hub');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await api.get(`/demo/hub/${id}`)).state, 'ACTIVE');
  await page.getByRole('button', { name: 'Pause' }).click();
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('main').getByText('The hub is paused.').waitFor();
  await untilFact(page, 'State', 'Paused');
  assert.equal((await api.get(`/demo/hub/${id}`)).state, 'PAUSED');

  const { id: access } = await api.createAccess();
  await api.untilRecorded(access, 1);
  await untilFact(page, 'Progress', /^[\d,]+ events? behind, at event [\d,]+$/);
  await everywhere(page, 'hub-paused');
  assert.deepEqual(receiver.events, []);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('main').getByText('The hub is active').waitFor();
  await until(() => receiver.events.length > 0);
  await untilFact(page, 'Progress', /^Up to date, at event [\d,]+$/);

  await page.getByRole('button', { name: 'New secret' }).click();
  assert.match(await dialog.innerText(), /for a day with the present one/);
  await dialog.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByRole('heading', { name: 'The secret is shown only once' }).waitFor();
  const secret = await page.locator('#secret').innerText();
  assert.match(secret, /^whsec_/);
  await untilFact(page, 'Former secret', 'Also signs until');
  await everywhere(page, 'hub-rotated');
  // Other actions leave the secret on the page.
  await page.getByRole('button', { name: 'Pause' }).click();
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  assert.equal(await page.locator('#secret').innerText(), secret);
  receiver.signatures.length = 0;
  await api.changeAccess(access, { status: 'SUSPENDED' });
  await until(() => receiver.signatures.length > 0);
  assert.equal(receiver.signatures[0].split(' ').length, 2);
  await page.getByRole('button', { name: 'New secret' }).click();
  assert.match(await dialog.innerText(), /The secret before that one still signs messages\. It ends now\./);
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await page.getByRole('button', { name: 'Delete' }).click();
  assert.match(await dialog.innerText(), /The event of its deletion is the last/);
  await everywhere(page, 'dialog-delete-hub');
  await dialog.getByRole('button', { name: 'Delete the hub' }).click();
  await page.getByRole('main').getByText('The hub is deleted.').waitFor();
  await until(() => receiver.events.some((it) => it.eventType === 'HubDeleteEvent'));
  await leadsTo(page, 'hubs', () => page.getByRole('link', { name: 'All hubs' }).click());
  await page.getByRole('heading', { name: 'No hubs yet' }).waitFor();
});

withHubs('a subscriber that is out of reach is tried at once', async ({ page }) => {
  const receiver = await startReceiver();
  receiver.status = 503;
  const { id } = await createHub(receiver.url, 'batch=10');
  await api.createAccess();
  await untilHub(id, (it) => it.failingSince !== undefined);
  // The demo's next attempt comes after a part of a second: longer pauses are answered in the server's stead.
  const failing = { failingSince: '2026-11-15T09:00:00Z', nextAttempt: '2126-11-15T13:00:00Z' };
  const hub = { ...(await api.get(`/demo/hub/${id}`)), ...failing, behind: 1234, waiting: 1, missed: 2 };
  await page.route('**/demo/hub', (route) => route.fulfill({ json: [hub] }));
  await page.route(`**/demo/hub/${id}`, (route) =>
    route.request().method() === 'GET' ? route.fulfill({ json: hub }) : route.continue(),
  );
  await openView(page, 'demo/hubs', 'hubs');
  const [[callback, events, state, progress, waiting, dead]] = await cellsOf(page, 'Hubs, oldest first');
  assert.deepEqual([callback, events, waiting, dead], [receiver.url, 'Every event', '1', `${hub.deadLetters}`]);
  assert.equal(progress, '1,234 events behind');
  assert.match(state, /^Failing\s+Since 15 Nov 2026.*\s+Next attempt 15 Nov 2126/s);
  await everywhere(page, 'hubs');
  await leadsTo(page, 'hubs/id', () => page.getByRole('link', { name: receiver.url }).click());
  await untilFact(page, 'State', /Failing\s*Since .*Next attempt/);
  await untilFact(page, 'Missed', '2 events, deleted for their age');
  await everywhere(page, 'hub-failing');
  receiver.status = 204;
  const asked = page.waitForRequest((it) => it.method() === 'PATCH' && it.url().endsWith(id));
  await page.getByRole('button', { name: 'Try now' }).click();
  assert.deepEqual((await asked).postDataJSON(), { state: 'ACTIVE' });
  await page.unroute(`**/demo/hub/${id}`);
  // The first event may be a dead letter by now: the hub needs another one to show that its subscriber accepts messages.
  await api.createAccess();
  await untilFact(page, 'State', /^Active/);
  await deleteHub(id);
});

withHubs('dead letters are sent again: one, some or all', async ({ page }) => {
  const receiver = await startReceiver();
  receiver.status = 500;
  const { id } = await createHub(receiver.url, 'eventType=AccessCreateEvent');
  const batch = await api.createMany({ numberOfAccesses: 40 });
  await untilHub(id, (it) => it.deadLetters === 40);
  await openView(page, `demo/hubs/${id}`, 'hubs/id');
  const letters = () => cellsOf(page, /^Dead letters/);
  const first = await letters();
  assert.equal(first.length, 25);
  assert.match(first[0][4], /^The subscriber answered 500\.$/);
  await region(page).getByText('25 of 40 shown').waitFor();
  await everywhere(page, 'hub-dead-letters');
  await everywhere(page, 'hub-dead-letters-below', () => region(page).evaluate((element) => element.scrollIntoView()));
  const deliveries = page.getByRole('region', { name: 'Latest messages' });
  assert.equal((await cellsOf(page, /^Latest messages/)).length, 10);
  await deliveries.getByRole('button', { name: /^Show all/ }).click();
  await deliveries.getByRole('button', { name: /^Show all/ }).waitFor({ state: 'detached' });
  assert.ok((await cellsOf(page, /^Latest messages/)).length > 10);
  await region(page).getByRole('button', { name: 'Show more' }).click();
  await region(page).getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });
  const all = (await letters()).map(([, number]) => Number(number.replaceAll(',', '')));
  assert.equal(all.length, 40);

  receiver.status = 204;
  receiver.events.length = 0;
  const told = region(page).getByRole('status');
  await region(page)
    .getByRole('button', { name: `Send again: event ${all[3]}`, exact: true })
    .click();
  await told.filter({ hasText: '1 event waits to be sent again.' }).waitFor();
  await until(() => receiver.events.length === 1);
  assert.equal(receiver.events[0]['x-number'], all[3]);

  const some = region(page).getByRole('button', { name: /^Send the selected again/ });
  assert.equal(await some.isDisabled(), true);
  for (const n of [0, 7]) await page.getByLabel(`Select event ${all[n]}`, { exact: true }).check();
  assert.equal(await some.innerText(), 'Send the selected again (2)');
  await some.click();
  await told.filter({ hasText: '2 events wait to be sent again.' }).waitFor();
  await until(() => receiver.events.length === 3);
  const sent = new Set(receiver.events.map((it) => it['x-number']));
  assert.deepEqual(sent, new Set([all[3], all[0], all[7]]));

  await region(page).getByRole('button', { name: 'Send all again (37)' }).click();
  await told.filter({ hasText: '37 events wait to be sent again.' }).waitFor();
  await region(page).getByText('The server has given up no event.').waitFor();
  await until(() => receiver.events.length === 40);
  const created = new Set(receiver.events.map((it) => it.event.access.id));
  assert.deepEqual(created, new Set(batch.accesses.map((/** @type {any} */ it) => it.id)));
  await deleteHub(id);
});

withHubs('a hub that its subscriber ends is gone from its page', async ({ page, watch }) => {
  const receiver = await startReceiver();
  receiver.status = 410;
  const { id } = await createHub(receiver.url);
  watch.announce(404, new RegExp(`^/demo/hub/${id}`));
  await openView(page, `demo/hubs/${id}`, 'hubs/id');
  await api.createAccess();
  await page.getByRole('alert').filter({ hasText: 'It was deleted, or its subscriber has ended it.' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
  await leadsTo(page, 'hubs/id', () => page.reload());
  assert.match(await page.getByRole('alert').innerText(), /no hub/);
});

withHubs('a secret whose response is lost is told of', async ({ page, watch }) => {
  const { id } = await createHub('https://crm.example.com/events', 'eventType=JournalStartEvent');
  watch.announce('no answer', `/demo/hub/${id}`);
  await openView(page, `demo/hubs/${id}`, 'hubs/id');
  await page.route(`**/demo/hub/${id}`, async (route) => {
    if (route.request().method() === 'GET') return route.continue();
    await route.fetch();
    await route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByRole('heading', { name: 'A new secret may be set, but was not received' }).waitFor();
  await untilFact(page, 'Former secret', 'Also signs until');
  await everywhere(page, 'hub-secret-lost');
  await deleteHub(id);
});

withHubs('without the right, hubs are not offered, and their address says why', async ({ page }) => {
  await signInWith(page, await server.makeToken(['demo'], 'access:read event:read'), 'demo/hubs', 'hubs');
  const menu = page.getByRole('navigation', { name: 'Views' });
  assert.equal(await menu.getByRole('link', { name: 'Hubs' }).count(), 0);
  assert.match(await page.getByRole('main').innerText(), /Not permitted\s+This page needs the scope event:write/);
});

withHubs('the right to hubs alone is enough for them', async ({ page }) => {
  const { id } = await createHub('https://crm.example.com/events', 'contractId=C-PAYG');
  await signInWith(page, await server.makeToken(['demo'], 'event:write'), '', 'hubs');
  await page.getByRole('cell', { name: 'Up to date', exact: true }).waitFor();
  const [[, events, state]] = await cellsOf(page, 'Hubs, oldest first');
  assert.equal(events, 'Every event, of accesses of the contract C-PAYG');
  assert.equal(state, 'Active');
  await openView(page, `demo/hubs/${id}`, 'hubs/id');
  await openView(page, 'demo/hubs/new', 'hubs/new');
  assert.equal(await page.getByLabel('Contract (optional)').getAttribute('type'), null);
  await page.getByLabel('Contract (optional)').fill('C-PAYG');
  await deleteHub(id);
  await openView(page, 'demo/hubs', 'hubs');
  await untilReady(page, 'hubs');
});

test('a query is parsed as it is written', () => {
  for (const text of [
    '',
    'eventType=AccessCreateEvent,TaskStateChangeEvent',
    'contractId=C%201%26%3D%25%2B&format=cloudevents&batch=1000',
    'accessId=01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000&format=cloudevents-binary',
  ]) {
    assert.equal(writeQuery(parseQuery(text)), text);
  }
  assert.equal(parseQuery('contractId=C%201%2B').contractId, 'C 1+');
});

test('a query is told in words', () => {
  const words = (/** @type {string} */ text) => messageWords(parseQuery(text));
  assert.equal(words(''), 'One TMF event');
  assert.equal(words('batch=1000'), 'A list of up to 1,000 TMF events');
  assert.equal(words('format=cloudevents'), 'One CloudEvent');
  assert.equal(words('format=cloudevents-binary'), 'One CloudEvent, its attributes in headers');
  assert.deepEqual(
    faultsByCondition([
      { name: 'query', reason: 'has a wrong `batch`: it must be 1 to 1000' },
      { name: 'query', reason: 'must have at most 1024 characters, not 2000' },
      { name: 'callback', reason: 'must not have a `#`' },
    ]),
    [
      { name: 'batch', reason: 'must be 1 to 1000' },
      { name: 'query', reason: 'must have at most 1024 characters, not 2000' },
      { name: 'callback', reason: 'must not have a `#`' },
    ],
  );
});
