// One batch: its progress while it runs, then its results: failed items with their reasons, and the credentials while the server
// stores them.

import { announce } from '../announcement.js';
import { ask, path } from '../api/client.js';
import { Problem } from '../api/problem.js';
import { isFinished, KIND_WORDS, listItems, readProgress, readRejection, readTask } from '../api/task.js';
import { downloadPanel } from '../batch/download_panel.js';
import { failuresPanel } from '../batch/failures_panel.js';
import { showProgress } from '../batch/progress.js';
import { h, replace } from '../element.js';
import { copyButton } from '../part/copy_button.js';
import { confirm } from '../part/dialog.js';
import { loadBefore, repeat } from '../part/loading.js';
import { count, counted } from '../part/number.js';
import { pageIn, pager } from '../part/pager.js';
import { facts, panel } from '../part/panel.js';
import { inOneLine, problemPanel } from '../part/problem_panel.js';
import { statusMark, taskMark } from '../part/status.js';
import { table } from '../part/table.js';
import { createdAt, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../api/task.js').Task} Task */

/** The default page size of failed and succeeded items. */
const PAGE_SIZE = 25;

const POLL_SECONDS = 1;

export const title = () => 'Batch';
export const scopes = ['access:read'];

/** @param {Context} context */
export async function show(context) {
  const {
    tenant,
    params: [id],
    signal,
  } = context;
  let task = await readTask(tenant, id, signal);
  // The order matters: the progress that is read after a finished Task is final.
  let progress = await readProgress(tenant, id, signal);
  const state = h('span', {}, taskMark(task, progress));
  const items = h('div', {});
  const stop = h('p', { class: 'buttons' });
  const left = h('p', { class: 'fine' });
  const results = h('div', {});
  const trouble = h('div', { 'aria-live': 'polite' });
  showProgress(items, progress);

  async function finish() {
    replace(state, taskMark(task, progress));
    replace(stop);
    replace(left);
    replace(results, await resultsOf(context, task, progress));
  }

  /** Reads the progress; returns whether to poll again. */
  async function look() {
    try {
      task = await readTask(tenant, id, signal);
      progress = await readProgress(tenant, id, signal);
    } catch (cause) {
      const isGone = cause instanceof Problem && [403, 404].includes(cause.status);
      if (!isGone) throw cause;
      replace(trouble, problemPanel(cause));
      return false;
    }
    replace(trouble);
    replace(state, taskMark(task, progress));
    showProgress(items, progress);
    if (!isFinished(task)) return true;
    await finish();
    announce(
      `The batch has finished: ${counted(progress.succeeded, 'item')} succeeded, ${count(progress.failed)} failed.`,
    );
    return false;
  }

  async function stopIt() {
    const question = {
      title: 'Stop this batch?',
      consequence: h(
        'p',
        {},
        'Items that are done stay done: accesses that the batch created remain, and their credentials are available here. The other items are not processed.',
      ),
      yes: 'Stop the batch',
      isIrreversible: true,
    };
    if (!(await confirm(question, signal))) return;
    try {
      await ask('DELETE', path(tenant, 'access', 'batch', id));
    } catch (cause) {
      replace(trouble, problemPanel(cause));
    }
  }

  if (isFinished(task)) await finish();
  else {
    if (may('access:write')) replace(stop, h('button', { type: 'button', onclick: stopIt }, 'Stop'));
    replace(left, 'You can leave this page: the batch continues, and its results appear here.');
    const words = 'The progress can’t be loaded at the moment. The batch continues, and this page retries.';
    repeat(signal, POLL_SECONDS, look, () => replace(trouble, h('p', { class: 'panel notice' }, words)));
  }
  return h(
    'div',
    {},
    h('div', { class: 'title' }, h('h1', {}, KIND_WORDS[task.kind], ', accepted ', timeElement(createdAt(id))), stop),
    h(
      'section',
      { class: 'panel', 'aria-label': 'The batch' },
      facts([
        ['State', state],
        ['Items', items],
        ['ID', [h('code', {}, id), copyButton('ID', id)]],
      ]),
    ),
    trouble,
    left,
    results,
  );
}

/**
 * @param {Context} context
 * @param {Task} task
 * @param {import('../api/task.js').Progress} progress
 */
async function resultsOf(context, task, progress) {
  const { tenant, signal, query, link } = context;
  if (task.state === 'REJECTED') {
    const why = await readRejection(tenant, task.id, signal);
    return h(
      'div',
      { class: 'panel problem' },
      h('h2', {}, why?.title ?? 'Rejected'),
      h('p', {}, why ? inOneLine(why) : 'The server rejected the batch.'),
      h('p', {}, 'Nothing was done.'),
    );
  }
  const { page, size } = pageIn(query, PAGE_SIZE);
  const { page: failed } = pageIn(new URLSearchParams({ page: query.get('failed') ?? '1' }));
  // Two lists share the address: turning a page of one keeps the page of the other.
  const linkTo = (/** @type {{page?: number, failed?: number, size: number}} */ to) =>
    link(['batches', task.id], { ...(to.size === size && { page, failed }), ...to });
  return Promise.all([
    progress.succeeded > 0 && downloadPanel(context, task),
    progress.failed > 0 &&
      failuresPanel(context, task, {
        page: failed,
        size,
        linkTo: ({ page, size }) => linkTo({ failed: page, size }),
      }),
    progress.succeeded > 0 && succeededItems(context, task, { page, size, linkTo }),
  ]);
}

/**
 * @param {Context} context
 * @param {Task} task
 * @param {{page: number, size: number, linkTo: (to: {page: number, size: number}) => string}} which
 */
async function succeededItems({ tenant, signal, link }, task, { page, size: requested, linkTo }) {
  return panel(
    'succeeded-title',
    'Succeeded items',
    await loadBefore(signal, async () => {
      const { items, total, size } = await listItems(tenant, task.id, 'succeeded', { page, size: requested }, signal);
      const hasPasswords = items.some((it) => it.access.password !== undefined);
      return [
        table({
          caption: 'Accesses that the batch created or changed, in the order of the batch',
          columns: [
            {
              name: 'Name',
              isHeading: true,
              cell: (it) => h('a', { href: link(['accesses', it.access.id]) }, it.access.name),
            },
            { name: 'Username', cell: (it) => h('code', {}, it.access.username) },
            ...(hasPasswords ? [{ name: 'Password', cell: (/** @type {any} */ it) => hiddenPassword(it.access) }] : []),
            { name: 'Status', cell: (it) => statusMark(it.access.status) },
            { name: 'Ends', cell: (it) => timeElement(it.access.endDateTime) },
          ],
          rows: items,
        }),
        pager({ page, size, total, noun: ['access', 'accesses'], linkTo }),
      ];
    }),
  );
}

/** Hides a password until the user asks for it. @param {{password?: string, name: string}} access */
function hiddenPassword({ password, name }) {
  if (password === undefined) return h('span', { class: 'none' }, 'no longer stored');
  const place = h('span', {});
  const show = h(
    'button',
    {
      type: 'button',
      class: 'quiet',
      'aria-label': `Show the password of ${name}`,
      onclick: () => replace(place, h('code', {}, password), copyButton('password', password)),
    },
    'Show',
  );
  replace(place, show);
  return place;
}
