// The list of batches, newest first, each with its progress.

import { isFinished, KIND_WORDS, listTasks, readAllProgress } from '../api/task.js';
import { progressBar } from '../batch/progress.js';
import { h, redraw, replace } from '../element.js';
import { poll } from '../part/loading.js';
import { pageIn, pager } from '../part/pager.js';
import { emptyPanel } from '../part/panel.js';
import { taskMark } from '../part/status.js';
import { table } from '../part/table.js';
import { createdAt, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

const POLL_SECONDS = 2;

export const title = () => 'Batches';
export const scopes = ['access:read', 'access:write'];

/** @param {Context} context */
export async function show({ tenant, query, signal, link }) {
  const { page, size: requested } = pageIn(query, 25);
  const place = h('div', {});
  /** The progress of finished batches, which no longer changes. @type {Map<string, import('../api/task.js').Progress>} */
  const finished = new Map();
  const read = async () => {
    const { tasks, total, size } = await listTasks(tenant, { page, size: requested }, signal);
    const unfinished = tasks.filter(({ id }) => !finished.has(id)).map(({ id }) => id);
    const progressById = await readAllProgress(tenant, unfinished, signal);
    for (const { id, state } of tasks) {
      const progress = progressById.get(id);
      if (progress && isFinished({ state })) finished.set(id, progress);
    }
    const rows = tasks.map((task) => ({ ...task, progress: finished.get(task.id) ?? progressById.get(task.id) }));
    drawPager(total, size);
    return { text: JSON.stringify([rows, total === 0]), draw: () => (total === 0 ? noBatches(link) : list(rows)) };
  };
  /** The pager is drawn apart from the list, so that polling doesn't replace it while the user uses it. */
  const pages = h('div', {});
  let shownTotal = -1;
  const drawPager = (/** @type {number} */ total, /** @type {number} */ size) => {
    if (total === shownTotal) return;
    shownTotal = total;
    const linkTo = (/** @type {{page: number, size: number}} */ to) => link(['batches'], to);
    redraw(pages, total > 0 && pager({ page, size, total, noun: ['batch', 'batches'], linkTo }));
  };
  const list = (
    /** @type {(import('../api/task.js').Task & {progress?: import('../api/task.js').Progress})[]} */ rows,
  ) =>
    h(
      'section',
      { class: 'panel', 'aria-label': 'Batches' },
      table({
        caption: 'Batches, newest first',
        columns: [
          {
            name: 'Accepted',
            isHeading: true,
            cell: (it) =>
              h('a', { href: link(['batches', it.id]) }, timeElement(createdAt(it.id), { isPrecise: true })),
          },
          { name: 'Operation', cell: (it) => KIND_WORDS[it.kind] },
          { name: 'State', cell: (it) => taskMark(it, it.progress) },
          { name: 'Items', cell: (it) => (it.progress ? progressBar(it.progress) : '—') },
        ],
        rows,
      }),
    );
  if (may('access:read')) await poll(signal, place, 'Loading batches …', POLL_SECONDS, read);
  else replace(place, h('p', { class: 'panel' }, 'Your token may send batches, but not read their progress.'));
  return h('div', {}, h('div', { class: 'title' }, h('h1', {}, 'Batches'), newBatchButton(link)), place, pages);
}

/** @param {Context['link']} link */
function noBatches(link) {
  return emptyPanel(
    'No batches yet',
    h(
      'p',
      {},
      'A batch creates, changes or terminates many accesses at once. It runs in the background, and this page shows its progress.',
    ),
    newBatchButton(link),
  );
}

/** @param {Context['link']} link */
const newBatchButton = (link) =>
  may('access:write') &&
  h('p', { class: 'buttons' }, h('a', { class: 'button main', href: link(['batches', 'new']) }, 'New batch'));
