// The watch records failures: every other test relies on it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openContext } from './browser.js';
import { startDemo } from './server.js';
import { untilReady } from './views.js';
import { Watch } from './watch.js';

const server = await startDemo();

/**
 * The complaints about a page of the console after an action.
 *
 * @param {() => unknown} happens
 * @param {(watch: Watch) => void} prepare
 */
async function complaintsAbout(happens, prepare = () => {}) {
  const context = await openContext(server);
  const watch = new Watch(context, [server.url]);
  prepare(watch);
  const page = await context.newPage();
  await page.goto('/-/console/');
  await untilReady(page, 'overview');
  await page.evaluate(happens);
  await page.evaluate(() => document.readyState);
  await context.close();
  return watch.complaints().join('\n');
}

test('a page without faults has no complaints', async () => {
  assert.equal(await complaintsAbout(() => {}), '');
});

test('every console error is recorded', async () => {
  assert.match(await complaintsAbout(() => console.warn('odd')), /^warning in the console: odd$/);
  assert.match(await complaintsAbout(() => console.error('bad')), /^error in the console: bad$/);
  const thrown = () =>
    new Promise((resolve) => {
      addEventListener('error', resolve);
      queueMicrotask(() => {
        throw new Error('oh');
      });
    }).then(() => {});
  assert.match(await complaintsAbout(thrown), /^uncaught: Error: oh/);
});

test('violations of the content security policy are recorded', async () => {
  const written = () => {
    try {
      document.body.innerHTML = '<b>';
    } catch {
      /* It is stopped, and that is told. */
    }
  };
  assert.match(await complaintsAbout(written), /content security policy: require-trusted-types-for/);
  const elsewhere = () => fetch('http://127.0.0.1:9/').catch(() => {});
  assert.match(await complaintsAbout(elsewhere), /content security policy: connect-src stops http:\/\/127.0.0.1:9/);
});

test('an error response is recorded unless it was announced, and an announced one has to come', async () => {
  const refused = () => fetch('/demo/access').then(() => {});
  assert.match(await complaintsAbout(refused), /^401 .*: GET \S+\/demo\/access$/);
  assert.equal(await complaintsAbout(refused, (watch) => watch.announce(401, '/demo/access')), '');
  const never = await complaintsAbout(
    () => {},
    (watch) => watch.announce(503, /^\/demo\//),
  );
  assert.equal(never, '503 was announced for /^\\/demo\\//, and has not come');
});
