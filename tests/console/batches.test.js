// Batches: filling in, previewing, sending, following and retrying them.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;

/** @param {Page} page @param {string} contract */
async function openNew(page, contract = 'C-PAYG') {
  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption(contract);
}

/** @param {Page} page */
const send = (page) => page.getByRole('button', { name: 'Send the batch' }).click();

/** Waits until the batch on the page has finished, and returns its ID. @param {Page} page @param {string} state */
async function untilOver(page, state) {
  await untilReady(page, 'batches/id');
  await page.getByRole('region', { name: 'The batch' }).getByText(state, { exact: true }).waitFor();
  return String(new URL(page.url()).hash.split(/[/?]/)[3]);
}

/** @param {Page} page */
const preview = (page) => cellsOf(page, 'Preview of the accesses');

/** Chooses a file. @param {Page} page @param {string | Buffer} content */
async function chooseFile(page, content) {
  await page.getByLabel('A CSV file').check();
  const file = { name: 'fleet.csv', mimeType: 'text/csv', buffer: Buffer.from(content) };
  await page.getByLabel('The file').setInputFiles(file);
}

/** The file that a button downloads. @param {Page} page @param {string} button */
async function download(page, button) {
  const [kept] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  const chunks = await (await kept.createReadStream()).toArray();
  return { name: kept.suggestedFilename(), text: Buffer.concat(chunks).toString() };
}

inBrowser('a batch creates a number of accesses, and offers their credentials', server, async ({ page }) => {
  await openView(page, 'demo/batches', 'batches');
  await page.getByRole('heading', { name: 'No batches yet' }).waitFor();
  await page.getByRole('link', { name: 'New batch' }).first().click();
  await untilReady(page, 'batches/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('How many').fill('40');
  await send(page);
  const id = await untilOver(page, 'Done');
  await page.getByText('40 of 40').waitFor();
  assert.match(await page.locator('#passwords-until').innerText(), /until .*\(in 2[34] hours\).*deletes them/);

  const { accesses } = await api.get(`/demo/access/batch/${id}`);
  const json = await download(page, 'Download JSON');
  assert.equal(json.name, `${id}.json`);
  assert.deepEqual(JSON.parse(json.text).accesses, accesses);
  const csv = await download(page, 'Download CSV');
  assert.equal(csv.name, `${id}.csv`);
  const [heading, ...lines] = csv.text.trim().split('\r\n');
  const [atUsername, atPassword] = ['username', 'password'].map((it) => heading.split(',').indexOf(it));
  assert.equal(lines.length, 40);
  for (const line of [lines[0], lines[39]]) {
    const cells = line.split(',');
    assert.equal(await api.letsIn({ username: cells[atUsername], password: cells[atPassword] }), true);
  }

  // The page shows a password on request.
  const [first] = accesses;
  assert.equal((await page.content()).includes(first.password), false);
  await page.getByRole('button', { name: `Show the password of ${first.name}` }).click();
  await page.getByText(first.password, { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByRole('link', { name: accesses[25].name }).waitFor();
  await page.getByRole('link', { name: accesses[25].name }).click();
  await untilReady(page, 'accesses/id');
  await page.getByRole('link', { name: id }).click();
  await untilReady(page, 'batches/id');
});

inBrowser('a list is pasted: of names, of usernames, or with a header', server, async ({ page }) => {
  await openNew(page);
  await page.getByLabel('A pasted list').check();
  const list = page.getByLabel('The list');
  await send(page);
  await page.getByText('Paste a list first.').waitFor();
  await list.fill('pump-1\n\n  pump-2, left \n');
  assert.deepEqual(await preview(page), [
    ['1', 'generated', 'generated', 'pump-1'],
    ['3', 'generated', 'generated', 'pump-2, left'],
  ]);
  await page.getByLabel('Without a header, each line is').selectOption('a username');
  assert.deepEqual(
    (await preview(page)).map(([, username]) => username),
    ['pump-1', 'pump-2, left'],
  );
  await list.fill('Device name\tUser-Name\tPassword\nmeter-1\tm1\train on the roof\nmeter-2\t\t\n');
  assert.deepEqual(await preview(page), [
    ['2', 'm1', 'given', 'meter-1'],
    ['3', 'generated', 'generated', 'meter-2'],
  ]);
  await send(page);
  const id = await untilOver(page, 'Done');
  const { accesses } = await api.get(`/demo/access/batch/${id}`);
  assert.deepEqual(
    accesses.map((/** @type {any} */ it) => it.deviceName),
    ['meter-1', 'meter-2'],
  );
  assert.equal(await api.letsIn({ username: 'm1', password: 'rain on the roof' }), true);
});

inBrowser('a file is checked before anything is sent', server, async ({ page }) => {
  await openNew(page);
  const rows = [
    'good-1;"pass;word";"say ""hi"""',
    'a\u0007b;;',
    'good-1;;twice',
    ';;',
    'good-2;;"two\r\nlines"',
    'x;;;;',
  ];
  await chooseFile(page, `\uFEFFusername;password;deviceName;colour\r\n${rows.join('\r\n')}\r\n`);
  const faults = page.getByRole('alert').filter({ hasText: 'can’t be sent' });
  await faults.waitFor();
  const told = await faults.getByRole('listitem').allInnerTexts();
  assert.equal(told.length, 3);
  assert.match(told[0], /^Line 3: username has a control character/);
  assert.match(told[1], /^Line 4: .*good-1 is already on line 2/);
  assert.match(told[2], /^Line 8: has 5 cells/);
  await page.getByText('These columns are not used: colour.').waitFor();

  // Faulty rows block sending until the user skips them.
  await send(page);
  const tick = page.getByLabel('Skip these rows, and send the other 2');
  assert.equal(await tick.evaluate((it) => it === document.activeElement), true);
  await tick.check();
  await send(page);
  const id = await untilOver(page, 'Done');
  const { accesses } = await api.get(`/demo/access/batch/${id}`);
  assert.deepEqual(
    accesses.map((/** @type {any} */ it) => [it.username, it.deviceName]),
    [
      ['good-1', 'say "hi"'],
      ['good-2', 'two\r\nlines'],
    ],
  );
  assert.equal(await api.letsIn({ username: 'good-1', password: 'pass;word' }), true);
});

inBrowser('a file that is not a table is refused with a reason', server, async ({ page }) => {
  await openNew(page);
  for (const [content, why] of /** @type {[string | Buffer, RegExp][]} */ ([
    ['', /file is empty/],
    ['colour,size\nred,2', /first line must name the columns/],
    ['username,user\na,b', /username occurs twice/],
    ['username\n', /no rows/],
    [Buffer.from([0x75, 0x73, 0x65, 0x72, 0x0a, 0xe4, 0xf6]), /not UTF-8 text/],
  ])) {
    await chooseFile(page, content);
    await page.getByRole('alert').filter({ hasText: why }).waitFor();
    await send(page);
    assert.equal(new URL(page.url()).hash, '#/demo/batches/new');
  }
});

inBrowser('a running batch shows its progress, and can be stopped', server, async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await openNew(page);
  await page.getByLabel('A pasted list').check();
  const rows = Array.from({ length: 3000 }, (_, n) => `slow-${n},chosen ${n}`);
  await page.evaluate((text) => navigator.clipboard.writeText(text), `username,password\n${rows.join('\n')}`);
  await page.getByLabel('The list').press('Control+V');
  await page.getByRole('heading', { name: '3,000 accesses, the first 8' }).waitFor();
  await send(page);
  await untilReady(page, 'batches/id');
  const bar = page.getByRole('progressbar', { name: 'Items done' });
  await page.waitForFunction(() => Number(document.querySelector('progress')?.value) > 0);
  const before = Number(await bar.getAttribute('value'));
  await page.waitForFunction((n) => Number(document.querySelector('progress')?.value) > n, before);
  await page.getByRole('region', { name: 'The batch' }).getByText('In progress').waitFor();

  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Stop' }).click();
  await dialog.getByText('Items that are done stay done').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await dialog.getByRole('button', { name: 'Stop the batch' }).click();
  const id = await untilOver(page, 'Stopped');
  const { succeeded } = await api.get(`/demo/access/batch/${id}/progress`);
  await page.getByText(`${succeeded.toLocaleString('en-GB')} of 3,000`).waitFor();
  // The accesses that the batch has created remain.
  const made = (await cellsOf(page, /^Accesses that the batch created/)).length;
  assert.equal(made, Math.min(succeeded, 25));
  assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0);

  await page.getByRole('link', { name: 'Batches' }).click();
  await untilReady(page, 'batches');
  const [[, kind, state]] = await cellsOf(page, 'Batches, newest first');
  assert.deepEqual([kind, state], ['Creation', 'Stopped']);
});

inBrowser('failed items are explained, corrected and retried', server, async ({ page }) => {
  await api.createAccess({ username: 'mine' });
  await openNew(page, 'C-PRE');
  await page.getByLabel('A pasted list').check();
  await page.getByLabel('The list').fill('username,deviceName\nmine,"pump, left"\nfresh,pump-2\n');
  await send(page);
  await untilOver(page, 'Some failed');
  const [[item, which, why], ...others] = await cellsOf(page, /^Failed items/);
  assert.equal(others.length, 0);
  assert.deepEqual([item, which], ['1', 'mine']);
  assert.match(why, /Username taken/);

  await page.getByRole('link', { name: 'Retry the failed items' }).click();
  await untilReady(page, 'batches/new');
  await page.getByText('These items failed in the previous batch').waitFor();
  assert.equal(await page.getByLabel('Contract').inputValue(), 'C-PRE');
  const list = page.getByLabel('The list');
  assert.equal(await list.inputValue(), 'username,deviceName\nmine,"pump, left"');
  await list.fill((await list.inputValue()).replace('mine', 'mine-2'));
  await send(page);
  const id = await untilOver(page, 'Done');
  const { accesses } = await api.get(`/demo/access/batch/${id}`);
  assert.deepEqual(
    accesses.map((/** @type {any} */ it) => [it.username, it.deviceName, it.contractId]),
    [['mine-2', 'pump, left', 'C-PRE']],
  );
});

/** @param {Page} page @param {RegExp} consequence @param {string} yes */
async function agree(page, consequence, yes) {
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  assert.match(await dialog.innerText(), consequence);
  await dialog.getByRole('button', { name: yes }).click();
}

inBrowser('a batch changes accesses by their IDs, in any pasted format', server, async ({ page }) => {
  const { accesses } = await api.createMany({ numberOfAccesses: 3 });
  const prepaid = await api.createAccess({ contractId: 'C-PRE' });
  const ids = accesses.map((/** @type {any} */ it) => it.id);
  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Change accesses').check();
  const pasted = page.getByLabel('Access IDs');
  await pasted.fill('nothing of the kind');
  await send(page);
  await page.getByRole('alert').filter({ hasText: 'The text has no access ID' }).waitFor();
  const rows = [`${ids[0]},x`, `"${ids[1]}",y`, `${ids[2].toUpperCase()},`, `${prepaid.id},z`, `${ids[0]},x`];
  await pasted.fill(['id,username', ...rows].join('\n'));
  await page.getByText('4 access IDs found.').waitFor();
  await send(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await api.get(`/demo/access/${ids[0]}`)).status, 'ACTIVE');
  await send(page);
  await agree(page, /Suspend 4 accesses\?.*can’t connect/s, 'Suspend 4 accesses');
  await untilOver(page, 'Some failed');
  for (const id of ids) assert.equal((await api.get(`/demo/access/${id}`)).status, 'SUSPENDED');
  const [[, which, why]] = await cellsOf(page, /^Failed items/);
  assert.equal(which, prepaid.id);
  assert.match(why, /Not pay per use/);
  // The retry repeats the change for the failed items only.
  await page.getByRole('link', { name: 'Retry the failed items' }).click();
  await untilReady(page, 'batches/new');
  assert.equal(await page.getByLabel('Change accesses').isChecked(), true);
  assert.equal(await pasted.inputValue(), prepaid.id);
});

inBrowser('a batch terminates accesses at month end', server, async ({ page }) => {
  const { accesses } = await api.createMany({ numberOfAccesses: 2 });
  await openView(page, 'demo/batches/new?kind=end', 'batches/new');
  await page.getByLabel('Access IDs').fill(accesses.map((/** @type {any} */ it) => it.id).join('\n'));
  await send(page);
  await agree(
    page,
    /Terminate 2 accesses at the end of the month\?.*first instant of the next month/s,
    'Terminate 2 accesses',
  );
  await untilOver(page, 'Done');
  await page.getByRole('heading', { name: /^Termination at month end/ }).waitFor();
  for (const { id } of accesses) assert.equal((await api.get(`/demo/access/${id}`)).status, 'PENDING_TERMINATE');
  const made = await cellsOf(page, /^Accesses that the batch created/);
  assert.deepEqual(
    made.map((cells) => cells[2]),
    ['Ending', 'Ending'],
  );
});

inBrowser('a rejected batch is explained', server, async ({ page }) => {
  const small = { productOfferingId: 'PO-SMALL', billingModel: 'PAY_PER_USE', maxAccesses: 5 };
  await api.ask('PUT', '/-/admin/tenants/demo/contracts/C-SMALL', small);
  await openNew(page, 'C-SMALL');
  await page.getByLabel('How many').fill('6');
  await send(page);
  const id = await untilOver(page, 'Rejected');
  const { errors } = await api.get(`/demo/access/batch/${id}`);
  await page.getByRole('heading', { name: errors[0].title }).waitFor();
  await page.getByText('Nothing was done.').waitFor();
  // An invalid number is refused before sending.
  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption('C-SMALL');
  await page.getByLabel('How many').fill('0');
  await send(page);
  assert.equal(await page.getByLabel('How many').evaluate((it) => it.matches(':invalid')), true);
  assert.equal(new URL(page.url()).hash, '#/demo/batches/new');
});

inBrowser('an oversized batch is refused with a reason', server, async ({ page, watch }) => {
  watch.announce(400, '/demo/access/batch');
  await openNew(page);
  await page.getByLabel('How many').fill('100001');
  await send(page);
  await page.getByRole('alert').filter({ hasText: '100000' }).waitFor();
});

inBrowser('a batch changes all that match a filter', server, async ({ page }) => {
  const tag = `f-${Date.now()}`;
  const names = [1, 2, 3].map((n) => `${tag}-${n}`);
  const accesses = await Promise.all(
    names.map((deviceName) => api.createAccess({ deviceName, labels: { site: tag } })),
  );
  await openView(page, `demo/accesses?filter=label.site=${tag}`, 'accesses');
  await leadsTo(page, 'batches/new', () => page.getByRole('link', { name: 'Change all that match' }).click());
  await page.getByText('3 accesses match now.').waitFor();
  await page.getByLabel('Change', { exact: true }).selectOption('SUSPENDED');
  await send(page);
  const question = page.getByRole('dialog', { name: 'Suspend all 3 matching accesses?' });
  await question.getByRole('button', { name: 'Suspend all 3 matching accesses' }).click();
  const id = await untilOver(page, 'Done');
  assert.equal((await api.get(`/demo/access/batch/${id}/progress`)).total, 3);
  for (const { id } of accesses) assert.equal((await api.get(`/demo/access/${id}`)).status, 'SUSPENDED');
});

inBrowser('a filter that a batch can’t use is explained before anything is sent', server, async ({ page, watch }) => {
  await openView(page, 'demo/batches/new?kind=change', 'batches/new');
  await page.getByLabel('All that match a filter').check();
  const filter = page.getByRole('textbox', { name: 'Filter' });
  const countBatches = async () =>
    (await api.send('GET', '/demo/access/batch?pageSize=1')).headers.get('x-total-count');
  const before = await countBatches();
  const refused = async (/** @type {string} */ text, /** @type {RegExp} */ words) => {
    await filter.fill(text);
    await send(page);
    await page.getByText(words).waitFor();
    assert.equal(await filter.getAttribute('aria-invalid'), 'true', text);
    assert.equal(await page.getByRole('dialog').count(), 0, text);
  };
  await refused(' ', /Write a condition: a batch by filter never changes all accesses/);
  await refused('contract=C-PAYG', /“contract” is not a filter field/);
  await refused('status=GONE', /“GONE” is not a status/);
  await refused('username=not-there', /No access matches this filter/);
  watch.announce(400, '/demo/access');
  await refused('label.rack=7', /label\.rack/);
  assert.equal(await countBatches(), before);
});

inBrowser('a batch sets new passwords, and shows them', server, async ({ page }) => {
  const { id, username, password } = await api.createAccess({ deviceName: 'to-rotate' });
  await openView(page, 'demo/batches/new?kind=change', 'batches/new');
  await page.getByLabel('Change', { exact: true }).selectOption('none');
  await page.getByLabel('Set new passwords').check();
  await page.getByLabel('Access IDs').fill(id);
  await send(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Set new passwords for 1 access' }).click();
  const task = await untilOver(page, 'Done');
  const { accesses } = await api.get(`/demo/access/batch/${task}`);
  assert.equal(await api.letsIn({ username, password }), false);
  assert.equal(await api.letsIn({ username, password: accesses[0].password }), true);
  await page.getByRole('button', { name: 'Show the password of to-rotate' }).click();
  await page.getByText(accesses[0].password, { exact: true }).waitFor();
});
