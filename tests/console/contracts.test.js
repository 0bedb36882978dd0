// Contracts: their terms, their use, and creating accesses under them.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { startDemo } from './server.js';
import { cellsOf, openView, untilReady } from './views.js';

const server = await startDemo();
const { api } = server;

inBrowser('the contracts are listed, and lead to their accesses', server, async ({ page }) => {
  const full = { productOfferingId: 'PO-FULL', billingModel: 'PAY_PER_USE', maxAccesses: 2 };
  await api.ask('PUT', '/-/admin/tenants/demo/contracts/C & D; 100%25', full);
  await api.createMany({ contractId: 'C & D; 100%', numberOfAccesses: 2 });
  const asleep = { productOfferingId: 'PO-ASLEEP', billingModel: 'PREPAID', status: 'SUSPENDED' };
  await api.ask('PUT', '/-/admin/tenants/demo/contracts/C-ASLEEP', asleep);
  await openView(page, 'demo/contracts', 'contracts');
  const rows = (await cellsOf(page, 'Contracts, by ID')).map((cells) => [
    ...cells.slice(0, 4),
    ...cells.slice(6, 7),
    cells[8],
  ]);
  assert.deepEqual(rows, [
    ['C & D; 100%', 'PO-FULL', 'pay per use', 'Active', '2 of 2', 'full'],
    ['C-ASLEEP', 'PO-ASLEEP', 'prepaid', 'Suspended', '0', 'suspended'],
    ['C-PAYG', 'PO-IOT-PAYG', 'pay per use', 'Active', '0', 'Create'],
    ['C-PRE', 'PO-IOT-YEAR', 'prepaid, 365 days from the first connection', 'Active', '0 of 500,000', 'Create'],
  ]);

  // Special characters in an ID have no meaning in its filter.
  await page.getByRole('link', { name: 'C & D; 100%', exact: true }).click();
  await untilReady(page, 'accesses');
  const accesses = await cellsOf(page, /^Accesses/);
  assert.deepEqual(
    accesses.map((cells) => cells[3]),
    ['C & D; 100%', 'C & D; 100%'],
  );

  await page.goBack();
  await untilReady(page, 'contracts');
  await page.getByRole('link', { name: 'Create an access under C-PRE' }).click();
  await untilReady(page, 'accesses/new');
  assert.equal(await page.getByLabel('Contract').inputValue(), 'C-PRE');
  assert.equal(await page.getByRole('option', { name: 'C-ASLEEP (suspended)' }).isDisabled(), true);
});
