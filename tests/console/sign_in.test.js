// Signing in and out: to the demo, with a token, and with limited scopes.

import assert from 'node:assert/strict';
import { before } from 'node:test';

import { Api } from './api.js';
import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView, pasteToken, signInWith, signOut, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const server = await startDemo();

before(async () => {
  const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));
  await operator.ask('PUT', '/-/admin/tenants/acme', {});
  const contract = { productOfferingId: 'PO-ACME', billingModel: 'PAY_PER_USE' };
  await operator.ask('PUT', '/-/admin/tenants/acme/contracts/C-ACME', contract);
});

/** @param {Page} page */
const menuOf = (page) => page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts();

/** @param {Page} page */
const fragmentOf = (page) => new URL(page.url()).hash;

inBrowser('a user who leaves the demo can return', server, async ({ page }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  await signOut(page);
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Sign in');
  assert.equal(await page.getByRole('navigation', { name: 'Views' }).count(), 0);
  await page.reload();
  await untilReady(page, 'sign-in');
  await page.getByRole('button', { name: 'Open the demo' }).click();
  await untilReady(page, 'overview');
  assert.equal(fragmentOf(page), '#/demo/overview');
  // The token is only in the tab's session storage.
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('eyJ')), false);
});

inBrowser('a pasted token signs the user in', server, async ({ page, watch }) => {
  const token = await server.makeToken(['demo'], 'access:read');
  watch.announce(401, '/-/me');
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  await signOut(page);
  for (const bad of ['nonsense', `${token.slice(0, -8)}AAAAAAAA`]) {
    await pasteToken(page, bad);
    const told = page.getByRole('alert');
    await told.waitFor();
    assert.match(await told.innerText(), /token/i);
    assert.equal(await page.getByLabel('Token', { exact: true }).inputValue(), bad);
  }
  await pasteToken(page, ` Bearer ${token}\n`);
  await untilReady(page, 'overview');
  await page.reload();
  await untilReady(page, 'overview');
});

inBrowser('a read-only session is offered no changes', server, async ({ page }) => {
  const { id } = await server.api.createAccess({ deviceName: 'looked-at' });
  await signInWith(page, await server.makeToken(['demo'], 'access:read'), 'demo/accesses', 'accesses');
  assert.deepEqual(await menuOf(page), ['Overview', 'Accesses', 'Batches', 'Contracts']);
  for (const [route, view] of [
    ['overview', 'overview'],
    ['accesses', 'accesses'],
    [`accesses/${id}`, 'accesses/id'],
    ['batches', 'batches'],
    ['contracts', 'contracts'],
  ]) {
    await openView(page, `demo/${route}`, view);
    const offered = page.getByRole('main').locator('a, button');
    const words = (await offered.allInnerTexts()).join('\n');
    assert.doesNotMatch(words, /create|new|suspend|terminate|password|stop/i, route);
  }
  for (const [route, view, scope] of [
    ['accesses/new', 'accesses/new', 'access:write'],
    ['batches/new', 'batches/new', 'access:write'],
    ['connections', 'connections', 'product:read'],
    ['check', 'check', 'access:verify'],
  ]) {
    await openView(page, `demo/${route}`, view);
    const said = await page.getByRole('main').innerText();
    assert.ok(said.includes('Not permitted') && said.includes(scope), `${route}: ${said}`);
  }
});

inBrowser('a session starts at the first view that it may see', server, async ({ page }) => {
  await signInWith(page, await server.makeToken(['demo'], 'access:verify'), '', 'check');
  assert.deepEqual(await menuOf(page), ['Check']);
  await signOut(page);
  await signInWith(page, await server.makeToken(['demo'], 'product:read'), 'demo/overview', 'overview');
  assert.deepEqual(await menuOf(page), ['Overview', 'Connections']);
});

inBrowser('a token for another tenant is refused with advice', server, async ({ page, watch }) => {
  watch.announce(403, '/demo/access');
  watch.announce(403, '/demo/contract');
  await signInWith(page, await server.makeToken(['acme'], 'access:read'), 'demo/accesses', 'accesses');
  const told = page.getByRole('main').getByRole('alert');
  await told.waitFor();
  assert.match(await told.innerText(), /sign-in does not cover this/);
});

inBrowser('a token for several tenants switches between them', server, async ({ page }) => {
  const token = await server.makeToken(['demo', 'acme'], 'access:read access:write');
  await signInWith(page, token, 'demo/contracts', 'contracts');
  const choice = page.getByRole('combobox', { name: 'Tenant' });
  await choice.waitFor();
  assert.deepEqual(await choice.getByRole('option').allInnerTexts(), ['acme', 'demo']);
  await leadsTo(page, 'contracts', () => choice.selectOption('acme'));
  assert.equal(fragmentOf(page), '#/acme/contracts');
  assert.deepEqual(
    (await cellsOf(page, /Contracts/)).map(([id]) => id),
    ['C-ACME'],
  );
  await openView(page, 'acme/accesses/new', 'accesses/new');
  await leadsTo(page, 'accesses/new', () => choice.selectOption('demo'));
  assert.equal(fragmentOf(page), '#/demo/accesses/new');
  // The next visit starts with the last tenant.
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  assert.equal(fragmentOf(page), '#/demo/overview');
});

inBrowser('a token for all tenants chooses one', server, async ({ page }) => {
  await signInWith(page, await server.makeToken(['*'], 'admin access:read'), '', 'tenant');
  assert.deepEqual(await page.getByRole('main').getByRole('link').allInnerTexts(), ['acme', 'demo']);
  await page.getByRole('main').getByRole('link', { name: 'acme' }).click();
  await untilReady(page, 'overview');
  const choice = page.getByRole('combobox', { name: 'Tenant' });
  await choice.waitFor();
  assert.deepEqual(await choice.getByRole('option').allInnerTexts(), ['acme', 'demo']);
  await leadsTo(page, 'overview', () => choice.selectOption('demo'));
  assert.equal(fragmentOf(page), '#/demo/overview');
});

inBrowser('a session that may not list tenants names one', server, async ({ page }) => {
  await signInWith(page, await server.makeToken(['*'], 'access:read'), '', 'tenant');
  await page.getByLabel('Tenant', { exact: true }).fill('acme');
  await page.getByRole('button', { name: 'Open' }).click();
  await untilReady(page, 'overview');
  await page.getByRole('banner').getByRole('link', { name: 'Change tenant' }).click();
  await untilReady(page, 'tenant');
});

/**
 * Replaces the token of every request by one that the server refuses.
 *
 * @param {Page} page
 */
async function spoilToken(page) {
  await page.route('**/demo/**', (route) => {
    const headers = { ...route.request().headers(), authorization: 'Bearer spoilt' };
    return route.continue({ headers });
  });
}

/** @param {Page} page @param {string} token @param {string} view */
async function signInAgain(page, token, view) {
  await untilReady(page, 'sign-in');
  assert.match(await page.getByRole('alert').innerText(), /sign-in has expired/);
  await page.unroute('**/demo/**');
  await pasteToken(page, token);
  await untilReady(page, view);
}

inBrowser(
  'an expired token leads to a new sign-in, after which the user continues',
  server,
  async ({ page, watch }) => {
    const { id } = await server.api.createAccess({ deviceName: 'in-the-middle' });
    const token = await server.makeToken(['demo'], 'access:read access:write access:verify product:read');
    watch.announce(401, /^\/demo\//);

    // While opening another view.
    await signInWith(page, token, 'demo/overview', 'overview');
    await spoilToken(page);
    await page.getByRole('link', { name: 'Contracts' }).click();
    await signInAgain(page, token, 'contracts');

    // While changing an access.
    await openView(page, `demo/accesses/${id}`, 'accesses/id');
    await spoilToken(page);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await signInAgain(page, token, 'accesses/id');
    assert.equal(fragmentOf(page), `#/demo/accesses/${id}`);
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'in-the-middle');

    // While a part of the view loads.
    await openView(page, 'demo/contracts', 'contracts');
    await spoilToken(page);
    await page.getByRole('link', { name: 'Batches' }).click();
    await signInAgain(page, token, 'batches');

    // While polling.
    await openView(page, 'demo/overview', 'overview');
    await page
      .getByRole('heading', { name: /access/ })
      .first()
      .waitFor();
    await spoilToken(page);
    await signInAgain(page, token, 'overview');
  },
);

inBrowser('inputs are restored for the same user, and for no other session', server, async (visit) => {
  const { page, watch } = visit;
  const scope = 'access:read access:write';
  watch.announce(401, '/demo/access');
  await signInWith(page, await server.makeToken(['demo'], scope), 'demo/accesses/new', 'accesses/new');
  const name = page.getByLabel('Device name (optional)');
  const losing = async () => {
    await page.getByLabel('Contract').selectOption('C-PAYG');
    await name.fill('half-written');
    await spoilToken(page);
    await page.getByRole('button', { name: 'Create' }).click();
  };
  await losing();
  await signInAgain(page, await server.makeToken(['demo'], scope), 'accesses/new');
  assert.equal(await name.inputValue(), 'half-written');
  await page.getByRole('heading', { name: 'Your sign-in has expired' }).waitFor();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'The password is shown only once' }).waitFor();

  await page.getByRole('button', { name: 'Create another' }).click();
  await losing();
  await signInAgain(page, await server.makeToken(['demo'], `${scope} product:read`), 'accesses/new');
  assert.equal(await name.inputValue(), '');
});

inBrowser('the demo renews its session by itself', server, async ({ page, watch }) => {
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  watch.announce(401, '/demo/contract');
  let isFirst = true;
  await page.route('**/demo/contract*', (route) => {
    const headers = { ...route.request().headers(), ...(isFirst && { authorization: 'Bearer spoilt' }) };
    isFirst = false;
    return route.continue({ headers });
  });
  await page.getByRole('link', { name: 'Contracts' }).click();
  await untilReady(page, 'contracts');
  assert.equal((await cellsOf(page, /Contracts/)).length, 2);
});
