// The contracts: what each allows, and how much of it is used.

import { getPage, path } from '../api/client.js';
import { billingWords, closedBecause } from '../api/contract.js';
import { h } from '../element.js';
import { having } from '../filter/expression.js';
import { plainBar } from '../part/chart.js';
import { count } from '../part/number.js';
import { pageIn, pager } from '../part/pager.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Contracts';
export const scopes = ['access:read'];

/** @param {Context} context */
export async function show({ tenant, query, signal, link }) {
  const { page, size: wanted } = pageIn(query);
  const { items, total, size } = await getPage(path(tenant, 'contract'), { page, size: wanted, signal });
  if (total === 0) {
    return h(
      'div',
      {},
      h('h1', {}, 'Contracts'),
      h(
        'div',
        { class: 'panel empty' },
        h('h2', {}, 'No contracts yet'),
        h('p', {}, 'Every access belongs to a contract. Whoever runs this server sets them up.'),
      ),
    );
  }
  return h(
    'div',
    {},
    h('h1', {}, 'Contracts'),
    h(
      'section',
      { class: 'panel', 'aria-label': 'Contracts' },
      items.length === 0 &&
        h(
          'p',
          {},
          'There is nothing on this page: it is behind the last one. ',
          h('a', { href: link(['contracts'], { page: Math.ceil(total / size), size }) }, 'The last page'),
        ),
      table({
        caption: 'Contracts, by ID',
        columns: [
          {
            name: 'Contract',
            isHeading: true,
            cell: (it) => h('a', { href: link(['accesses'], { filter: having('contractId', it.id) }) }, it.id),
          },
          { name: 'Offering', cell: (it) => it.productOfferingId },
          { name: 'Billing', cell: billingWords },
          { name: 'Status', cell: (it) => statusMark(it.status) },
          { name: 'From', cell: (it) => timeElement(it.startDateTime) },
          { name: 'Until', cell: (it) => timeElement(it.endDateTime) },
          {
            name: 'Accesses',
            kind: 'number',
            cell: (it) =>
              it.maxAccesses === undefined
                ? count(it.accessCount)
                : `${count(it.accessCount)} of ${count(it.maxAccesses)}`,
          },
          {
            name: 'Used',
            cell: (it) =>
              it.maxAccesses !== undefined &&
              plainBar(it.accessCount, it.maxAccesses, it.accessCount >= it.maxAccesses ? 'warn' : 'new'),
          },
          ...(may('access:write')
            ? [
                {
                  name: 'New',
                  cell: (/** @type {any} */ it) =>
                    closedBecause(it)
                      ? h('span', { class: 'none' }, closedBecause(it))
                      : h(
                          'a',
                          {
                            class: 'word',
                            href: link(['accesses', 'new'], { contract: it.id }),
                            'aria-label': `Create an access under ${it.id}`,
                          },
                          'Create',
                        ),
                },
              ]
            : []),
        ],
        rows: items,
      }),
      pager({ page, size, total, noun: ['contract', 'contracts'], linkTo: (to) => link(['contracts'], to) }),
      h('p', { class: 'fine' }, 'Accesses that are terminated are not counted here.'),
    ),
  );
}
