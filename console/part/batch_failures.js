// What failed in a batch, why, and the way to send it again.

import { h } from '../element.js';
import { may } from '../session.js';
import { listItems } from '../task.js';
import { later } from './later.js';
import { count } from './number.js';
import { pager } from './pages.js';
import { inOneLine } from './problem.js';
import { table } from './table.js';

/** @typedef {import('../views.js').Context} Context */
/** @typedef {import('../task.js').Task} Task */

/**
 * @param {Context} context
 * @param {Task} task
 * @param {{page: number, size: number}} which
 */
export function batchFailures(context, task, which) {
  const { tenant, signal, link } = context;
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
    may('access:write') &&
      h(
        'p',
        { class: 'buttons' },
        h('a', { class: 'button', href: link(['batches', 'new'], { retry: task.id }) }, 'Send the failed ones again'),
      ),
  );
}
