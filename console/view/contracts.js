// The list of contracts: their terms, and how many accesses use them.

import { getPage, path } from '../api/client.js';
import { billingWords, closedBecause } from '../api/contract.js';
import { h } from '../element.js';
import { having } from '../filter/expression.js';
import { plainBar } from '../part/chart.js';
import { count } from '../part/number.js';
import { pageIn, pager, pastTheEnd } from '../part/pager.js';
import { emptyPanel } from '../part/panel.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Contracts';
export const scopes = ['access:read'];

/** @param {Context} context */
export async function show({ tenant, query, signal, link }) {
  const { page, size: requested } = pageIn(query);
  const { items, total, size } = await getPage(path(tenant, 'contract'), { page, size: requested, signal });
  const linkTo = (/** @type {{page: number, size: number}} */ to) => link(['contracts'], to);
  if (total === 0) {
    return h(
      'div',
      {},
      h('h1', {}, 'Contracts'),
      emptyPanel(
        'No contracts yet',
        h('p', {}, 'Every access belongs to a contract. The server’s operator sets contracts up.'),
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
      items.length === 0 && pastTheEnd({ size, total, linkTo }),
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
                  name: 'New access',
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
      pager({ page, size, total, noun: ['contract', 'contracts'], linkTo }),
      h('p', { class: 'fine' }, 'Terminated accesses are not counted.'),
    ),
  );
}
