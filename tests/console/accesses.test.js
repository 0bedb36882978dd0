// Accesses: creating, listing and changing them one by one.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, factsOf, leadsTo, openView, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;

/** Accesses for several pages. */
const LISTED = await api.createMany({ numberOfAccesses: 60 });

/** @param {Page} page @param {Record<string, string>} values By what stands beside the field. */
async function fillIn(page, values) {
  for (const [label, value] of Object.entries(values)) {
    await page.getByLabel(`${label} (optional)`).fill(value);
  }
}

/** The credentials on the page. @param {Page} page */
async function shownCredentials(page) {
  const place = page.getByRole('region', { name: 'The password is shown only once' });
  await place.waitFor();
  return {
    username: await place.locator('#secret-username').innerText(),
    password: await place.locator('#secret-password').innerText(),
  };
}

inBrowser('an access is created with generated credentials', server, async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await openView(page, 'demo/accesses', 'accesses');
  await page.getByRole('link', { name: 'Create an access' }).click();
  await untilReady(page, 'accesses/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByRole('button', { name: 'Create' }).click();
  const credentials = await shownCredentials(page);
  assert.match(credentials.username, /^u-/);
  assert.equal(await api.letsIn(credentials), true);

  for (const what of /** @type {const} */ (['username', 'password'])) {
    await page.getByRole('button', { name: `Copy the ${what}` }).click();
    await page.getByText('Copied').first().waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), credentials[what]);
  }
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as a file' }).click(),
  ]);
  const chunks = await (await download.createReadStream()).toArray();
  const kept = JSON.parse(Buffer.concat(chunks).toString());
  assert.deepEqual({ username: kept.username, password: kept.password }, credentials);

  // The password is shown once: neither this view nor the view of the access shows it again.
  await page.getByRole('link', { name: 'Open the access' }).click();
  await untilReady(page, 'accesses/id');
  assert.equal((await page.content()).includes(credentials.password), false);
  await page.goBack();
  await untilReady(page, 'accesses/new');
  assert.equal((await page.content()).includes(credentials.password), false);
  const keptHere = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
  assert.equal(keptHere.includes(credentials.password), false);
});

inBrowser('an access is created with chosen credentials, and another after it', server, async ({ page }) => {
  await openView(page, 'demo/accesses/new', 'accesses/new');
  const chosen = { username: 'meter 12 – north', password: 'rain on the roof' };
  await page.getByLabel('Contract').selectOption('C-PRE');
  await fillIn(page, { 'Device name': 'Meter <b>12</b>', Username: chosen.username, Password: chosen.password });
  await page.getByRole('button', { name: 'Create' }).click();
  assert.deepEqual(await shownCredentials(page), chosen);
  await page.getByText('The access Meter <b>12</b> was created').waitFor();
  assert.equal(await api.letsIn(chosen), true);
  await page.getByRole('button', { name: 'Create another' }).click();
  assert.equal(await page.getByLabel('Contract').inputValue(), 'C-PRE');
  assert.equal(await page.getByLabel('Username (optional)').inputValue(), '');
  await page.getByRole('button', { name: 'Create' }).click();
  const other = await shownCredentials(page);
  assert.notEqual(other.username, chosen.username);
  assert.equal(await api.letsIn(other), true);
});

inBrowser('faults are shown beside their fields, and can be corrected', server, async ({ page, watch }) => {
  watch.announce(400, '/demo/access');
  watch.announce(409, '/demo/access');
  await api.createAccess({ username: 'taken' });
  await openView(page, 'demo/accesses/new', 'accesses/new');
  const send = () => page.getByRole('button', { name: 'Create' }).click();
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await fillIn(page, { Username: 'x'.repeat(129), Password: 'x'.repeat(73) });
  await send();
  const username = page.getByLabel('Username (optional)');
  await page.locator('#username-fault').waitFor();
  assert.match(await page.locator('#username-fault').innerText(), /1 to 128 characters/);
  assert.match(await page.locator('#password-fault').innerText(), /72/);
  assert.equal(await username.getAttribute('aria-invalid'), 'true');
  assert.match(String(await username.getAttribute('aria-describedby')), /username-fault/);
  assert.equal(await username.evaluate((it) => it === document.activeElement), true);

  await fillIn(page, { Username: 'taken', Password: '' });
  await send();
  const told = page.getByRole('main').getByRole('alert').filter({ hasText: 'taken' });
  await told.waitFor();
  assert.equal(await page.locator('#username-fault').isVisible(), false);

  await fillIn(page, { Username: 'free' });
  await send();
  assert.equal(await api.letsIn(await shownCredentials(page)), true);
});

inBrowser(
  'a request whose response is lost is retried with the same idempotency key',
  server,
  async ({ page, watch }) => {
    watch.announce('no answer', '/demo/access');
    await openView(page, 'demo/accesses/new', 'accesses/new');
    await page.getByLabel('Contract').selectOption('C-PAYG');
    await fillIn(page, { Username: 'sent-twice' });
    await page.route(
      '**/demo/access',
      async (route) => {
        await route.fetch();
        await route.abort('connectionreset');
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').filter({ hasText: 'No response' }).waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    assert.equal(await api.letsIn(await shownCredentials(page)), true);
  },
);

/** @param {Page} page */
const namesIn = async (page) => (await cellsOf(page, /^Accesses/)).map(([name]) => name);

/** The names that the API lists. @param {string} query */
const namesOf = async (query) => (await api.get(`/demo/access?${query}`)).map((/** @type {any} */ it) => it.name);

inBrowser('every page of a list can be opened, and shared', server, async ({ page, context }) => {
  const { id } = LISTED;
  const filter = `createdBy%3D${id}`;
  await openView(page, `demo/accesses?filter=${filter}&size=25`, 'accesses');
  const names = LISTED.accesses.map((/** @type {any} */ it) => it.name);
  const turn = (/** @type {string} */ button) =>
    leadsTo(page, 'accesses', () => page.getByRole('link', { name: button }).click());
  assert.deepEqual(await namesIn(page), names.slice(0, 25));
  assert.equal(await page.getByRole('link', { name: 'Previous page' }).count(), 0);
  await turn('Next page');
  assert.deepEqual(await namesIn(page), names.slice(25, 50));
  await turn('Last page');
  assert.deepEqual(await namesIn(page), names.slice(50));
  assert.equal(await page.getByRole('link', { name: 'Next page' }).count(), 0);
  await turn('Previous page');
  await turn('First page');
  assert.deepEqual(await namesIn(page), names.slice(0, 25));

  const number = page.getByRole('spinbutton', { name: 'Page, of 3' });
  await leadsTo(page, 'accesses', async () => {
    await number.fill('3');
    await number.press('Enter');
  });
  assert.deepEqual(await namesIn(page), names.slice(50));
  // The first visible row stays on the page.
  await leadsTo(page, 'accesses', () => page.getByRole('combobox', { name: 'Rows per page' }).selectOption('50'));
  assert.deepEqual(await namesIn(page), names.slice(50));
  await page.getByText('60 accesses').waitFor();

  const other = await context.newPage();
  await other.goto(page.url());
  await untilReady(other, 'accesses');
  assert.deepEqual(await namesIn(other), names.slice(50));

  await openView(page, `demo/accesses?filter=${filter}&size=1&page=57`, 'accesses');
  assert.deepEqual(await namesIn(page), [names[56]]);
  await openView(page, `demo/accesses?filter=${filter}&size=25&page=99`, 'accesses');
  await page.getByText('This page is empty').waitFor();
  await leadsTo(page, 'accesses', () => page.getByRole('link', { name: 'Go to the last page', exact: true }).click());
  assert.deepEqual(await namesIn(page), names.slice(50));
  await page.goBack();
  await page.getByText('This page is empty').waitFor();
});

inBrowser('the newest accesses are listed first', server, async ({ page }) => {
  const names = LISTED.accesses.map((/** @type {any} */ it) => it.name).reverse();
  await openView(page, `demo/accesses?filter=createdBy%3D${LISTED.id}&size=25&page=2`, 'accesses');
  const order = page.getByRole('combobox', { name: 'Order' });
  await leadsTo(page, 'accesses', () => order.selectOption('Newest first'));
  assert.deepEqual(await namesIn(page), names.slice(0, 25));
  await leadsTo(page, 'accesses', () => page.getByRole('link', { name: 'Last page' }).click());
  assert.deepEqual(await namesIn(page), names.slice(50));
  await page.getByText('60 accesses').waitFor();
  // A filter keeps the order, and another order keeps the filter.
  await page.getByLabel('As an expression').fill(`createdBy=${LISTED.id}&name=${names[3]}`);
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Apply' }).click());
  assert.equal(await order.inputValue(), '-createdAt');
  await leadsTo(page, 'accesses', () => order.selectOption('Oldest first'));
  assert.deepEqual(await namesIn(page), [names[3]]);
  assert.equal(new URL(page.url()).hash.includes('sort'), false);
});

inBrowser('the suspended accesses are listed', server, async ({ page }) => {
  const suspended = await api.createAccess({ deviceName: 'suspended for the list' });
  await api.createAccess({ deviceName: 'not suspended' });
  await api.changeAccess(suspended.id, { status: 'SUSPENDED' });
  await openView(page, 'demo/accesses', 'accesses');
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Condition 1.1: field').selectOption('Status');
  await page.getByLabel('Condition 1.1: Status').selectOption('Suspended');
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Apply' }).click());
  const listed = await namesIn(page);
  assert.deepEqual(listed, await namesOf('status=SUSPENDED&pageSize=50'));
  assert.ok(listed.includes('suspended for the list') && !listed.includes('not suspended'));
});

inBrowser('a filter is chosen or written, and each side updates the other', server, async ({ page }) => {
  const odd = 'pump & valve; 50%26 = "half"';
  await api.createAccess({ deviceName: odd });
  await api.createAccess({ contractId: 'C-PRE', deviceName: 'plain' });
  await openView(page, 'demo/accesses', 'accesses');
  await page.getByText('Filter', { exact: true }).click();
  const written = page.getByLabel('As an expression');
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Condition 1.1: field').selectOption('Name');
  await page.getByLabel('Condition 1.1: Name').fill(odd);
  assert.equal(await written.inputValue(), 'name=pump %26 valve%3B 50%2526 = "half"');
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Apply' }).click());
  assert.deepEqual(await namesIn(page), [odd]);
  assert.equal(await written.inputValue(), 'name=pump %26 valve%3B 50%2526 = "half"');
  assert.equal(await page.getByLabel('Condition 1.1: Name').inputValue(), odd);

  // Another alternative with two conditions, one of them a time in the user's time zone.
  await page.getByRole('button', { name: '+ or' }).click();
  await page.getByLabel('Condition 2.1: Contract').fill('C-PRE');
  await page.getByRole('button', { name: '+ and' }).nth(1).click();
  await page.getByLabel('Condition 2.2: field').selectOption('Created');
  await page.getByLabel('Condition 2.2: time in your zone').fill('2026-07-01T12:30:00');
  assert.match(await written.inputValue(), /;contractId=C-PRE&createdAt>=2026-07-01T10:30:00Z$/);
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Apply' }).click());
  const expected = await namesOf(
    `name=${encodeURIComponent(odd)};contractId=C-PRE&createdAt%3E=2026-07-01T10:30:00Z&pageSize=50`,
  );
  assert.ok(expected.includes(odd) && expected.includes('plain'));
  assert.deepEqual(await namesIn(page), expected);

  // The expression updates the conditions, too.
  await written.fill('createdAt<2026-07-01T10:30:00Z; name=plain & contractId=C-PRE');
  assert.equal(await page.getByRole('group', { name: /^Condition \d\.\d$/ }).count(), 3);
  assert.equal(await page.getByLabel('Condition 1.1: operator').inputValue(), '<');
  assert.equal(await page.getByLabel('Condition 1.1: time in your zone').inputValue(), '2026-07-01T12:30');
  assert.equal(await page.getByLabel('Condition 2.1: Name').inputValue(), 'plain');
  await page.getByRole('button', { name: 'Remove condition 1.1' }).click();
  assert.equal(await written.inputValue(), 'name=plain&contractId=C-PRE');
  await leadsTo(page, 'accesses', () => written.press('Enter'));
  assert.deepEqual(await namesIn(page), ['plain']);
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Clear' }).click());
  assert.equal(new URL(page.url()).hash.includes('filter'), false);
});

inBrowser('an invalid filter is explained, and lists nothing', server, async ({ page }) => {
  await openView(page, 'demo/accesses', 'accesses');
  await page.getByText('Filter', { exact: true }).click();
  const written = page.getByLabel('As an expression');
  for (const [text, why] of /** @type {[string, RegExp][]} */ ([
    ['colour=red', /“colour” is not a filter field\. The fields are: contractId/],
    ['contractId>C-1', /“contractId” does not support “>”/],
    ['contractId=', /has no value/],
    ['createdAt>=yesterday', /“yesterday” is not a time/],
    ['contractId=C-1&', /nothing between two separators/],
    ['nonsense', /is not a condition/],
    ['status=SUSPENDET', /“SUSPENDET” is not a status/],
    ['label.Site=x', /the key “Site” has a character other than/],
  ])) {
    await written.fill(text);
    assert.match(await page.locator('#filter-fault').innerText(), why);
    await page.getByRole('button', { name: 'Apply' }).click();
    assert.equal(await written.evaluate((it) => it === document.activeElement), true);
  }
  assert.equal(new URL(page.url()).hash, '#/demo/accesses');
  await openView(page, 'demo/accesses?filter=colour%3Dred', 'accesses');
  await page.getByRole('heading', { name: 'Invalid filter' }).waitFor();
  assert.equal(await page.getByRole('table').count(), 0);
  await openView(page, 'demo/accesses?filter=username%3Dnobody', 'accesses');
  await page.getByRole('heading', { name: 'No access matches this filter' }).waitFor();
});

/** Opens the view of an access. @param {Page} page @param {string} id */
const openAccess = (page, id) => openView(page, `demo/accesses/${id}`, 'accesses/id');

/**
 * Presses a button, and answers the question that follows.
 *
 * @param {Page} page
 * @param {string} button
 * @param {RegExp} consequence
 * @param {string} answer
 */
async function answerTo(page, button, consequence, answer) {
  await page.getByRole('main').getByRole('button', { name: button, exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  assert.match(await dialog.innerText(), consequence);
  if (answer === 'Escape') await page.keyboard.press('Escape');
  else await dialog.getByRole('button', { name: answer, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

inBrowser('a declined question changes nothing', server, async ({ page }) => {
  const { id } = await api.createAccess({ deviceName: 'left-alone' });
  await openAccess(page, id);
  for (const [button, consequence] of /** @type {[string, RegExp][]} */ ([
    ['New password', /old password is refused/],
    ['Suspend', /can’t connect/],
    ['Terminate', /can’t be undone/],
  ])) {
    for (const answer of ['Cancel', 'Escape']) await answerTo(page, button, consequence, answer);
  }
  const { headers } = await api.send('GET', `/demo/access/${id}`);
  assert.equal(headers.get('etag'), '"1"');
});

inBrowser('an access is suspended, activated and terminated', server, async ({ page }) => {
  const access = await api.createAccess({ deviceName: 'pump-7' });
  await openAccess(page, access.id);
  const facts = await factsOf(page, 'The access');
  assert.match(facts.Status, /^Active/);
  assert.equal(facts.Contract, 'C-PAYG');
  assert.match(facts.Username, new RegExp(`^${access.username}`));

  await answerTo(page, 'Suspend', /Suspend pump-7\?.*can’t connect/s, 'Suspend');
  await page.getByRole('status').getByText('pump-7 is suspended').first().waitFor();
  assert.equal(await api.letsIn(access), false);
  await answerTo(page, 'Activate', /may connect again/, 'Activate');
  await page.getByRole('status').getByText('pump-7 is active').first().waitFor();
  assert.equal(await api.letsIn(access), true);
  await answerTo(page, 'Terminate', /can’t be undone.*used by another access/s, 'Terminate permanently');
  await page.getByText('Permanently terminated').waitFor();
  assert.equal(await api.letsIn(access), false);
  const words = await page.getByRole('main').getByRole('button').allInnerTexts();
  assert.deepEqual([...new Set(words)], ['Copy']);
});

inBrowser('a planned end can be cancelled', server, async ({ page }) => {
  const { id } = await api.createAccess({ deviceName: 'kept' });
  const ends = { operationType: 'terminate', operationBody: {}, accessesIdList: [id] };
  await api.untilOver((await api.ask('POST', '/demo/access/batchUpdate', ends)).id);
  await openAccess(page, id);
  assert.match((await factsOf(page, 'The access')).Status, /^Ending/);
  await answerTo(page, 'Keep', /planned end is cancelled/, 'Keep');
  await page.getByText('no end date').waitFor();
  assert.equal((await api.get(`/demo/access/${id}`)).status, 'ACTIVE');
});

inBrowser('a new password is accepted, and the old one is refused', server, async ({ page }) => {
  const access = await api.createAccess({ deviceName: 'rotated' });
  await openAccess(page, access.id);
  await answerTo(page, 'New password', /old password is refused/, 'Set the new password');
  const generated = await shownCredentials(page);
  assert.match(generated.password, /^[A-Za-z0-9]{24}$/);
  assert.equal(await api.letsIn(access), false);
  assert.equal(await api.letsIn(generated), true);

  await page.getByRole('button', { name: 'New password' }).click();
  await page.getByLabel('Password (optional)').fill('wind in the trees');
  await page.getByRole('button', { name: 'Set the new password' }).click();
  await page.getByText('wind in the trees').waitFor();
  assert.equal(await api.letsIn(generated), false);
  assert.equal(await api.letsIn({ ...access, password: 'wind in the trees' }), true);
  await page.reload();
  await untilReady(page, 'accesses/id');
  assert.equal((await page.content()).includes('wind in the trees'), false);
});

inBrowser('a password that is set while the user leaves the view is not lost', server, async ({ page }) => {
  const access = await api.createAccess({ deviceName: 'left' });
  let release = () => {};
  const isLeft = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  await openAccess(page, access.id);
  await page.route(`**/demo/access/${access.id}`, async (route) => {
    const response = await route.fetch();
    await isLeft;
    await route.fulfill({ response });
  });
  await answerTo(page, 'New password', /old password is refused/, 'Set the new password');
  await page.getByRole('link', { name: 'Contracts' }).click();
  await untilReady(page, 'contracts');
  release();
  const dialog = page.getByRole('dialog');
  const password = await dialog.locator('#secret-password').innerText();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  assert.equal(await dialog.isVisible(), true);
  assert.equal(await api.letsIn({ ...access, password }), true);
  await dialog.getByRole('button', { name: 'I have saved the password' }).click();
  await dialog.waitFor({ state: 'detached' });
});

inBrowser('a password whose response is lost is shown as one that may be set', server, async ({ page, watch }) => {
  const access = await api.createAccess({ deviceName: 'unsure' });
  watch.announce('no answer', `/demo/access/${access.id}`);
  await openAccess(page, access.id);
  await page.route(`**/demo/access/${access.id}`, async (route) => {
    if (route.request().method() !== 'PATCH') return route.continue();
    await route.fetch();
    await route.abort('connectionreset');
  });
  await answerTo(page, 'New password', /old password is refused/, 'Set the new password');
  await page.getByRole('alert').filter({ hasText: 'The server may or may not have processed the request' }).waitFor();
  await page.getByRole('heading', { name: 'A new password may be set, but was not received' }).waitFor();
  assert.equal(await api.letsIn(access), false);

  await page.getByRole('button', { name: 'New password' }).click();
  await page.getByLabel('Password (optional)').fill('wind in the trees');
  await page.getByRole('button', { name: 'Set the new password' }).click();
  await page.getByRole('heading', { name: 'This password may or may not be set' }).waitFor();
  const shown = page.locator('#secret-password');
  const password = await shown.innerText();
  assert.equal(await api.letsIn({ ...access, password }), true);
  // Another action doesn't remove the password.
  await page.unroute(`**/demo/access/${access.id}`);
  await answerTo(page, 'Suspend', /can’t connect/, 'Suspend');
  await page.getByText('is suspended').first().waitFor();
  assert.equal(await shown.innerText(), password);
});

inBrowser('leaving the view closes its question', server, async ({ page }) => {
  const { id } = await api.createAccess({ deviceName: 'asked' });
  await openView(page, 'demo/contracts', 'contracts');
  await openAccess(page, id);
  await page.getByRole('button', { name: 'Terminate' }).click();
  await page.getByRole('dialog').waitFor();
  await leadsTo(page, 'contracts', () => page.goBack());
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.equal((await api.get(`/demo/access/${id}`)).status, 'ACTIVE');
});

inBrowser('a change by another user is shown before the user changes it again', server, async (visit) => {
  const { page, watch } = visit;
  const { id } = await api.createAccess({ deviceName: 'between' });
  watch.announce(412, `/demo/access/${id}`);
  await openAccess(page, id);
  await api.changeAccess(id, { status: 'SUSPENDED' });
  await answerTo(page, 'Terminate', /can’t be undone/, 'Terminate permanently');
  await page.getByRole('alert').filter({ hasText: 'Another user has changed it' }).waitFor();
  assert.match((await factsOf(page, 'The access')).Status, /^Suspended/);
  assert.equal((await api.get(`/demo/access/${id}`)).status, 'SUSPENDED');
  // The user can repeat the change.
  await answerTo(page, 'Terminate', /can’t be undone/, 'Terminate permanently');
  await page.getByText('Permanently terminated').waitFor();
});

inBrowser('a missing access is reported', server, async ({ page, watch }) => {
  const id = '01a1dd4d-f036-7005-9379-54b08ec1966e';
  watch.announce(404, `/demo/access/${id}`);
  await openAccess(page, id);
  assert.match(await page.getByRole('alert').innerText(), /never have existed/);
});
