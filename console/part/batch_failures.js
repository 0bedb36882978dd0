// What failed in a batch, why, and the way to send it again.

import { h } from '../element.js';
import { may } from '../session.js';
import { listItems } from '../task.js';
import { filled } from './later.js';
import { count } from './number.js';
import { pager } from './pages.js';
import { inOneLine } from './problem.js';
import { table } from './table.js';

/** @typedef {import('../views.js').Context} Context */
/** @typedef {import('../task.js').Task} Task */

/**
 * @param {Context} context
 * @param {Task} task
 * @param {{page: number, size: number, linkTo: (to: {page: number, size: number}) => string}} which
 */
export async function batchFailures({ tenant, signal, link }, task, { page, size: wanted, linkTo }) {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'failed-title' },
    h('h2', { id: 'failed-title' }, 'What failed'),
    await filled(signal, async () => {
      const { items, total, size } = await listItems(tenant, task.id, 'failed', { page, size: wanted }, signal);
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
        pager({ id: 'failed', page, size, total, noun: ['failed item', 'failed items'], linkTo }),
      ];
    }),
    may('access:write') &&
      h(
        'p',
        { class: 'buttons' },
        h('a', { class: 'button', href: link(['batches', 'new'], { retry: task.id }) }, 'Send the failed ones again'),
      ),
  );
}
