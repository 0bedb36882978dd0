// The list of accesses, with its filter and its pages.

import { go } from '../address.js';
import { getPage, path } from '../api/client.js';
import { contractsOf } from '../api/contract.js';
import { h } from '../element.js';
import { ACCESS_FIELDS, readFilter, toQuery } from '../filter/expression.js';
import { filterPanel, listOrFault } from '../filter/panel.js';
import { createButtons } from '../part/create_buttons.js';
import { pageIn, pager, pastTheEnd } from '../part/pager.js';
import { emptyPanel } from '../part/panel.js';
import { ACCESS_STATUSES, statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Accesses';
export const scopes = ['access:read', 'access:write'];

/** @param {Context} context */
export async function show(context) {
  const { tenant, query, link } = context;
  const head = h('div', { class: 'title' }, h('h1', {}, 'Accesses'), createButtons(link));
  if (!may('access:read')) {
    return h('div', {}, head, h('p', { class: 'panel' }, 'Your token may create accesses, but not list them.'));
  }
  const text = query.get('filter') ?? '';
  const { page, size } = pageIn(query);
  const linkTo = (/** @type {{page?: number, size?: number, filter?: string}} */ to) =>
    link(['accesses'], { filter: text, size, ...to });
  const [list, contracts] = await Promise.all([
    listOrFault(text, () => results(context, { page, size, text, linkTo })),
    // Contracts are only suggested: the user can type any ID.
    contractsOf(tenant).catch(() => []),
  ]);
  const offerings = [...new Set(contracts.map((it) => it.productOfferingId))];
  return h(
    'div',
    {},
    head,
    filterPanel({
      fields: ACCESS_FIELDS,
      text,
      suggestions: {
        contractId: contracts.map((it) => it.id),
        productOfferingId: offerings,
        status: ACCESS_STATUSES,
      },
      apply: (filter) => go(linkTo({ filter, page: 1 })),
    }),
    list,
  );
}

/**
 * @param {Context} context
 * @param {{page: number, size: number, text: string, linkTo: (to: {page?: number, size?: number, filter?: string}) => string}} how
 */
async function results({ tenant, signal, link }, { page, size: requested, text, linkTo }) {
  const query = toQuery(readFilter(text, ACCESS_FIELDS));
  const { items, total, size } = await getPage(path(tenant, 'access'), { query, page, size: requested, signal });
  if (total === 0) {
    return text
      ? emptyPanel(
          'No access matches this filter',
          h('p', {}, 'Values must match exactly. ', h('a', { href: linkTo({ filter: '' }) }, 'Show all')),
        )
      : emptyPanel(
          'No accesses yet',
          h('p', {}, 'Create one access, or many at once. The list shows the oldest first.'),
        );
  }
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Accesses' },
    items.length === 0
      ? pastTheEnd({ size, total, linkTo })
      : table({
          caption: 'Accesses, oldest first',
          columns: [
            { name: 'Name', isHeading: true, cell: (it) => h('a', { href: link(['accesses', it.id]) }, it.name) },
            { name: 'Username', cell: (it) => h('code', {}, it.username) },
            { name: 'Status', cell: (it) => statusMark(it.status) },
            { name: 'Contract', cell: (it) => it.contractId },
            { name: 'Starts', cell: (it) => timeElement(it.startDateTime) },
            { name: 'Ends', cell: (it) => timeElement(it.endDateTime) },
          ],
          rows: items,
        }),
    pager({ page, size, total, noun: ['access', 'accesses'], linkTo }),
  );
}
