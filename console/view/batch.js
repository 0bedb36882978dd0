// One batch: how far it is while it runs, and what came of it: what failed and why, and the credentials while they are kept.

import { announce } from '../announcement.js';
import { ask, path } from '../api/client.js';
import { Problem } from '../api/problem.js';
import { isOver, KIND_WORDS, listItems, readProgress, readRejection, readTask } from '../api/task.js';
import { downloadPanel } from '../batch/download_panel.js';
import { failuresPanel } from '../batch/failures_panel.js';
import { showProgress } from '../batch/progress.js';
import { h, replace } from '../element.js';
import { copyButton } from '../part/copy_button.js';
import { confirm } from '../part/dialog.js';
import { loadBefore, repeat } from '../part/loading.js';
import { count, counted } from '../part/number.js';
import { pageIn, pager } from '../part/pager.js';
import { inOneLine, problemPanel } from '../part/problem_panel.js';
import { statusMark, taskMark } from '../part/status.js';
import { table } from '../part/table.js';
import { createdAt, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../api/task.js').Task} Task */

/** So many items are shown on a page, of those that failed and of those that succeeded. */
const PAGE = 25;

/** Seconds between two looks at a batch that runs. */
const AGAIN = 1;

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
  // Read after it, the numbers of one that is over are its last.
  let progress = await readProgress(tenant, id, signal);
  const state = h('dd', {}, taskMark(task, progress));
  const far = h('dd', {});
  const stop = h('p', { class: 'buttons' });
  const left = h('p', { class: 'fine' });
  const outcome = h('div', {});
  const trouble = h('div', { 'aria-live': 'polite' });
  showProgress(far, progress);

  async function finish() {
    replace(state, taskMark(task, progress));
    replace(stop);
    replace(left);
    replace(outcome, await outcomeOf(context, task, progress));
  }

  /** Looks how far it is. Whether it is worth looking again. */
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
    showProgress(far, progress);
    if (!isOver(task)) return true;
    await finish();
    announce(`The batch is over: ${counted(progress.succeeded, 'item')} succeeded, ${count(progress.failed)} failed.`);
    return false;
  }

  async function stopIt() {
    const question = {
      title: 'Stop this batch?',
      consequence: h(
        'p',
        {},
        'What it has done by then stays: accesses that it made are there, and their credentials can be had here. What it hasn’t done is not done any more.',
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

  if (isOver(task)) await finish();
  else {
    if (may('access:write')) replace(stop, h('button', { type: 'button', onclick: stopIt }, 'Stop'));
    replace(left, 'You may leave this page: the batch goes on, and what comes of it is found here.');
    const words = 'How far it is can’t be read just now. It goes on; this page tries again.';
    repeat(signal, AGAIN, look, () => replace(trouble, h('p', { class: 'panel notice' }, words)));
  }
  return h(
    'div',
    {},
    h('div', { class: 'title' }, h('h1', {}, KIND_WORDS[task.kind], ', accepted ', timeElement(createdAt(id))), stop),
    h(
      'section',
      { class: 'panel', 'aria-label': 'The batch' },
      h(
        'dl',
        { class: 'facts' },
        h('dt', {}, 'State'),
        state,
        h('dt', {}, 'Items'),
        far,
        h('dt', {}, 'ID'),
        h('dd', {}, h('code', {}, id), copyButton('ID', id)),
      ),
    ),
    trouble,
    left,
    outcome,
  );
}

/**
 * @param {Context} context
 * @param {Task} task
 * @param {import('../batch/progress.js').Progress} progress
 */
async function outcomeOf(context, task, progress) {
  const { tenant, signal, query, link } = context;
  if (task.state === 'REJECTED') {
    const why = await readRejection(tenant, task.id, signal);
    return h(
      'div',
      { class: 'panel problem' },
      h('h2', {}, why?.title ?? 'Rejected'),
      h('p', {}, why ? inOneLine(why) : 'It was refused.'),
      h('p', {}, 'Nothing was done.'),
    );
  }
  const { page, size } = pageIn(query, PAGE);
  const { page: failed } = pageIn(new URLSearchParams({ page: query.get('failed') ?? '1' }));
  // Two lists share the address: whoever turns a page of one stays where they are in the other.
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
async function succeededItems({ tenant, signal, link }, task, { page, size: wanted, linkTo }) {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'succeeded-title' },
    h('h2', { id: 'succeeded-title' }, 'What succeeded'),
    await loadBefore(signal, async () => {
      const { items, total, size } = await listItems(tenant, task.id, 'succeeded', { page, size: wanted }, signal);
      const hasPasswords = items.some((it) => it.access.password !== undefined);
      return [
        table({
          caption: 'Accesses that the batch made or changed, in its order',
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

/** Nobody who only passes by reads it. @param {{password?: string, name: string}} access */
function hiddenPassword({ password, name }) {
  if (password === undefined) return h('span', { class: 'none' }, 'no longer kept');
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
