// Signing in at an issuer: the browser goes there, and returns to the requested view.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { startWithIssuer } from './server.js';
import { leadsTo, openView, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */

const { server, issuer } = await startWithIssuer();

/** @param {Page} page */
async function leaveForIssuer(page) {
  await page.getByRole('button', { name: `Sign in at ${new URL(issuer.url).host}` }).click();
  await page.getByRole('heading', { name: 'Sign in to gatehouse-console' }).waitFor();
}

/** @param {Page} page @param {string} route @param {string} view */
async function signIn(page, route, view) {
  await openView(page, route, 'sign-in');
  await leaveForIssuer(page);
  await page.getByRole('button', { name: 'Sign in as ann' }).click();
  await untilReady(page, view);
}

inBrowser(
  'a sign-in at an issuer returns to the requested view',
  server,
  async ({ page }) => {
    /** @type {URL | undefined} */
    let asked;
    page.on('request', (request) => {
      if (request.url().startsWith(`${issuer.url}/auth?`)) asked = new URL(request.url());
    });
    await signIn(page, 'acme/accesses?size=25', 'accesses');
    assert.equal(page.url(), `${server.url}/-/console/#/acme/accesses?size=25`);
    assert.equal(asked?.searchParams.get('response_type'), 'code');
    assert.equal(asked?.searchParams.get('code_challenge_method'), 'S256');
    await page.locator('.person > summary').click();
    await page.getByText('Signed in as ann').waitFor();
    // The session lasts as long as the tab.
    await page.reload();
    await untilReady(page, 'accesses');
    await openView(page, '', 'overview');
    assert.equal(new URL(page.url()).hash, '#/acme/overview');
  },
  [issuer.url],
);

inBrowser(
  'a refusal by the issuer is explained',
  server,
  async ({ page }) => {
    await openView(page, 'acme/contracts', 'sign-in');
    await leaveForIssuer(page);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await untilReady(page, 'sign-in');
    assert.match(await page.getByRole('alert').innerText(), /the person refused/);
    assert.equal(page.url(), `${server.url}/-/console/#/acme/contracts`);
    await leaveForIssuer(page);
    await page.getByRole('button', { name: 'Sign in as ann' }).click();
    await untilReady(page, 'contracts');
  },
  [issuer.url],
);

inBrowser(
  'a response without a request is rejected',
  server,
  async ({ page }) => {
    await page.goto('/-/console/?code=made-up&state=made-up#/acme/contracts');
    await untilReady(page, 'sign-in');
    assert.equal(page.url(), `${server.url}/-/console/#/acme/contracts`);
    // An existing session stays unchanged.
    await signIn(page, 'acme/contracts', 'contracts');
    await page.goto('/-/console/?code=made-up&state=made-up#/acme/contracts');
    await untilReady(page, 'contracts');
    await page.locator('.person > summary').click();
    await page.getByText('Signed in as ann').waitFor();
  },
  [issuer.url],
);

inBrowser(
  'an expired token is renewed unnoticed',
  server,
  async ({ page, watch }) => {
    await signIn(page, 'acme/overview', 'overview');
    const tokenOf = () => page.evaluate(() => JSON.parse(sessionStorage.getItem('gatehouse.session') ?? '').token);
    const before = await tokenOf();
    // The server no longer accepts this token.
    await page.route('**/acme/**', async (route) => {
      const headers = await route.request().allHeaders();
      if (headers.authorization === `Bearer ${before}`) headers.authorization = 'Bearer expired';
      return route.continue({ headers });
    });
    const { tokens } = await issuer.tell('asked');
    watch.announce(401, /^\/acme\//);
    await page.getByRole('link', { name: 'Contracts' }).click();
    await untilReady(page, 'contracts');
    await page.getByRole('link', { name: 'C-PAYG', exact: true }).waitFor();
    assert.notEqual(await tokenOf(), before);
    // Concurrent refusals share one renewal.
    assert.equal((await issuer.tell('asked')).tokens, tokens + 1);
  },
  [issuer.url],
);

inBrowser(
  'signing out ends the session at the issuer, too',
  server,
  async ({ page }) => {
    await signIn(page, 'acme/contracts', 'contracts');
    const isGivenBack = page.waitForRequest(`${issuer.url}/token/revocation`);
    await page.locator('.person > summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await isGivenBack;
    // The issuer asks for confirmation, and sends the browser back.
    await page.getByRole('heading', { name: 'Sign out?' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await untilReady(page, 'sign-in');
    assert.equal(await page.evaluate(() => JSON.stringify({ ...sessionStorage }).includes('eyJ')), false);
    await leadsTo(page, 'sign-in', () => page.reload());
  },
  [issuer.url],
);
