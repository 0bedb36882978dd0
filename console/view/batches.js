// The batches: newest first, each with how far it is.

import { isOver, KIND_WORDS, listTasks, readAllProgress } from '../api/task.js';
import { progressBar } from '../batch/progress.js';
import { h, redraw, replace } from '../element.js';
import { poll } from '../part/loading.js';
import { pageIn, pager } from '../part/pager.js';
import { taskMark } from '../part/status.js';
import { table } from '../part/table.js';
import { createdAt, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

/** Seconds between two looks. */
const AGAIN = 2;

export const title = () => 'Batches';
export const scopes = ['access:read', 'access:write'];

/** @param {Context} context */
export async function show({ tenant, query, signal, link }) {
  const { page, size: wanted } = pageIn(query, 25);
  const place = h('div', {});
  /** How far those are that are over: that never changes. @type {Map<string, import('../batch/progress.js').Progress>} */
  const known = new Map();
  const read = async () => {
    const { tasks, total, size } = await listTasks(tenant, { page, size: wanted }, signal);
    const asked = tasks.filter(({ id }) => !known.has(id)).map(({ id }) => id);
    const far = await readAllProgress(tenant, asked, signal);
    for (const { id, state } of tasks) {
      const progress = far.get(id);
      if (progress && isOver({ state })) known.set(id, progress);
    }
    const rows = tasks.map((task) => ({ ...task, progress: known.get(task.id) ?? far.get(task.id) }));
    turnPages(total, size);
    return { text: JSON.stringify([rows, total === 0]), draw: () => (total === 0 ? noBatches(link) : list(rows)) };
  };
  /** The pager stands by itself: it is not taken from under somebody's hands while batches go on. */
  const pages = h('div', {});
  let shownTotal = -1;
  const turnPages = (/** @type {number} */ total, /** @type {number} */ size) => {
    if (total === shownTotal) return;
    shownTotal = total;
    const linkTo = (/** @type {{page: number, size: number}} */ to) => link(['batches'], to);
    redraw(pages, total > 0 && pager({ page, size, total, noun: ['batch', 'batches'], linkTo }));
  };
  const list = (
    /** @type {(import('../api/task.js').Task & {progress?: import('../batch/progress.js').Progress})[]} */ rows,
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
          { name: 'What', cell: (it) => KIND_WORDS[it.kind] },
          { name: 'State', cell: (it) => taskMark(it, it.progress) },
          { name: 'Items', cell: (it) => (it.progress ? progressBar(it.progress) : '—') },
        ],
        rows,
      }),
    );
  if (may('access:read')) await poll(signal, place, 'Looking for batches …', AGAIN, read);
  else replace(place, h('p', { class: 'panel' }, 'This sign-in sends batches, but may not follow them.'));
  return h(
    'div',
    {},
    h(
      'div',
      { class: 'title' },
      h('h1', {}, 'Batches'),
      may('access:write') &&
        h('p', { class: 'buttons' }, h('a', { class: 'button main', href: link(['batches', 'new']) }, 'New batch')),
    ),
    place,
    pages,
  );
}

/** @param {Context['link']} link */
function noBatches(link) {
  return h(
    'div',
    { class: 'panel empty' },
    h('h2', {}, 'No batches yet'),
    h(
      'p',
      {},
      'A batch creates, changes or ends many accesses at once. It is worked off while nobody waits, and can be followed here.',
    ),
    may('access:write') &&
      h('p', { class: 'buttons' }, h('a', { class: 'button main', href: link(['batches', 'new']) }, 'New batch')),
  );
}
