// One batch: how far it is while it runs, and what came of it: what failed and why, and the credentials while they are kept.

import { go } from '../address.js';
import { ask, path, problemOf, send } from '../api.js';
import { keepRetry, noteOf } from '../batch_note.js';
import { h, replace } from '../element.js';
import { announce } from '../frame.js';
import { confirm } from '../part/dialog.js';
import { whilePressed } from '../part/form.js';
import { later, pause } from '../part/later.js';
import { count, counted } from '../part/number.js';
import { pageIn, pager } from '../part/pages.js';
import { inOneLine, problemPanel } from '../part/problem.js';
import { showProgress } from '../part/progress.js';
import { copyButton, save } from '../part/secret.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { madeAt, relative, timeElement } from '../part/time.js';
import { may } from '../session.js';
import { isOver, KIND_WORDS, listItems, readProgress, readRejection, readTask } from '../task.js';

/** @typedef {import('../views.js').Context} Context */
/** @typedef {import('../task.js').Task} Task */

/** Seconds between two looks at a batch that runs. */
const AGAIN = 0.5;

/** So many of those that failed are sent again at once; the API's own limit is higher or lower. */
const RETRY_MAX = 100_000;
const RETRY_PAGE = 1000;

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
    const isSure = await confirm({
      title: 'Stop this batch?',
      consequence: h(
        'p',
        {},
        'What it has done by then stays: accesses that it made are there, and their credentials can be had here. What it hasn’t done is not done any more.',
      ),
      yes: 'Stop the batch',
      isGrave: true,
    });
    if (!isSure) return;
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
    task.state !== 'TERMINATED' && progress.succeeded > 0 && downloads(context, task),
    progress.failed > 0 &&
      failedItems(context, task, pageIn(new URLSearchParams({ page: query.get('failed') ?? '1' }), 25)),
    progress.succeeded > 0 && succeededItems(context, task, pageIn(query, 25)),
  ];
}

/** @param {Context} context @param {Task} task */
function downloads({ tenant }, { id, passwordsUntil }) {
  const trouble = h('div', { 'aria-live': 'polite' });
  const button = (/** @type {string} */ word, /** @type {string} */ type, /** @type {string} */ ending) => {
    const it = h('button', { type: 'button', onclick: () => whilePressed(it, () => download(type, ending)) }, word);
    return it;
  };
  const download = async (/** @type {string} */ type, /** @type {string} */ ending) => {
    replace(trouble);
    try {
      const answer = await send('GET', path(tenant, 'access', 'batch', id), { headers: { accept: type } });
      if (!answer.ok) throw await problemOf(answer);
      save(`${id}.${ending}`, await answer.blob(), type);
    } catch (cause) {
      replace(trouble, problemPanel(cause));
    }
  };
  return h(
    'section',
    { class: passwordsUntil ? 'panel secret' : 'panel', 'aria-labelledby': 'download-title' },
    h('h2', { id: 'download-title' }, passwordsUntil ? 'Credentials' : 'The accesses as a file'),
    passwordsUntil
      ? h(
          'p',
          { id: 'passwords-until' },
          'The passwords can be had here until ',
          timeElement(passwordsUntil),
          ` (${relative(passwordsUntil)}). Then they are destroyed; nobody can bring them back.`,
        )
      : h('p', {}, 'There are no passwords here: the batch set none, or their time is over.'),
    h(
      'p',
      { class: 'buttons' },
      button('Download CSV', 'text/csv', 'csv'),
      button('Download JSON', 'application/json', 'json'),
    ),
    trouble,
  );
}

/**
 * @param {Context} context
 * @param {Task} task
 * @param {{page: number, size: number}} which
 */
function failedItems(context, task, which) {
  const { tenant, signal, link } = context;
  const trouble = h('div', { 'aria-live': 'polite' });
  const again = h(
    'button',
    {
      type: 'button',
      id: 'retry',
      onclick: () =>
        whilePressed(again, () => retry(context, task).catch((cause) => replace(trouble, problemPanel(cause)))),
    },
    'Send the failed ones again',
  );
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'failed-title' },
    h('h2', { id: 'failed-title' }, 'What failed'),
    later(signal, 'Reading what failed …', async () => {
      const { items, total } = await listItems(tenant, task.id, 'failed', which, signal);
      return [
        table({
          caption: 'Items that failed, in the order of the batch',
          columns: [
            { name: 'Item', kind: 'number', cell: (it) => count(it.index + 1) },
            {
              name: 'Which',
              isHeading: true,
              cell: (it) =>
                it.error.accessId ??
                it.error.username ??
                it.error.deviceName ??
                h('span', { class: 'none' }, 'generated'),
            },
            { name: 'Why', cell: (it) => [h('strong', {}, it.error.title), h('br'), inOneLine(it.error)] },
          ],
          rows: items,
        }),
        total > which.size &&
          pager({
            ...which,
            total,
            noun: ['failed item', 'failed items'],
            linkTo: ({ page }) => link(['batches', task.id], { failed: page }),
          }),
      ];
    }),
    may('access:write') && h('p', { class: 'buttons' }, again),
    trouble,
  );
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

/**
 * Opens the form for a batch with what failed in this one.
 * @param {Context} context
 * @param {Task} task
 */
async function retry({ tenant, link }, task) {
  /** @type {any[]} */
  const errors = [];
  for (let page = 1; errors.length < RETRY_MAX; page += 1) {
    const { items, total } = await listItems(tenant, task.id, 'failed', { page, size: RETRY_PAGE });
    errors.push(...items.map((it) => it.error));
    if (items.length === 0 || errors.length >= total) break;
  }
  const note = noteOf(task.id);
  if (task.kind === 'batchCreation') {
    note.contractId ??= await contractOf(tenant, task.id);
    const isNamed = errors.some((it) => it.username !== undefined || it.deviceName !== undefined);
    const row = (/** @type {any} */ it) => [it.username ?? '', it.deviceName ?? ''].map(cell).join(',');
    const table = ['username,deviceName', ...errors.map(row)].join('\n');
    keepRetry({ kind: 'create', note, ...(isNamed ? { table } : { number: errors.length }) });
  } else {
    const kind = task.kind === 'batchTerminate' ? 'end' : 'change';
    keepRetry({ kind, ids: errors.map((it) => it.accessId).filter(Boolean), note });
  }
  go(link(['batches', 'new'], { retry: 1 }));
}

/** Under which contract a batch made its accesses, as far as it made any. @param {string} tenant @param {string} id */
async function contractOf(tenant, id) {
  const { items } = await listItems(tenant, id, 'succeeded', { page: 1, size: 1 });
  return items[0]?.access.contractId;
}

/** @param {string} text */
const cell = (text) => (text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
