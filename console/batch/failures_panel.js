// What failed in a batch, why, and the way to send it again.

import { listItems } from '../api/task.js';
import { h } from '../element.js';
import { loadBefore } from '../part/loading.js';
import { count } from '../part/number.js';
import { pager } from '../part/pager.js';
import { inOneLine } from '../part/problem_panel.js';
import { table } from '../part/table.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('../view/context.js').Context} Context */
/** @typedef {import('../api/task.js').Task} Task */

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
    await loadBefore(signal, async () => {
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
