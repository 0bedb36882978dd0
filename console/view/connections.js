// The connections at all platforms as one list, with the problems of accounts beside it.

import { go } from '../address.js';
import { getAll, getPageResponse, path } from '../api/client.js';
import { accountProblems } from '../connection/account_problems.js';
import { productTable } from '../connection/product_table.js';
import { h } from '../element.js';
import { PRODUCT_FIELDS, readFilter, toQuery } from '../filter/expression.js';
import { filterPanel, listOrFault } from '../filter/panel.js';
import { pageIn, pager } from '../part/pager.js';
import { emptyPanel } from '../part/panel.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Connections';
export const scopes = ['product:read'];

/** @param {Context} context */
export async function show(context) {
  const { tenant, query, signal, link } = context;
  const text = query.get('filter') ?? '';
  const { page, size } = pageIn(query);
  const linkTo = (/** @type {{page?: number, size?: number, filter?: string}} */ to) =>
    link(['connections'], { filter: text, size, ...to });
  const accounts = await accountsOf(tenant, signal);
  const unique = (/** @type {string} */ name) => [...new Set(accounts.map((it) => it[name]))];
  return h(
    'div',
    {},
    h(
      'div',
      { class: 'title' },
      h('h1', {}, 'Connections'),
      h(
        'p',
        { class: 'buttons' },
        h('a', { class: 'button main', href: link(['connections', 'find']) }, 'Find by numbers'),
      ),
    ),
    filterPanel({
      fields: PRODUCT_FIELDS,
      text,
      suggestions: { platform: unique('platform'), 'relatedParty.name': unique('name') },
      apply: (filter) => go(linkTo({ filter, page: 1 })),
    }),
    accounts.length === 0
      ? emptyPanel(
          'No accounts yet',
          h(
            'p',
            {},
            'Connections belong to accounts at external platforms, and this tenant has none. The server’s operator sets accounts up.',
          ),
        )
      : await listOrFault(text, () => results(context, { text, page, size, linkTo })),
  );
}

/** @typedef {{text: string, page: number, size: number, linkTo: (to: {page?: number, size?: number, filter?: string}) => string}} Which */

/** @param {Context} context @param {Which} which */
async function results({ tenant, signal, link }, { text, page, size: requested, linkTo }) {
  const query = toQuery(readFilter(text, PRODUCT_FIELDS));
  const { body, size } = await getPageResponse(path(tenant, 'product'), { query, page, size: requested, signal });
  const { entities, errors } = body;
  // A filter by properties can leave a page empty before the end, and an account that failed may have more.
  const isLast = entities.length === 0 && errors.length === 0 && !query.includes('customProperty');
  return h(
    'div',
    { class: 'beside' },
    h(
      'section',
      { class: 'panel', 'aria-label': 'Connections' },
      entities.length > 0
        ? productTable('Connections, by platform and account', entities, link)
        : nothing(page, text, linkTo),
      pager({ page, size, isLast, noun: ['connection', 'connections'], linkTo }),
      h(
        'p',
        { class: 'fine' },
        'Each page is divided among the accounts, so it may have fewer rows than its size. The platforms report no total.',
      ),
    ),
    accountProblems(errors),
  );
}

/** @param {number} page @param {string} text @param {(to: {page?: number, filter?: string}) => string} linkTo */
function nothing(page, text, linkTo) {
  if (page > 1)
    return h('p', {}, 'This page is empty. ', h('a', { href: linkTo({ page: 1 }) }, 'Go to the first page'));
  return text
    ? h(
        'p',
        {},
        'No connection on this page matches the filter. ',
        h('a', { href: linkTo({ filter: '' }) }, 'Show all'),
      )
    : h('p', {}, 'The accounts have no connections.');
}

/** @param {string} tenant @param {AbortSignal} signal @returns {Promise<any[]>} */
async function accountsOf(tenant, signal) {
  const { items } = await getAll(path(tenant, 'account'), { signal });
  return items;
}
