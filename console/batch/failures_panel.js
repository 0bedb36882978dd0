// The panel of a batch's failed items, with the reasons and a link to the retry.

import { listItems } from '../api/task.js';
import { h } from '../element.js';
import { loadBefore } from '../part/loading.js';
import { count } from '../part/number.js';
import { pager } from '../part/pager.js';
import { panel } from '../part/panel.js';
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
export async function failuresPanel({ tenant, signal, link }, task, { page, size: requested, linkTo }) {
  return panel(
    'failed-title',
    'Failed items',
    await loadBefore(signal, async () => {
      const { items, total, size } = await listItems(tenant, task.id, 'failed', { page, size: requested }, signal);
      return [
        table({
          caption: 'Failed items, in the order of the batch',
          columns: [
            { name: 'Item', kind: 'number', cell: (it) => count(it.index + 1) },
            {
              name: 'Access',
              isHeading: true,
              cell: (it) =>
                it.error.accessId ??
                it.error.username ??
                it.error.deviceName ??
                h('span', { class: 'none' }, 'generated'),
            },
            { name: 'Reason', cell: (it) => [h('strong', {}, it.error.title), h('br'), inOneLine(it.error)] },
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
        h('a', { class: 'button', href: link(['batches', 'new'], { retry: task.id }) }, 'Retry the failed items'),
      ),
  );
}
