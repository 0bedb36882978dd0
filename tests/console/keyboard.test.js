// The console by keyboard alone: the focus is visible, reaches every control, and is never lost.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { choose, findLostStops, focusIsKept, focusIsOn, focusOf, tabTo } from './keys.js';
import { startDemo } from './server.js';
import { openView, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;

/** Accesses for several pages. */
const LISTED = await api.createMany({ numberOfAccesses: 60 });

/** A hub that gets no event, as no journal begins during the tests. */
const HUB = { callback: 'https://crm.example.com/events', query: 'eventType=JournalStartEvent' };

/** @param {Page} page */
const fragmentOf = (page) => new URL(page.url()).hash;

/** Dead letters as the server lists them. */
const DEAD_LETTERS = [3, 4].map((eventNumber) => ({
  eventNumber,
  attempts: 9,
  since: '2026-11-15T09:59:12Z',
  error: 'the subscriber answered 500',
}));

/** Whether the focus is in a dialog. @param {Page} page */
const isInDialog = (page) => page.evaluate(() => document.activeElement?.closest('dialog') !== null);

inBrowser('the first focus stop skips the menu', server, async ({ page }) => {
  await openView(page, 'demo/accesses', 'accesses');
  await page.keyboard.press('Tab');
  const first = await focusOf(page);
  assert.deepEqual([first.name, first.trouble], ['Skip to content', '']);
  await page.keyboard.press('Enter');
  await focusIsOn(page, 'Accesses');
  assert.equal(fragmentOf(page), '#/demo/accesses');
  await page.keyboard.press('Tab');
  await focusIsOn(page, 'Find an access');
});

inBrowser('every control is a focus stop, and shows its focus', server, async ({ page }) => {
  const { id: hub } = await api.ask('POST', '/demo/hub', HUB);
  await page.route(`**/demo/hub/${hub}/deadLetter?*`, (route) => route.fulfill({ json: DEAD_LETTERS }));
  const [{ id }] = LISTED.accesses;
  const [product] = (await api.get('/demo/product?pageSize=4&pageNumber=1')).entities;
  const find = `connections/find?numbers=${product.id}`;
  /** @type {string[]} */
  const wrong = [];
  for (const [route, view] of [
    ['overview', 'overview'],
    ['accesses?filter=contractId%3DC-PAYG&size=25&page=2', 'accesses'],
    ['accesses/new', 'accesses/new'],
    [`accesses/${id}`, 'accesses/id'],
    ['batches', 'batches'],
    ['batches/new', 'batches/new'],
    [`batches/${LISTED.id}`, 'batches/id'],
    ['connections?size=25', 'connections'],
    [find, 'connections/find'],
    [`connections/${product.id}`, 'connections/id'],
    ['contracts', 'contracts'],
    ['check', 'check'],
    ['hubs', 'hubs'],
    ['hubs/new', 'hubs/new'],
    [`hubs/${hub}`, 'hubs/id'],
    ['audit?eventType=ContractCreateEvent', 'audit'],
    ['nowhere', 'not-found'],
  ]) {
    await openView(page, `demo/${route}`, view);
    await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' });
    if (route === find) await page.getByRole('table').waitFor();
    wrong.push(...(await findLostStops(page)).map((what) => `${view}: ${what}`));
  }
  assert.deepEqual(wrong, []);
});

inBrowser('an access is opened, suspended and given a new password', server, async ({ page }) => {
  const access = await api.createAccess({ deviceName: 'by-keyboard' });
  await openView(page, 'demo/overview', 'overview');
  await choose(page, 'Accesses');
  await untilReady(page, 'accesses');
  await focusIsOn(page, 'Accesses');
  await choose(page, 'Last page');
  await page.getByText('by-keyboard').waitFor();
  await choose(page, 'by-keyboard');
  await untilReady(page, 'accesses/id');
  await focusIsOn(page, 'by-keyboard');

  // A dialog takes the focus, keeps it, and gives it back.
  await choose(page, 'Suspend');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  assert.equal(await isInDialog(page), true);
  await focusIsOn(page, 'Cancel');
  for (const key of ['Tab', 'Tab', 'Tab', 'Tab', 'Shift+Tab', 'Shift+Tab', 'Shift+Tab']) {
    await page.keyboard.press(key);
    // Outside the dialog, only the browser's own controls take the focus.
    assert.ok((await isInDialog(page)) || (await focusOf(page)).isNothing, (await focusOf(page)).name);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await focusIsOn(page, 'Suspend');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  // Enter alone declines.
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await focusIsOn(page, 'Suspend');
  assert.equal((await api.get(`/demo/access/${access.id}`)).status, 'ACTIVE');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await choose(page, 'Suspend');
  await page.getByText('the next check refuses its device').first().waitFor();
  await focusIsKept(page, 'a change');
  assert.equal((await api.get(`/demo/access/${access.id}`)).status, 'SUSPENDED');

  await choose(page, 'New password');
  await dialog.waitFor();
  assert.equal(await isInDialog(page), true);
  await tabTo(page, 'Password (optional)');
  await page.keyboard.type('sun on the sea');
  await page.keyboard.press('Enter');
  await page.getByText('sun on the sea').waitFor();
  await focusIsOn(page, 'Copy the username');
});

inBrowser('a dialog whose action fails gives the focus back', server, async ({ page, watch }) => {
  const { id } = await api.createAccess({ deviceName: 'unlucky' });
  watch.announce(503, `/demo/access/${id}`);
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await page.route(`**/demo/access/${id}`, (route) => route.fulfill({ status: 503, json: { title: 'Too busy' } }));
  await choose(page, 'Terminate');
  await page.getByRole('dialog').waitFor();
  await choose(page, 'Terminate permanently');
  await page.getByRole('heading', { name: 'Too busy' }).waitFor();
  await focusIsKept(page, 'a change that failed');
});

inBrowser('an access is created after its faults are corrected', server, async ({ page, watch }) => {
  watch.announce(400, '/demo/access');
  watch.announce(503, '/demo/access');
  await openView(page, 'demo/accesses', 'accesses');
  await choose(page, 'Create an access');
  await untilReady(page, 'accesses/new');
  await focusIsOn(page, 'Create an access');
  await tabTo(page, 'Contract');
  await page.keyboard.type('C-PAYG');
  await tabTo(page, 'Device name (optional)');
  await page.keyboard.type('typed');
  await tabTo(page, 'Username (optional)');
  await page.keyboard.type('x'.repeat(129));
  await page.keyboard.press('Enter');
  await page.locator('#username-fault').waitFor();
  await focusIsOn(page, 'Username (optional)');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('typed-in');

  // After a refusal, the button still has the focus.
  await page.route('**/demo/access', (route) => route.fulfill({ status: 503, json: { title: 'Too busy' } }), {
    times: 1,
  });
  await choose(page, 'Create');
  await page.getByRole('heading', { name: 'Too busy' }).waitFor();
  await focusIsOn(page, 'Create');
  await page.keyboard.press('Enter');
  await page.getByText('The password is shown only once').waitFor();
  await focusIsOn(page, 'Copy the username');
  const [created] = await api.get('/demo/access?username=typed-in');
  assert.deepEqual([created.deviceName, created.contractId], ['typed', 'C-PAYG']);
  await tabTo(page, 'Create another', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await focusIsOn(page, 'Device name (optional)');
});

inBrowser('a filter is built, applied and cleared', server, async ({ page }) => {
  await openView(page, 'demo/accesses', 'accesses');
  await choose(page, 'Filter');
  await choose(page, '+ Add a condition');
  await focusIsOn(page, 'Condition 1.1: Contract');
  await page.keyboard.type('C-PRE');
  await choose(page, '+ or');
  await focusIsOn(page, 'Condition 2.1: Contract');
  await tabTo(page, 'Condition 2.1: field', 'Shift+Tab');
  await page.keyboard.type('Username');
  await focusIsOn(page, 'Condition 2.1: field');
  await tabTo(page, 'Condition 2.1: Username');
  await page.keyboard.type('nobody');
  await choose(page, 'Remove condition 2.1');
  await focusIsOn(page, '+ or');
  await choose(page, 'Apply');
  await page.getByRole('heading', { name: 'No access matches this filter' }).waitFor();
  assert.equal(fragmentOf(page), '#/demo/accesses?filter=contractId%3DC-PRE&size=50&page=1');
  await focusIsOn(page, 'Apply');
  await choose(page, 'Clear');
  await page.getByRole('table').waitFor();
  await focusIsKept(page, 'the filter was cleared');
});

inBrowser('turning pages keeps the focus', server, async ({ page }) => {
  await openView(page, `demo/accesses?filter=createdBy%3D${LISTED.id}&size=25`, 'accesses');
  const row = (/** @type {number} */ n) => page.getByRole('link', { name: LISTED.accesses[n].name });
  await choose(page, 'Next page');
  await row(25).waitFor();
  await focusIsOn(page, 'Next page');
  await page.keyboard.press('Enter');
  await row(50).waitFor();
  // The last page has no link to a next one.
  await focusIsKept(page, 'the last page was turned to');
  await tabTo(page, 'Page, of 3');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('1');
  await page.keyboard.press('Enter');
  await row(0).waitFor();
  await focusIsOn(page, 'Page, of 3');
  await tabTo(page, 'Rows per page');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await row(49).waitFor();
  await focusIsOn(page, 'Rows per page');
});

inBrowser('a batch is filled in and sent, and its passwords are read', server, async ({ page }) => {
  await openView(page, 'demo/batches', 'batches');
  await choose(page, 'New batch');
  await untilReady(page, 'batches/new');
  await tabTo(page, 'Create accesses');
  await page.keyboard.press('ArrowDown');
  await focusIsOn(page, 'Change accesses');
  await page.getByLabel('Access IDs').waitFor();
  await page.keyboard.press('ArrowUp');
  await focusIsOn(page, 'Create accesses');
  await tabTo(page, 'Contract');
  await page.keyboard.type('C-PAYG');
  await tabTo(page, 'How many');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('2');
  await choose(page, 'Send the batch');
  await untilReady(page, 'batches/id');
  await page.getByRole('region', { name: 'The batch' }).getByText('Done', { exact: true }).waitFor();
  await focusIsKept(page, 'a batch was sent');
  const { accesses } = await api.get(`/demo/access/batch/${fragmentOf(page).split('/')[3]}`);
  const [download] = await Promise.all([page.waitForEvent('download'), choose(page, 'Download CSV')]);
  await download.path();
  await focusIsOn(page, 'Download CSV');
  await choose(page, `Show the password of ${accesses[1].name}`);
  await page.getByText(accesses[1].password, { exact: true }).waitFor();
  await focusIsOn(page, /^Copy the password/);
});

inBrowser('credentials are checked repeatedly', server, async ({ page, watch }) => {
  const { username, password } = await api.createAccess();
  watch.announce(401, '/demo/verify');
  await openView(page, 'demo/check', 'check');
  await tabTo(page, 'Username');
  await page.keyboard.type(username);
  await tabTo(page, 'Password');
  await page.keyboard.type('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Refused' }).waitFor();
  await focusIsOn(page, 'Password');
  await page.keyboard.press('Control+A');
  await page.keyboard.type(password);
  await choose(page, 'Check');
  await page.getByRole('heading', { name: 'May connect' }).waitFor();
  await focusIsOn(page, 'Check');
});

inBrowser('connections are searched for', server, async ({ page }) => {
  const [product] = (await api.get('/demo/product?pageSize=4&pageNumber=1')).entities;
  await openView(page, 'demo/connections', 'connections');
  await choose(page, 'Find by numbers');
  await untilReady(page, 'connections/find');
  await tabTo(page, 'Numbers');
  await page.keyboard.type(`${product.id} BETA-nowhere`);
  await choose(page, 'Find');
  await page.getByRole('heading', { name: 'Not found (1)' }).waitFor();
  await focusIsOn(page, 'Find');
  await choose(page, product.id);
  await untilReady(page, 'connections/id');
  await focusIsOn(page, product.id);
});

inBrowser('a hub is made, paused, resumed and deleted', server, async ({ page, watch }) => {
  watch.announce(400, '/demo/hub');
  await openView(page, 'demo/overview', 'overview');
  await choose(page, 'Hubs');
  await untilReady(page, 'hubs');
  await focusIsOn(page, 'Hubs');
  await choose(page, 'New hub');
  await untilReady(page, 'hubs/new');
  await tabTo(page, 'Callback');
  await page.keyboard.type('crm.example.com');
  await page.keyboard.press('Enter');
  await page.locator('#callback-fault').waitFor();
  await focusIsOn(page, 'Callback');
  await page.keyboard.press('Home');
  await page.keyboard.type('https://');
  await tabTo(page, 'Access created');
  await page.keyboard.press('Space');
  await tabTo(page, 'TMF event');
  await page.keyboard.press('ArrowDown');
  await focusIsOn(page, 'CloudEvent, whole in the body');
  await tabTo(page, 'One event');
  await page.keyboard.press('ArrowDown');
  await tabTo(page, 'Events in one message, at most');
  await choose(page, 'Create');
  await page.getByRole('heading', { name: 'The secret is shown only once' }).waitFor();
  await focusIsOn(page, 'Copy the secret');
  await tabTo(page, 'Open the hub', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await untilReady(page, 'hubs/id');
  await focusIsOn(page, 'https://crm.example.com');

  const dialog = page.getByRole('dialog');
  await choose(page, 'Pause');
  await dialog.waitFor();
  await focusIsOn(page, 'Cancel');
  await choose(page, 'Pause');
  await page.getByRole('main').getByText('The hub is paused.').waitFor();
  await focusIsKept(page, 'a hub was paused');
  await choose(page, 'Resume');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await focusIsKept(page, 'a hub was resumed');
  await choose(page, 'New secret');
  await dialog.waitFor();
  await choose(page, 'Make a new secret');
  await page.getByRole('heading', { name: 'The secret is shown only once' }).waitFor();
  await focusIsOn(page, 'Copy the secret');
  await tabTo(page, 'Delete', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await choose(page, 'Delete the hub');
  await page.getByRole('main').getByText('The hub is deleted.').waitFor();
  await focusIsKept(page, 'a hub was deleted');
  await choose(page, 'All hubs');
  await untilReady(page, 'hubs');
});

inBrowser('dead letters are selected and sent again without losing the focus', server, async ({ page }) => {
  const { id } = await api.ask('POST', '/demo/hub', HUB);
  let letters = DEAD_LETTERS;
  await page.route(`**/demo/hub/${id}/deadLetter?*`, (route) => route.fulfill({ json: letters }));
  await page.route(`**/demo/hub/${id}/replay`, (route) => {
    const { eventNumbers } = route.request().postDataJSON();
    letters = letters.filter((it) => !eventNumbers.includes(it.eventNumber));
    return route.fulfill({ json: { replayed: eventNumbers.length } });
  });
  await openView(page, `demo/hubs/${id}`, 'hubs/id');
  const sent = page.getByRole('main').getByText('1 event waits to be sent again.');
  await choose(page, 'Send again: event 3');
  await sent.waitFor();
  await focusIsOn(page, /^(Select event 4|Send again: event 4)$/);
  await tabTo(page, 'Select event 4', 'Shift+Tab');
  await page.keyboard.press('Space');
  await tabTo(page, 'Send the selected again (1)', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('The server has given up no event.').waitFor();
  await focusIsKept(page, 'the last dead letter was sent again');
});

inBrowser('a failed part is retried without losing the focus', server, async ({ page, watch }) => {
  watch.announce(503, '/demo/summary');
  await page.route('**/demo/summary', (route) => route.fulfill({ status: 503, json: { title: 'Too busy' } }), {
    times: 1,
  });
  await openView(page, 'demo/overview', 'overview');
  await page.getByRole('heading', { name: 'Too busy' }).waitFor();
  // The view would poll later than the user presses the key.
  await choose(page, 'Try again');
  await page.getByRole('heading', { name: 'Accesses by contract' }).waitFor();
  await focusIsKept(page, 'a part was tried again');

  watch.announce(503, '/demo/contract');
  await page.route('**/demo/contract*', (route) => route.fulfill({ status: 503, json: { title: 'Too busy' } }), {
    times: 1,
  });
  await choose(page, 'Contracts');
  await page.getByRole('heading', { name: 'Too busy' }).waitFor();
  await choose(page, 'Try again');
  await page.getByRole('table').waitFor();
  await focusIsKept(page, 'a view was tried again');
});

inBrowser('colours are chosen, and the user signs out and in again', server, async ({ page, watch }) => {
  watch.announce(401, '/-/me');
  const token = await server.makeToken(['demo'], 'access:read');
  await openView(page, 'demo/contracts', 'contracts');
  await tabTo(page, 'demo');
  await page.keyboard.press('Enter');
  await tabTo(page, 'System');
  await page.keyboard.press('ArrowDown');
  await focusIsOn(page, 'Light');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
  await page.keyboard.press('Escape');
  await focusIsOn(page, 'demo');
  assert.equal(await page.getByText('Colours').isVisible(), false);
  await page.keyboard.press('Enter');
  await choose(page, 'Sign out');
  await untilReady(page, 'sign-in');
  await focusIsOn(page, 'Sign in');

  await tabTo(page, 'Token');
  await page.keyboard.type('nonsense');
  await choose(page, 'Sign in with the token');
  await page.getByRole('alert').waitFor();
  await focusIsKept(page, 'a token was refused');
  await tabTo(page, 'Token', 'Shift+Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(token);
  await choose(page, 'Sign in with the token');
  await untilReady(page, 'overview');
  await focusIsOn(page, 'Overview');
});
