// The accesses: any page of any filter.

import { go } from '../address.js';
import { getPage, path } from '../api/client.js';
import { contractsOf } from '../api/contract.js';
import { h } from '../element.js';
import { ACCESS_FIELDS, readFilter, toQuery } from '../filter/expression.js';
import { filterPanel, filterProblem } from '../filter/panel.js';
import { pageIn, pager } from '../part/pager.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Accesses';
export const scopes = ['access:read', 'access:write'];

/** @param {Context} context */
export async function show(context) {
  const { tenant, query, signal, link } = context;
  const head = h(
    'div',
    { class: 'title' },
    h('h1', {}, 'Accesses'),
    may('access:write') &&
      h(
        'p',
        { class: 'buttons' },
        h('a', { class: 'button main', href: link(['accesses', 'new']) }, 'Create an access'),
        h('a', { class: 'button', href: link(['batches', 'new']) }, 'Create many'),
      ),
  );
  if (!may('access:read')) {
    return h('div', {}, head, h('p', { class: 'panel' }, 'This sign-in creates accesses, but may not list them.'));
  }
  const text = query.get('filter') ?? '';
  const { page, size } = pageIn(query);
  const linkTo = (/** @type {{page?: number, size?: number, filter?: string}} */ to) =>
    link(['accesses'], { filter: text, size, ...to });
  const [list, contracts] = await Promise.all([
    readList(tenant, text, { page, size, signal }),
    // They are only proposed: whoever knows one can type it.
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
      suggestions: { contractId: contracts.map((it) => it.id), productOfferingId: offerings },
      apply: (filter) => go(linkTo({ filter, page: 1 })),
    }),
    'items' in list ? results(context, list, { page, size: list.size, text, linkTo }) : list.panel,
  );
}

/**
 * The list, or what is wrong with the filter that asks for it: that stays there to be mended.
 * @param {string} tenant
 * @param {string} text
 * @param {{page: number, size: number, signal: AbortSignal}} which
 */
async function readList(tenant, text, which) {
  try {
    const query = toQuery(readFilter(text, ACCESS_FIELDS));
    return await getPage(path(tenant, 'access'), { query, ...which });
  } catch (cause) {
    const panel = text !== '' && filterProblem(cause);
    if (panel) return { panel };
    throw cause;
  }
}

/**
 * @param {Context} context
 * @param {{items: any[], total: number}} list
 * @param {{page: number, size: number, text: string, linkTo: (to: {page?: number, size?: number, filter?: string}) => string}} how
 */
function results({ link }, { items, total }, { page, size, text, linkTo }) {
  if (total === 0) {
    return h(
      'div',
      { class: 'panel empty' },
      h('h2', {}, text ? 'Nothing passes this filter' : 'No accesses yet'),
      text
        ? h('p', {}, 'Values are compared letter by letter. ', h('a', { href: linkTo({ filter: '' }) }, 'Show all'))
        : h('p', {}, 'Create one, or many at once; they are listed here, oldest first.'),
    );
  }
  const past = items.length === 0;
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Accesses' },
    past
      ? h(
          'p',
          {},
          'There is nothing on this page: it is behind the last one. ',
          h('a', { href: linkTo({ page: Math.ceil(total / size) }) }, 'The last page'),
        )
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
