// Checking a device's credentials.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { factsOf, openView, untilReady } from './views.js';

const server = await startDemo();
const { api } = server;

inBrowser('correct credentials pass, and all others get the same refusal', server, async ({ page, watch }) => {
  const access = await api.createAccess({ contractId: 'C-PRE', deviceName: 'meter-1' });
  watch.announce(401, '/demo/verify');
  await openView(page, 'demo/check', 'check');
  const check = async (/** @type {string} */ username, /** @type {string} */ password) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Check' }).click();
  };
  const outcome = page.getByRole('region', { name: 'Outcome' });
  const refused = outcome.getByRole('heading', { name: 'Refused' });
  await check(access.username, 'wrong');
  await refused.waitFor();
  const words = await outcome.innerText();

  await check(access.username, access.password);
  await outcome.getByRole('heading', { name: 'May connect' }).waitFor();
  const facts = await factsOf(page, 'Outcome');
  assert.equal(facts.Access, 'meter-1');
  assert.equal(facts.Status, 'Active');
  assert.equal(facts.Contract, 'C-PRE');
  assert.notEqual(facts.Ends, 'no end date');

  await api.changeAccess(access.id, { status: 'SUSPENDED' });
  for (const [username, password] of [
    [access.username, access.password],
    ['nobody', 'nothing'],
  ]) {
    await check(username, password);
    await refused.waitFor();
    assert.equal(await outcome.innerText(), words);
  }
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Check a device’s credentials');

  await api.changeAccess(access.id, { status: 'ACTIVE' });
  await check(access.username, access.password);
  await page.getByRole('link', { name: 'meter-1' }).click();
  await untilReady(page, 'accesses/id');
});

inBrowser('an impossible username is reported', server, async ({ page, watch }) => {
  watch.announce(400, '/demo/verify');
  await openView(page, 'demo/check', 'check');
  await page.getByLabel('Username').fill('x'.repeat(129));
  await page.getByLabel('Password').fill('x');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByText('must have 1 to 128 characters').waitFor();
});
