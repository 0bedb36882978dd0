// Labels: setting and changing them, showing them as chips, and filtering the list by them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Api } from './api.js';
import { inBrowser } from './browser.js';
import { loadModule } from './environment.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView, signInWith, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Locator} Locator */

const { changeOf, keyFault, rowFaults, valueFault } = await loadModule('label/rules.js');

const server = await startDemo();
const { api } = server;
const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));
await operator.ask('PUT', '/-/admin/tenants/demo', { labelKeys: ['site', 'team'] });

test('keys and values are checked by the API’s rules', () => {
  for (const key of ['a', 'a.b-c_1', 'x'.repeat(63)]) assert.equal(keyFault(key), undefined, key);
  assert.match(keyFault(''), /missing/);
  assert.match(keyFault('x'.repeat(64)), /more than 63 characters/);
  for (const key of ['Site', 'a b', 'ä', 'a=b']) assert.match(keyFault(key), /character other than/, key);
  for (const value of ['x', ' ', 'a\nb', 'é'.repeat(64)]) assert.equal(valueFault(value), undefined, value);
  assert.match(valueFault(''), /missing/);
  assert.match(valueFault('\0'), /U\+0000/);
  assert.match(valueFault('é'.repeat(65)), /130 bytes of UTF-8, more than 128/);
  const [, second] = rowFaults([
    { key: 'a', value: 'x' },
    { key: 'a', value: 'y' },
  ]);
  assert.match(second.key, /“a” is there twice/);
});

test('a change sets what is new, and removes what is gone', () => {
  assert.deepEqual(changeOf({ a: '1', b: '2', c: '3' }, { a: '1', b: 'x', d: '4' }), { b: 'x', c: null, d: '4' });
  assert.deepEqual(changeOf({ a: '1' }, { a: '1' }), {});
  assert.deepEqual(changeOf({}, { constructor: 'x' }), { constructor: 'x' });
});

/** Fills in the next label. @param {Page | Locator} where @param {string} key @param {string} value */
async function addLabel(where, key, value) {
  await where.getByRole('button', { name: 'Add a label' }).click();
  const row = where.getByRole('group', { name: /^Label \d+$/ }).last();
  await row.getByLabel(/key$/).fill(key);
  await row.getByLabel(/value$/).fill(value);
}

/** The chips in an element. @param {Page | Locator} where @returns {Promise<string[]>} */
const chipsIn = (where) => where.locator('.chip').allInnerTexts();

/** @param {Page} page */
const facts = (page) => page.getByRole('region', { name: 'The access' });

/** @param {Page} page */
const namesIn = async (page) => (await cellsOf(page, /^Accesses/)).map(([name]) => name);

inBrowser('an access is created with labels, after their faults are corrected', server, async ({ page }) => {
  await openView(page, 'demo/accesses/new', 'accesses/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('Device name').fill('labelled');
  await addLabel(page, 'Site', 'hamburg');
  await addLabel(page, 'team', '');
  // An empty row is no label.
  await page.getByRole('button', { name: 'Add a label' }).click();
  await page.getByRole('button', { name: 'Create' }).click();
  const told = page.getByRole('alert').filter({ hasText: 'Label 1' });
  await told.waitFor();
  assert.match(await told.innerText(), /Label 1: the key “Site” has .*\n?Label 2: the value is missing\./);
  const key = page.getByLabel('Label 1: key');
  assert.equal(await key.evaluate((it) => it === document.activeElement), true);
  assert.equal(await key.getAttribute('aria-invalid'), 'true');

  await key.fill('site');
  await page.getByRole('button', { name: 'Remove label 2' }).click();
  // `key=value` in one piece is divided.
  await page.getByRole('button', { name: 'Add a label' }).click();
  await page.getByLabel('Label 2: key').fill('team=pumps = valves');
  assert.equal(await page.getByLabel('Label 2: value').inputValue(), 'pumps = valves');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Open the access' }).waitFor();
  const [{ labels }] = await api.get('/demo/access?name=labelled');
  assert.deepEqual(labels, { site: 'hamburg', team: 'pumps = valves' });

  // The next access gets the same labels, unless the user changes them.
  await page.getByRole('button', { name: 'Create another' }).click();
  assert.equal(await page.getByLabel('Label 2: value').inputValue(), 'pumps = valves');
});

inBrowser('labels of an access are added, changed and removed', server, async ({ page }) => {
  const created = await api.createAccess({ deviceName: 'relabelled' });
  const read = async () => (await api.get(`/demo/access/${created.id}`)).labels;
  await openView(page, `demo/accesses/${created.id}`, 'accesses/id');
  await page.getByRole('button', { name: 'Add labels' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Label 1: key').fill('site');
  const save = dialog.getByRole('button', { name: 'Save the labels' });
  await save.click();
  // The dialog stays open until its labels are valid.
  await dialog.getByText('Label 1: the value is missing.').waitFor();
  await dialog.getByLabel('Label 1: value').fill('hamburg');
  await addLabel(dialog, 'team', 'pumps');
  await addLabel(dialog, 'rack', '7');
  await save.click();
  await page.getByText('has new labels').first().waitFor();
  assert.deepEqual(await read(), { site: 'hamburg', team: 'pumps', rack: '7' });
  assert.deepEqual(await chipsIn(facts(page)), ['rack: 7', 'site: hamburg', 'team: pumps']);

  // Only changes are sent: another user's labels stay.
  const sent = page.waitForRequest((it) => it.method() === 'PATCH');
  await page.getByRole('button', { name: 'Change the labels' }).click();
  await dialog.getByRole('button', { name: 'Remove label 1' }).click();
  await dialog.getByLabel('Label 1: value').fill('berlin');
  await save.click();
  await facts(page).getByRole('link', { name: 'site: berlin' }).waitFor();
  assert.deepEqual((await sent).postDataJSON(), { labels: { rack: null, site: 'berlin' } });
  assert.deepEqual(await read(), { site: 'berlin', team: 'pumps' });

  await page.getByRole('button', { name: 'Change the labels' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Change the labels' }).click();
  await save.click();
  await dialog.waitFor({ state: 'detached' });
  const { headers } = await api.send('GET', `/demo/access/${created.id}`);
  assert.equal(headers.get('etag'), '"3"');
});

inBrowser('labels that another user has changed are shown before they are changed again', server, async (visit) => {
  const { page, watch } = visit;
  const { id } = await api.createAccess({ deviceName: 'between' });
  watch.announce(412, `/demo/access/${id}`);
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await api.changeAccess(id, { labels: { site: 'hamburg' } });
  await page.getByRole('button', { name: 'Add labels' }).click();
  await page.getByLabel('Label 1: key').fill('site=berlin');
  await page.getByRole('button', { name: 'Save the labels' }).click();
  await page.getByRole('alert').filter({ hasText: 'Another user has changed it' }).waitFor();
  assert.deepEqual(await chipsIn(facts(page)), ['site: hamburg']);
  assert.deepEqual((await api.get(`/demo/access/${id}`)).labels, { site: 'hamburg' });
});

inBrowser('a value with line feeds stays as it is', server, async ({ page }) => {
  const { id } = await api.createAccess();
  await api.changeAccess(id, { labels: { note: 'one\ntwo', site: 'hamburg' } });
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await page.getByRole('button', { name: 'Change the labels' }).click();
  await page.getByLabel('Label 2: value').fill('berlin');
  await page.getByRole('button', { name: 'Save the labels' }).click();
  await page.getByText('has new labels').first().waitFor();
  assert.deepEqual((await api.get(`/demo/access/${id}`)).labels, { note: 'one\ntwo', site: 'berlin' });
});

inBrowser('a chip leads to the accesses with its label', server, async ({ page }) => {
  const labelled = async (/** @type {string} */ deviceName, /** @type {object} */ labels) => {
    const access = await api.createAccess({ deviceName });
    await api.changeAccess(access.id, { labels });
    return access;
  };
  const first = await labelled('chip-1', { site: 'köln; a & b', rack: '7' });
  await labelled('chip-2', { site: 'köln; a & b', team: 'x' });
  await labelled('chip-3', { site: 'bonn' });
  await openView(page, `demo/accesses/${first.id}`, 'accesses/id');
  // The tenant's lists can't be filtered by the other key.
  assert.equal(await facts(page).getByRole('link', { name: 'rack: 7' }).count(), 0);
  const chip = (/** @type {string} */ name) => page.getByRole('link', { name, exact: true }).first();
  await leadsTo(page, 'accesses', () => chip('site: köln; a & b').click());
  assert.deepEqual(await namesIn(page), ['chip-1', 'chip-2']);
  assert.deepEqual(await chipsIn(page.getByRole('table')), [
    'rack: 7',
    'site: köln; a & b',
    'site: köln; a & b',
    'team: x',
  ]);
  // A chip in the list narrows its filter.
  await leadsTo(page, 'accesses', () => chip('team: x').click());
  assert.deepEqual(await namesIn(page), ['chip-2']);
  assert.equal(await page.getByLabel('As an expression').inputValue(), 'label.site=köln%3B a %26 b&label.team=x');
});

inBrowser('a condition on a label is chosen', server, async ({ page }) => {
  await api.changeAccess((await api.createAccess({ deviceName: 'chosen' })).id, { labels: { team: 'chosen' } });
  await openView(page, 'demo/accesses', 'accesses');
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Condition 1.1: field').selectOption('Label');
  const key = page.getByLabel('Condition 1.1: key of the label');
  const suggested = await page
    .locator('#known-label-keys option')
    .evaluateAll((all) => all.map((it) => it.getAttribute('value')));
  assert.deepEqual(suggested, ['site', 'team']);
  await key.fill('team');
  await page.getByLabel('Condition 1.1: value of the label').fill('chosen');
  const written = page.getByLabel('As an expression');
  assert.equal(await written.inputValue(), 'label.team=chosen');
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Apply' }).click());
  assert.deepEqual(await namesIn(page), ['chosen']);

  await page.getByLabel('Condition 1.1: operator').selectOption('is set');
  assert.equal(await written.inputValue(), 'label.team');
  assert.equal(await page.getByLabel('Condition 1.1: value of the label').count(), 0);
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Apply' }).click());
  const listed = await api.get('/demo/access?label.team&pageSize=50');
  assert.deepEqual(
    await namesIn(page),
    listed.map((/** @type {any} */ it) => it.name),
  );
  assert.equal(await page.getByLabel('Condition 1.1: operator').inputValue(), '');
});

inBrowser('a label that lists can’t be filtered by is named above the list', server, async ({ page }) => {
  await openView(page, 'demo/accesses?filter=label.rack%3D7&size=25', 'accesses');
  const told = page.getByRole('alert').filter({ hasText: 'A condition was ignored' });
  assert.match(await told.innerText(), /not filtered by label\.rack\..*site, team\./s);
  assert.ok((await namesIn(page)).length > 1);
  // Without the right to read the tenant's keys, every chip is a link, and the server decides.
  const [{ id }] = await api.get('/demo/access?name=chip-1');
  const token = await server.makeToken(['demo'], 'access:read');
  await signInWith(page, token, `demo/accesses/${id}`, 'accesses/id');
  assert.equal(await page.getByRole('button', { name: 'Change the labels' }).count(), 0);
  await leadsTo(page, 'accesses', () => page.getByRole('link', { name: 'rack: 7' }).click());
  assert.match(await told.innerText(), /not filtered by label\.rack\./);
});

/** Waits until the batch on the page is done, and returns its accesses. @param {Page} page @returns {Promise<any[]>} */
async function accessesOfBatch(page) {
  await untilReady(page, 'batches/id');
  await page.getByRole('region', { name: 'The batch' }).getByText('Done', { exact: true }).waitFor();
  const id = String(new URL(page.url()).hash.split(/[/?]/)[3]);
  return (await api.get(`/demo/access/batch/${id}`)).accesses;
}

/** @param {Page} page */
const send = (page) => page.getByRole('button', { name: 'Send the batch' }).click();

inBrowser('a batch creates accesses with labels, and another changes them', server, async ({ page }) => {
  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('How many').fill('3');
  await addLabel(page, 'site', '');
  await send(page);
  await page.getByText('Label 1: the value is missing.').waitFor();
  await page.getByLabel('Label 1: value').fill('batch');
  await send(page);
  const made = await accessesOfBatch(page);
  assert.deepEqual(
    made.map((it) => it.labels),
    Array(3).fill({ site: 'batch' }),
  );

  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('A pasted list').check();
  await page.getByLabel('The list').fill('one\ntwo');
  await addLabel(page, 'team', 'list');
  await send(page);
  const listed = await accessesOfBatch(page);
  assert.deepEqual(
    listed.map((it) => [it.deviceName, it.labels]),
    [
      ['one', { team: 'list' }],
      ['two', { team: 'list' }],
    ],
  );

  await openView(page, 'demo/batches/new?kind=change', 'batches/new');
  await page.getByLabel('Access IDs').fill(made.map((it) => it.id).join('\n'));
  await page.getByLabel('Change', { exact: true }).selectOption('No change of the status');
  await send(page);
  await page.getByText('Choose a change of the status, new passwords, or labels').waitFor();
  await addLabel(page, 'team', 'moved');
  const removed = page.getByLabel('Labels to remove');
  await removed.fill('team');
  await send(page);
  await page.getByText('The label “team” is to be set and to be removed.').waitFor();
  await removed.fill('site, old');
  await send(page);
  const dialog = page.getByRole('dialog');
  assert.match(await dialog.innerText(), /labels of 3 accesses\?.*set: team: moved\..*remove: site, old\./s);
  await dialog.getByRole('button', { name: 'Change 3 accesses' }).click();
  const changed = await accessesOfBatch(page);
  assert.deepEqual(
    changed.map((it) => [it.status, it.labels]),
    Array(3).fill(['ACTIVE', { team: 'moved' }]),
  );
});

inBrowser('a retry has the labels of its batch', server, async ({ page }) => {
  await api.createAccess({ username: 'label-taken' });
  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('A pasted list').check();
  await page.getByLabel('The list').fill('username\nlabel-taken');
  await addLabel(page, 'site', 'again');
  await send(page);
  await untilReady(page, 'batches/id');
  await page.getByRole('link', { name: 'Retry the failed items' }).click();
  await untilReady(page, 'batches/new');
  assert.equal(await page.getByLabel('Label 1: value').inputValue(), 'again');
});

inBrowser('a retry has the change of its batch, also of another user’s', server, async ({ page }) => {
  const { id } = await api.createAccess();
  await api.changeAccess(id, { status: 'TERMINATED' });
  const change = { labels: { site: 'again', team: null } };
  const body = { operationType: 'update', operationBody: change, accessesIdList: [id] };
  const task = await api.ask('POST', '/demo/access/batchUpdate', body);
  await api.untilOver(task.id);
  await openView(page, `demo/batches/new?retry=${task.id}`, 'batches/new');
  assert.equal(await page.getByLabel('Change', { exact: true }).inputValue(), 'none');
  assert.equal(await page.getByLabel('Label 1: key').inputValue(), 'site');
  assert.equal(await page.getByLabel('Label 1: value').inputValue(), 'again');
  assert.equal(await page.getByLabel('Labels to remove').inputValue(), 'team');
  assert.equal(await page.getByLabel('Access IDs').inputValue(), id);
});
