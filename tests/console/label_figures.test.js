// The overview's numbers of accesses by the values of a label.

import assert from 'node:assert/strict';

import { Api } from './api.js';
import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView } from './views.js';

const server = await startDemo();
const { api } = server;
const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));

inBrowser('the overview shows accesses by the label that the user chooses', server, async ({ page }) => {
  const labels = (/** @type {string} */ model) => ({ numberOfAccesses: model.length, labels: { model } });
  for (const model of ['abcdef', 'ab', 'abcd']) await api.createMany(labels(model));
  await operator.ask('PUT', '/-/admin/tenants/demo', { labelKeys: ['model', 'site', 'unused'] });
  try {
    await openView(page, 'demo/overview', 'overview');
    const shown = async () =>
      (await cellsOf(page, 'Accesses by the label model')).map(([value, total]) => [value, total]);
    assert.deepEqual(await shown(), [
      ['abcdef', '6'],
      ['abcd', '4'],
      ['ab', '2'],
    ]);
    // Polling updates the figures.
    await api.createMany(labels('abc'));
    await page.getByRole('link', { name: 'abc', exact: true }).waitFor();
    assert.deepEqual((await shown())[2], ['abc', '3']);
    const choice = page.getByLabel('Label', { exact: true });
    await choice.selectOption('unused');
    await page.getByText('No access has this label.').waitFor();
    await choice.selectOption('model');
    await leadsTo(page, 'accesses', () => page.getByRole('link', { name: 'abcd', exact: true }).click());
    assert.equal(new URL(page.url()).hash, '#/demo/accesses?filter=label.model%3Dabcd');
    await page.getByText('4 accesses').waitFor();
  } finally {
    await operator.ask('PUT', '/-/admin/tenants/demo', {});
  }
  await openView(page, 'demo/overview', 'overview');
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('heading', { name: 'Accesses by label' }).count(), 0);
});
