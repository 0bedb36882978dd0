// One batch: how far it is while it runs, and what came of it: what failed and why, and the credentials while they are kept.

import { ask, path } from '../api.js';
import { h, replace } from '../element.js';
import { announce } from '../frame.js';
import { batchDownload } from '../part/batch_download.js';
import { batchFailures } from '../part/batch_failures.js';
import { confirm } from '../part/dialog.js';
import { later, pause } from '../part/later.js';
import { count, counted } from '../part/number.js';
import { pageIn, pager } from '../part/pages.js';
import { inOneLine, problemPanel } from '../part/problem.js';
import { showProgress } from '../part/progress.js';
import { copyButton } from '../part/secret.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { madeAt, timeElement } from '../part/time.js';
import { may } from '../session.js';
import { isOver, KIND_WORDS, listItems, readProgress, readRejection, readTask } from '../task.js';

/** @typedef {import('../views.js').Context} Context */
/** @typedef {import('../task.js').Task} Task */

/** Seconds between two looks at a batch that runs. */
const AGAIN = 0.5;

export const title = () => 'Batch';
export const needs = ['access:read'];

/** @param {Context} context */
export async function show(context) {
  const {
    tenant,
    params: [id],
    signal,
  } = context;
  let [task, progress] = await Promise.all([readTask(tenant, id, signal), readProgress(tenant, id, signal)]);
  const state = h('dd', {}, stateMark(task));
  const far = h('dd', {});
  const stop = h('p', { class: 'buttons' });
  const outcome = h('div', {});
  const trouble = h('div', { 'aria-live': 'polite' });
  showProgress(far, progress);

  async function finish() {
    replace(state, stateMark(task));
    replace(stop);
    replace(outcome, await outcomeOf(context, task, progress));
  }

  async function follow() {
    while (!isOver(task) && (await pause(signal, AGAIN))) {
      try {
        [progress, task] = [await readProgress(tenant, id, signal), await readTask(tenant, id, signal)];
        replace(trouble);
      } catch {
        if (signal.aborted) return;
        replace(
          trouble,
          h('p', { class: 'panel notice' }, 'How far it is can’t be read just now. It goes on; this page tries again.'),
        );
        continue;
      }
      replace(state, stateMark(task));
      showProgress(far, progress);
    }
    if (signal.aborted) return;
    // The last numbers are read after the end: then they are the last.
    progress = await readProgress(tenant, id, signal);
    showProgress(far, progress);
    await finish();
    announce(`The batch is over: ${counted(progress.succeeded, 'item')} succeeded, ${count(progress.failed)} failed.`);
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
      isGrave: true,
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
    follow().catch((cause) => {
      if (!signal.aborted) replace(trouble, problemPanel(cause));
    });
  }
  return h(
    'div',
    {},
    h('div', { class: 'title' }, h('h1', {}, KIND_WORDS[task.kind], ' of ', timeElement(madeAt(id))), stop),
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
    outcome,
  );
}

/** @param {Task} task */
const stateMark = ({ state }) => statusMark(state, state === 'TERMINATED' ? 'Stopped' : undefined);

/**
 * @param {Context} context
 * @param {Task} task
 * @param {import('../part/progress.js').Progress} progress
 */
async function outcomeOf(context, task, progress) {
  const { tenant, signal, query } = context;
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
  return [
    progress.succeeded > 0 && batchDownload(context, task),
    progress.failed > 0 &&
      batchFailures(context, task, pageIn(new URLSearchParams({ page: query.get('failed') ?? '1' }), 25)),
    progress.succeeded > 0 && succeededItems(context, task, pageIn(query, 25)),
  ];
}

/**
 * @param {Context} context
 * @param {Task} task
 * @param {{page: number, size: number}} which
 */
function succeededItems({ tenant, signal, link }, task, which) {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'succeeded-title' },
    h('h2', { id: 'succeeded-title' }, 'What succeeded'),
    later(signal, 'Reading what succeeded …', async () => {
      const { items, total } = await listItems(tenant, task.id, 'succeeded', which, signal);
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
        pager({ ...which, total, noun: ['access', 'accesses'], linkTo: (to) => link(['batches', task.id], to) }),
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
