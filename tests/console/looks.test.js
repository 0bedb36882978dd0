// Every view in every state, in light and dark, on a desktop and on a phone; also the user's settings: colours and time zone.

import assert from 'node:assert/strict';

import { Api } from './api.js';
import { inBrowser, openContext } from './browser.js';
import { everywhere, settle } from './everywhere.js';
import { makeFailingTenant, tokenForFailingTenant } from './failing_tenant.js';
import { startDemo, startWithIssuer } from './server.js';
import { leadsTo, openView, pasteToken, signInWith, signOut, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();
const { api } = server;
const withIssuer = await startWithIssuer();
await makeFailingTenant(server);
const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));
await operator.ask('PUT', '/-/admin/tenants/bare', {});

/** A typical fleet: most accesses are active. */
const FLEET = await api.createMany({ numberOfAccesses: 140 });
const [SUSPENDED, TERMINATED, ENDING, ACTIVE] = FLEET.accesses;
await api.changeAccess(SUSPENDED.id, { status: 'SUSPENDED' });
await api.changeAccess(TERMINATED.id, { status: 'TERMINATED' });
await api.createMany({ contractId: 'C-PRE', numberOfAccesses: 60 });
const ends = { operationType: 'terminate', operationBody: {}, accessesIdList: [ENDING.id] };
await api.untilOver((await api.ask('POST', '/demo/access/batchUpdate', ends)).id);
await api.get('/demo/product?pageSize=8&pageNumber=1');

/** Waits until every part of the view has loaded. @param {Page} page */
async function untilQuiet(page) {
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' });
}

/** @param {Page} page @param {string} route @param {string} view */
async function open(page, route, view) {
  await openView(page, route, view);
  await untilQuiet(page);
}

inBrowser('the overview', server, async ({ page }) => {
  await open(page, 'demo/overview', 'overview');
  await everywhere(page, 'overview', undefined, { onWall: true });
  await page.locator('.person > summary').click();
  await page.getByText('Colours').waitFor();
  await everywhere(page, 'person-menu');
});

inBrowser('the accesses', server, async ({ page }) => {
  await open(page, 'demo/accesses?page=2&size=25', 'accesses');
  await everywhere(page, 'accesses', undefined, { onWall: true });
  const filter = 'contractId=C-PRE&createdAt>=2026-07-01T10:30:00Z;name=pump-7';
  await open(page, `demo/accesses?filter=${encodeURIComponent(filter)}`, 'accesses');
  await page.getByRole('group', { name: 'Condition 2.1' }).waitFor();
  await everywhere(page, 'accesses-filtered');
  await open(page, 'demo/accesses?filter=username%3Dnobody', 'accesses');
  await everywhere(page, 'accesses-nothing');
  await open(page, 'demo/accesses?filter=status%3DACTIVE', 'accesses');
  await everywhere(page, 'accesses-bad-filter');
});

inBrowser('an access', server, async ({ page }) => {
  for (const [name, { id }] of /** @type {[string, { id: string }][]} */ ([
    ['suspended', SUSPENDED],
    ['terminated', TERMINATED],
    ['ending', ENDING],
    ['active', ACTIVE],
  ])) {
    await open(page, `demo/accesses/${id}`, 'accesses/id');
    await everywhere(page, `access-${name}`);
  }
  const dialog = page.getByRole('dialog');
  for (const [name, button] of [
    ['suspend', 'Suspend'],
    ['terminate', 'Terminate'],
    ['rotate', 'New password'],
  ]) {
    await page.getByRole('button', { name: button, exact: true }).click();
    await dialog.waitFor();
    await everywhere(page, `dialog-${name}`);
    if (name !== 'rotate') await dialog.getByRole('button', { name: 'Cancel' }).click();
  }
  await dialog.getByRole('button', { name: 'Set the new password' }).click();
  await page.getByText('The password is shown only once').waitFor();
  await everywhere(page, 'access-password');
});

inBrowser('labels', server, async ({ page }) => {
  await operator.ask('PUT', '/-/admin/tenants/demo', { labelKeys: ['model', 'site', 'team'] });
  const labels = { site: 'hamburg', team: 'pumps' };
  const { id, accesses } = await api.createMany({ numberOfAccesses: 12, labels });
  const long = { note: 'Replaced after the flood; the old meter is in the cellar of house 12, behind the boiler' };
  const many = Object.fromEntries(['rack', 'row', 'shelf', 'firmware'].map((key, n) => [key, `v${n}`]));
  await api.changeAccess(accesses[1].id, { labels: { ...long, ...many, model: 'SX-1276', site: null } });
  await api.changeAccess(accesses[2].id, { labels: { site: null, team: null } });
  await open(page, `demo/accesses?filter=${encodeURIComponent(`createdBy=${id}`)}`, 'accesses');
  await everywhere(page, 'accesses-labels', undefined, { onWall: true });
  await open(
    page,
    `demo/accesses?filter=${encodeURIComponent('label.site=hamburg&label.team;label.rack=7')}`,
    'accesses',
  );
  await page.getByText('A condition was ignored').waitFor();
  await everywhere(page, 'accesses-ignored');
  await open(page, `demo/accesses/${accesses[1].id}`, 'accesses/id');
  await everywhere(page, 'access-labels');
  await page.getByRole('button', { name: 'Change the labels' }).click();
  await page.getByLabel('Label 1: key').fill('Firmware');
  await page.getByRole('button', { name: 'Save the labels' }).click();
  await everywhere(page, 'dialog-labels');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await open(page, 'demo/overview', 'overview');
  await page.getByLabel('Label', { exact: true }).selectOption('site');
  await page.getByRole('heading', { name: 'Accesses by label' }).scrollIntoViewIfNeeded();
  await page.getByRole('table', { name: 'Accesses by the label site' }).waitFor();
  await everywhere(page, 'overview-labels', undefined, { onWall: true });
  await open(page, 'demo/batches/new?kind=change', 'batches/new');
  await page.getByRole('button', { name: 'Add a label' }).click();
  await everywhere(page, 'new-batch-labels');
});

inBrowser('a new access', server, async ({ page, watch }) => {
  watch.announce(400, '/demo/access');
  await open(page, 'demo/accesses/new', 'accesses/new');
  await everywhere(page, 'new-access');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('Username (optional)').fill('x'.repeat(129));
  await page.getByLabel('Password (optional)').fill('x'.repeat(73));
  await page.getByRole('button', { name: 'Add a label' }).click();
  await page.getByLabel('Label 1: key').fill('Site');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Label 1: the value is missing.').waitFor();
  await everywhere(page, 'new-access-labels');
  await page.getByRole('button', { name: 'Remove label 1' }).click();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.locator('#username-fault').waitFor();
  await everywhere(page, 'new-access-errors');
  await page.getByLabel('Username (optional)').fill('');
  await page.getByLabel('Password (optional)').fill('');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The password is shown only once').waitFor();
  await everywhere(page, 'new-access-done');
});

inBrowser('batches, and a new one', server, async ({ page }) => {
  await open(page, 'demo/batches', 'batches');
  await everywhere(page, 'batches');
  await open(page, 'demo/batches/new', 'batches/new');
  await everywhere(page, 'new-batch-number');
  await page.getByLabel('A pasted list').check();
  await page.getByLabel('The list').fill('pump-1\npump-2\npump-3');
  await page.getByRole('table', { name: 'Preview of the accesses' }).waitFor();
  await everywhere(page, 'new-batch-list');
  await page.getByLabel('A CSV file').check();
  const rows = 'username;password;deviceName;colour\nmeter-1;;cellar;red\n meter-2;;;\nmeter-1;;attic;blue\n';
  const file = { name: 'fleet.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) };
  await page.getByLabel('The file').setInputFiles(file);
  await page.getByRole('alert').filter({ hasText: 'can’t be sent' }).waitFor();
  await everywhere(page, 'new-batch-file');
  await page.getByLabel('Change accesses').check();
  await page.getByLabel('Access IDs').fill(`${ACTIVE.id}\n${ENDING.id}`);
  await everywhere(page, 'new-batch-change');
});

inBrowser('a finished batch', server, async ({ page }) => {
  await open(page, `demo/batches/${FLEET.id}`, 'batches/id');
  await everywhere(page, 'batch');
  const accesses = [{ username: ACTIVE.username, deviceName: 'pump-1' }, { deviceName: 'pump-2' }];
  const failed = await api.createMany({ accesses });
  assert.equal(failed.state, 'FAILED');
  await open(page, `demo/batches/${failed.id}`, 'batches/id');
  await everywhere(page, 'batch-failed');
  const small = { productOfferingId: 'PO-SMALL', billingModel: 'PAY_PER_USE', maxAccesses: 1 };
  await api.ask('PUT', '/-/admin/tenants/demo/contracts/C-SMALL', small);
  const rejected = await api.createMany({ contractId: 'C-SMALL', numberOfAccesses: 2 });
  assert.equal(rejected.state, 'REJECTED');
  await open(page, `demo/batches/${rejected.id}`, 'batches/id');
  await everywhere(page, 'batch-rejected');
});

inBrowser('a running batch, and a stopped one', server, async ({ page }) => {
  const id = await api.beginSlowly('looks');
  try {
    await open(page, `demo/batches/${id}`, 'batches/id');
    await page.waitForFunction(() => Number(document.querySelector('progress')?.value) > 0);
    await everywhere(page, 'batch-running');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog').waitFor();
    await everywhere(page, 'dialog-stop');
    await page.getByRole('button', { name: 'Stop the batch' }).click();
    await page.getByText('Stopped').waitFor();
    await page.getByRole('table').waitFor();
    await everywhere(page, 'batch-stopped');
  } finally {
    await api.stop(id);
  }
});

inBrowser('connections', server, async ({ page }) => {
  await open(page, 'demo/connections?size=25', 'connections');
  await everywhere(page, 'connections', undefined, { onWall: true });
  const { entities } = await api.get('/demo/product?pageSize=4&pageNumber=1');
  const ids = entities.map((/** @type {any} */ it) => it.id);
  const numbers = `${ids.join('+')}+8949000000000000001+nonsense!`;
  await open(page, `demo/connections/find?numbers=${numbers}`, 'connections/find');
  await page.getByRole('heading', { name: 'Not recognised (1)' }).waitFor();
  await everywhere(page, 'find');
  await open(page, `demo/connections/${ids[0]}`, 'connections/id');
  await everywhere(page, 'connection');
});

inBrowser('connections where accounts fail', server, async ({ page }) => {
  await signInWith(page, await tokenForFailingTenant(server), 'failing/connections?size=25', 'connections');
  await page.getByRole('heading', { name: /Incomplete results/ }).waitFor();
  await everywhere(page, 'connections-problems');
  await open(page, 'failing/connections/find?numbers=8949000000000000001+BETA-perhaps', 'connections/find');
  await page.getByRole('heading', { name: 'Unknown (2)' }).waitFor();
  await everywhere(page, 'find-unknown');
});

inBrowser('contracts, a check, and an unknown address', server, async ({ page, watch }) => {
  watch.announce(401, '/demo/verify');
  await open(page, 'demo/contracts', 'contracts');
  await everywhere(page, 'contracts');
  const { username, password } = await api.createAccess();
  await open(page, 'demo/check', 'check');
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('heading', { name: 'Refused' }).waitFor();
  await everywhere(page, 'check-refused');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('heading', { name: 'May connect' }).waitFor();
  await everywhere(page, 'check-passed');
  await open(page, 'demo/nowhere/at/all', 'not-found');
  await everywhere(page, 'not-found');
});

inBrowser('an empty estate', server, async ({ page }) => {
  const token = await server.makeToken(['bare'], 'access:read access:write product:read');
  await signInWith(page, token, 'bare/accesses', 'accesses');
  await everywhere(page, 'accesses-empty');
  for (const view of ['batches', 'connections', 'contracts']) {
    await open(page, `bare/${view}`, view);
    await everywhere(page, `${view}-empty`);
  }
});

inBrowser('signing in to the demo, and with a refused token', server, async ({ page, watch }) => {
  watch.announce(401, '/-/me');
  await open(page, 'demo/overview', 'overview');
  await signOut(page);
  await page.getByRole('button', { name: 'Open the demo' }).waitFor();
  await everywhere(page, 'sign-in-demo');
  await pasteToken(page, 'nonsense');
  await page.getByRole('alert').waitFor();
  await everywhere(page, 'sign-in-refused');
  // Without the stored tenant, the console asks for one.
  await page.evaluate(() => localStorage.clear());
  await pasteToken(page, await server.makeToken(['*'], 'admin access:read'));
  await untilReady(page, 'tenant');
  await everywhere(page, 'tenant');
  await leadsTo(page, 'connections', () => page.goto('/-/console/#/demo/connections'));
  await everywhere(page, 'not-allowed');
});

inBrowser(
  'signing in at an issuer',
  withIssuer.server,
  async ({ page }) => {
    await openView(page, 'acme/overview', 'sign-in');
    await page.getByRole('button', { name: /^Sign in at/ }).waitFor();
    await everywhere(page, 'sign-in-issuer');
  },
  [withIssuer.issuer.url],
);

inBrowser('on a phone, the menu shows the current view', server, async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const view of ['overview', 'accesses', 'batches', 'connections', 'contracts', 'check']) {
    await openView(page, `demo/${view}`, view);
    await settle(page);
    const { left, right } = await page
      .getByRole('navigation', { name: 'Views' })
      .locator('[aria-current="page"]')
      .evaluate((it) => it.getBoundingClientRect());
    assert.ok(left >= 0 && right <= 360, `${view}: from ${left} to ${right}`);
  }
});

/** Waits until the page has the theme's colours. @param {Page} page @param {'light' | 'dark'} theme */
const untilIs = (page, theme) =>
  page.waitForFunction((wanted) => {
    const [red, green, blue] = (getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    const brightness = (red + green + blue) / 3;
    return wanted === 'light' ? brightness > 200 : brightness < 60;
  }, theme);

inBrowser('colours follow the system, unless the user chooses', server, async ({ page, context }) => {
  const choose = async (/** @type {string} */ word) => {
    await page.locator('.person > summary').click();
    await page.getByLabel(word).check();
    await page.keyboard.press('Escape');
  };
  await openView(page, 'demo/contracts', 'contracts');
  await untilIs(page, 'light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await untilIs(page, 'dark');
  await choose('Light');
  await untilIs(page, 'light');
  await page.reload();
  await untilReady(page, 'contracts');
  await untilIs(page, 'light');

  await page.emulateMedia({ colorScheme: 'light' });
  await choose('Dark');
  await untilIs(page, 'dark');
  const other = await context.newPage();
  await openView(other, 'demo/contracts', 'contracts');
  await untilIs(other, 'dark');
  await other.locator('.person > summary').click();
  assert.equal(await other.getByLabel('Dark').isChecked(), true);
  await choose('System');
  await page.reload();
  await untilReady(page, 'contracts');
  await untilIs(page, 'light');
});

/** The time of day in a time zone. @param {string} time @param {string} timeZone */
const clock = (time, timeZone) =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone }).format(new Date(time));

inBrowser('times are in the user’s time zone, with UTC as the tooltip', server, async ({ page }) => {
  const { startDateTime } = await api.get(`/demo/access/${ACTIVE.id}`);
  const [utcDay, utcTime] = startDateTime.split('T');
  const look = async (/** @type {Page} */ there, /** @type {string} */ zone) => {
    await openView(there, `demo/accesses/${ACTIVE.id}`, 'accesses/id');
    const time = there.getByRole('region', { name: 'The access' }).locator('time').first();
    assert.ok((await time.innerText()).includes(clock(startDateTime, zone)), `${zone}: ${await time.innerText()}`);
    assert.equal(await time.getAttribute('datetime'), startDateTime);
    const title = await time.getAttribute('title');
    assert.equal(title, `${utcDay} ${utcTime.slice(0, 8)} UTC`);
  };
  await look(page, 'Europe/Berlin');
  const far = await openContext(server, { timezoneId: 'Asia/Tokyo' });
  try {
    await look(await far.newPage(), 'Asia/Tokyo');
  } finally {
    await far.close();
  }
});
