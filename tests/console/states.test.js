// Loading, errors and retries: the console says what happened and what to do, offers a retry, and keeps the user's inputs.

import assert from 'node:assert/strict';

import { inBrowser } from './browser.js';
import { everywhere } from './everywhere.js';
import { startDemo } from './server.js';
import { cellsOf, leadsTo, openView, untilReady } from './views.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Route} Route */

const server = await startDemo();
const { api } = server;

const MADE = await api.createMany({ numberOfAccesses: 3 });

/** The API's problem of an overloaded server. */
const BUSY = { type: 'Unavailable', status: 503, title: 'Too busy', detail: 'the store does not answer' };

/**
 * Holds requests until they are released.
 *
 * @param {Page} page
 * @param {string} pattern
 */
async function hold(page, pattern) {
  /** @type {() => void} */
  let release = () => {};
  const isFree = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  /** @type {(value?: unknown) => void} */
  let arrive = () => {};
  const hasCome = new Promise((resolve) => {
    arrive = resolve;
  });
  await page.route(pattern, async (route) => {
    arrive();
    await isFree;
    // The page may have aborted the request.
    await route.continue().catch(() => {});
  });
  return { hasCome, release };
}

/**
 * Replaces the server's response, a number of times.
 *
 * @param {Page} page
 * @param {string} pattern
 * @param {(route: Route) => Promise<void>} answer
 */
const spoil = (page, pattern, answer, times = 1) => page.route(pattern, answer, { times });

/** @param {Page} page */
const alert = (page) => page.getByRole('main').getByRole('alert');

inBrowser('a view that loads shows so', server, async ({ page }) => {
  await openView(page, 'demo/contracts', 'contracts');
  const { hasCome, release } = await hold(page, '**/demo/access?*');
  await page.getByRole('link', { name: 'Accesses' }).click();
  await hasCome;
  assert.equal(await page.getByRole('main').getAttribute('aria-busy'), 'true');
  await page.locator('.busy').waitFor();
  // The previous view stays until then.
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Contracts');
  release();
  await untilReady(page, 'accesses');
  assert.equal(await page.getByRole('main').getAttribute('aria-busy'), 'false');
  assert.equal(await page.locator('.busy').isVisible(), false);
});

inBrowser('parts of a view load independently', server, async ({ page }) => {
  const { hasCome, release } = await hold(page, '**/demo/summary');
  await openView(page, 'demo/overview', 'overview');
  await hasCome;
  await page.getByText('Loading accesses …').waitFor();
  assert.equal((await cellsOf(page, /^Accounts at platforms/)).length, 4);
  await everywhere(page, 'overview-waiting');
  release();
  await page.getByRole('heading', { name: '3 accesses' }).waitFor();
});

inBrowser('a late response does not replace the view that was opened since', server, async ({ page }) => {
  await openView(page, 'demo/contracts', 'contracts');
  const { hasCome, release } = await hold(page, '**/demo/access?*');
  await page.getByRole('link', { name: 'Accesses' }).click();
  await hasCome;
  await leadsTo(page, 'check', () => page.getByRole('link', { name: 'Check' }).click());
  release();
  // Opening another view gives a late response time to arrive.
  await leadsTo(page, 'contracts', () => page.getByRole('link', { name: 'Contracts' }).click());
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Contracts');
  assert.match(await page.title(), /^Contracts/);
});

inBrowser('a view that can’t be loaded says why, and can be retried', server, async ({ page, watch }) => {
  watch.announce(500, '/demo/contract');
  watch.announce(502, '/demo/contract');
  watch.announce(503, '/demo/contract');
  watch.announce(403, '/demo/contract');
  watch.announce('no answer', '/demo/contract');
  await openView(page, 'demo/check', 'check');
  const problem = { title: 'Internal error', detail: 'something broke', correlationId: '01a1-correlated' };
  /** @type {[string, (route: Route) => Promise<void>, RegExp][]} */
  const faults = [
    [
      'failed',
      (route) => route.fulfill({ status: 500, json: problem }),
      /Internal error.*Something broke\..*internal fault.*01a1-correlated/s,
    ],
    ['busy', (route) => route.fulfill({ status: 503, json: BUSY }), /Too busy.*store does not answer.*try again/s],
    ['html', (route) => route.fulfill({ status: 502, body: '<html>Bad gateway</html>' }), /502/],
    ['unreachable', (route) => route.abort('connectionrefused'), /No response.*connection may be down.*Try again/s],
    [
      'forbidden',
      (route) => route.fulfill({ status: 403, json: { title: 'Forbidden', detail: 'not for you' } }),
      /Forbidden.*Sign in as another user/s,
    ],
  ];
  for (const [name, answer, said] of faults) {
    await spoil(page, '**/demo/contract?*', answer);
    await leadsTo(page, 'contracts', () => page.getByRole('link', { name: 'Contracts' }).click());
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Contracts');
    assert.match(await alert(page).innerText(), said);
    assert.equal((await alert(page).innerText()).includes('<html>'), false);
    if (name === 'failed' || name === 'unreachable') await everywhere(page, `problem-${name}`);
    await leadsTo(page, 'contracts', () => page.getByRole('button', { name: 'Try again' }).click());
    assert.equal(await alert(page).count(), 0);
    assert.equal((await cellsOf(page, /Contracts/)).length, 2);
    await leadsTo(page, 'check', () => page.getByRole('link', { name: 'Check' }).click());
  }
});

inBrowser('a rate limit says how long to wait', server, async ({ page, watch }) => {
  watch.announce(429, '/demo/access');
  const problem = { status: 429, title: 'Too many requests', detail: 'the tenant may send 50 in a second' };
  await spoil(page, '**/demo/access?*', (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '7' }, json: problem }),
  );
  await openView(page, 'demo/accesses', 'accesses');
  assert.match(await alert(page).innerText(), /Too many requests.*7 seconds/s);
  await leadsTo(page, 'accesses', () => page.getByRole('button', { name: 'Try again' }).click());
  assert.equal((await cellsOf(page, /^Accesses/)).length, 3);
});

inBrowser('a part that fails leaves the others alone', server, async ({ page, watch }) => {
  watch.announce(503, '/demo/account');
  await spoil(page, '**/demo/account?*', (route) => route.fulfill({ status: 503, json: BUSY }));
  await openView(page, 'demo/overview', 'overview');
  const platforms = page.getByRole('region', { name: 'Platforms' });
  await platforms.getByRole('heading', { name: 'Too busy' }).waitFor();
  await page.getByRole('heading', { name: '3 accesses' }).waitFor();
  await platforms.getByRole('button', { name: 'Try again' }).click();
  assert.equal((await cellsOf(page, /^Accounts at platforms/)).length, 4);
});

inBrowser('polled content stays when a poll fails, and updates afterwards', server, async ({ page, watch }) => {
  watch.announce(503, '/demo/summary');
  await openView(page, 'demo/overview', 'overview');
  await page.getByRole('heading', { name: '3 accesses' }).waitFor();
  const isRefused = page.waitForResponse((it) => it.url().endsWith('/demo/summary') && it.status() === 503);
  await spoil(page, '**/demo/summary', (route) => route.fulfill({ status: 503, json: BUSY }));
  await isRefused;
  assert.equal(await page.getByRole('heading', { name: '3 accesses' }).isVisible(), true);
  const { id } = await api.createAccess();
  await page.getByRole('heading', { name: '4 accesses' }).waitFor();
  await api.changeAccess(id, { status: 'TERMINATED' });
});

inBrowser('the progress of a batch continues after an outage', server, async ({ page, watch }) => {
  const id = await api.beginSlowly('states');
  watch.announce('no answer', `/demo/access/batch/${id}/progress`);
  try {
    await openView(page, `demo/batches/${id}`, 'batches/id');
    await page.route(`**/batch/${id}/progress`, (route) => route.abort('connectionrefused'));
    await page.getByText('progress can’t be loaded').waitFor();
    await page.unroute(`**/batch/${id}/progress`);
    await page.getByText('progress can’t be loaded').waitFor({ state: 'detached' });
  } finally {
    await api.stop(id);
  }
  await page.getByRole('region', { name: 'The batch' }).getByText('Stopped').waitFor();
});

/** The values of a form's fields. @param {Page} page */
const fieldsOf = (page) =>
  page
    .getByRole('main')
    .locator('input:not([type="file"]), select, textarea')
    .evaluateAll((all) =>
      all.map((it) => {
        const { type, checked, value } = /** @type {HTMLInputElement} */ (it);
        return type === 'radio' || type === 'checkbox' ? checked : value;
      }),
    );

/**
 * Sends a form with each kind of failure, and compares its fields before and after.
 *
 * @param {Page} page
 * @param {string} pattern
 * @param {string} button
 * @param {() => Promise<void>} [agree] Confirms the question before sending.
 */
async function sendInVain(page, pattern, button, agree = async () => {}) {
  const before = await fieldsOf(page);
  assert.ok(before.length > 0);
  for (const [answer, said] of /** @type {[(route: Route) => Promise<void>, string][]} */ ([
    [(route) => route.fulfill({ status: 503, json: BUSY }), 'Too busy'],
    [(route) => route.abort('connectionreset'), 'No response'],
  ])) {
    await spoil(page, pattern, answer);
    await page.getByRole('button', { name: button, exact: true }).click();
    await agree();
    await alert(page).filter({ hasText: said }).waitFor();
    assert.deepEqual(await fieldsOf(page), before);
    assert.equal(await page.getByRole('button', { name: button, exact: true }).isEnabled(), true);
  }
}

inBrowser('a form that couldn’t be sent keeps its inputs, and can be sent again', server, async ({ page, watch }) => {
  for (const path of ['/demo/access', '/demo/access/batch', '/demo/access/batchUpdate', '/demo/verify']) {
    watch.announce(503, path);
    watch.announce('no answer', path);
  }
  await openView(page, 'demo/accesses/new', 'accesses/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('Device name (optional)').fill('kept');
  await page.getByLabel('Username (optional)').fill('kept-name');
  await page.getByLabel('Password (optional)').fill('kept password');
  await sendInVain(page, '**/demo/access', 'Create');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The password is shown only once').waitFor();
  assert.equal(await api.letsIn({ username: 'kept-name', password: 'kept password' }), true);

  await openView(page, 'demo/batches/new', 'batches/new');
  await page.getByLabel('Contract').selectOption('C-PAYG');
  await page.getByLabel('A pasted list').check();
  await page.getByLabel('The list').fill('pump-1\npump-2');
  await sendInVain(page, '**/demo/access/batch', 'Send the batch');
  await page.getByLabel('A CSV file').check();
  const file = { name: 'fleet.csv', mimeType: 'text/csv', buffer: Buffer.from('username\n twice\nfrom-file\n') };
  await page.getByLabel('The file').setInputFiles(file);
  await page.getByLabel(/^Skip these rows/).check();
  await sendInVain(page, '**/demo/access/batch', 'Send the batch');
  await page.getByRole('button', { name: 'Send the batch' }).click();
  await untilReady(page, 'batches/id');
  await page.getByRole('region', { name: 'The batch' }).getByText('Done', { exact: true }).waitFor();
  assert.equal((await api.get('/demo/access?username=from-file')).length, 1);

  await openView(page, 'demo/batches/new?kind=change', 'batches/new');
  await page.getByLabel('Access IDs').fill(MADE.accesses[2].id);
  await page.getByLabel('Change', { exact: true }).selectOption('TERMINATED');
  const agree = () =>
    page
      .getByRole('dialog')
      .getByRole('button', { name: /permanently$/ })
      .click();
  await sendInVain(page, '**/demo/access/batchUpdate', 'Send the batch', agree);
  assert.equal((await api.get(`/demo/access/${MADE.accesses[2].id}`)).status, 'ACTIVE');

  await openView(page, 'demo/check', 'check');
  await page.getByLabel('Username').fill('kept-name');
  await page.getByLabel('Password').fill('kept password');
  await sendInVain(page, '**/demo/verify', 'Check');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('heading', { name: 'May connect' }).waitFor();
});

inBrowser('a failed search can be retried', server, async ({ page, watch }) => {
  watch.announce(503, '/demo/product/find');
  const { entities } = await api.get('/demo/product?pageSize=4&pageNumber=1');
  await openView(page, 'demo/connections/find', 'connections/find');
  await page.getByLabel('Numbers').fill(entities[0].id);
  await spoil(page, '**/demo/product/find', (route) => route.fulfill({ status: 503, json: BUSY }));
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await alert(page).waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Found (1)' }).waitFor();
  assert.equal(await page.getByLabel('Numbers').inputValue(), entities[0].id);
});

inBrowser('a failed change changes nothing, and says so', server, async ({ page, watch }) => {
  const [, { id, name }] = MADE.accesses;
  watch.announce('no answer', `/demo/access/${id}`);
  await openView(page, `demo/accesses/${id}`, 'accesses/id');
  await spoil(page, `**/demo/access/${id}`, (route) => route.abort('connectionrefused'));
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await alert(page).filter({ hasText: 'No response' }).waitFor();
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), name);
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('the next check refuses its device').first().waitFor();
  assert.equal(await alert(page).count(), 0);
});
