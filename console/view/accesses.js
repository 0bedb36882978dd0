// The list of accesses, with its filter and its pages.

import { go } from '../address.js';
import { getPageResponse, path } from '../api/client.js';
import { contractsOf } from '../api/contract.js';
import { labelKeysOf } from '../api/tenant.js';
import { h } from '../element.js';
import {
  ACCESS_FIELDS,
  havingLabel,
  namesLabels,
  narrow,
  readFilter,
  toQuery,
  writeFilter,
} from '../filter/expression.js';
import { filterPanel, listOrFault } from '../filter/panel.js';
import { accessFinder } from '../find/access_finder.js';
import { labelChips } from '../label/chips.js';
import { ignoredNotice } from '../label/ignored_notice.js';
import { createButtons } from '../part/create_buttons.js';
import { orderChoice, orderIn } from '../part/order.js';
import { pageIn, pager, pastTheEnd } from '../part/pager.js';
import { emptyPanel } from '../part/panel.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

/**
 * The address of another page, filter or order of the list.
 * @typedef {{page?: number, size?: number, filter?: string, sort?: string}} To
 */

/** The number of labels that a row shows; the view of the access shows all. */
const LABELS_SHOWN_MAX = 3;

export const title = () => 'Accesses';
export const scopes = ['access:read', 'access:write'];

/** @param {Context} context */
export async function show(context) {
  const { tenant, query, link } = context;
  const finder = may('access:read') && accessFinder(context);
  const head = h('div', { class: 'title' }, h('h1', {}, 'Accesses'), finder, createButtons(link));
  if (!may('access:read')) {
    return h('div', {}, head, h('p', { class: 'panel' }, 'Your token may create accesses, but not list them.'));
  }
  const text = query.get('filter') ?? '';
  const { page, size } = pageIn(query);
  const sort = orderIn(query);
  const linkTo = (/** @type {To} */ to) => link(['accesses'], { filter: text, sort, size, ...to });
  const keys = labelKeysOf(tenant);
  const [list, contracts, labelKeys] = await Promise.all([
    listOrFault(text, () => results(context, { page, size, sort, text, keys, linkTo })),
    // Contracts are only suggested: the user can type any ID.
    contractsOf(tenant).catch(() => []),
    keys,
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
        label: labelKeys ?? [],
      },
      apply: (filter) => go(linkTo({ filter, page: 1 })),
    }),
    list,
  );
}

/**
 * @param {Context} context
 * @param {object} how
 * @param {number} how.page
 * @param {number} how.size
 * @param {string | undefined} how.sort
 * @param {string} how.text
 * @param {Promise<string[] | undefined>} how.keys
 * @param {(to: To) => string} how.linkTo
 */
async function results({ tenant, signal, link }, { page, size: requested, sort, text, keys: reading, linkTo }) {
  const filter = readFilter(text, ACCESS_FIELDS);
  // The server may ignore labels, and no other condition: the page says so above the list.
  const query = [toQuery(filter), sort && `sort=${sort}`].filter(Boolean).join('&');
  const which = { query, page, size: requested, isLenient: namesLabels(filter), signal };
  const [{ body, headers, size }, keys] = await Promise.all([getPageResponse(path(tenant, 'access'), which), reading]);
  /** @type {any[]} */
  const items = body;
  const total = Number(headers.get('x-total-count'));
  const notice = ignoredNotice(headers, keys);
  if (total === 0) {
    return text
      ? h(
          'div',
          {},
          notice,
          emptyPanel(
            'No access matches this filter',
            h('p', {}, 'Values must match exactly. ', h('a', { href: linkTo({ filter: '' }) }, 'Show all')),
          ),
        )
      : emptyPanel('No accesses yet', h('p', {}, 'Create one access, or many at once.'));
  }
  const linkToLabel = (/** @type {string} */ key, /** @type {string} */ value) =>
    linkTo({ filter: writeFilter(narrow(filter, havingLabel(key, value))) });
  const labels = {
    name: 'Labels',
    cell: (/** @type {any} */ it) =>
      it.labels && labelChips(it.labels, { keys, linkTo: linkToLabel, most: LABELS_SHOWN_MAX }),
  };
  const section = h(
    'section',
    { class: 'panel', 'aria-label': 'Accesses' },
    orderChoice(sort, (order) => linkTo({ sort: order, page: 1 })),
    items.length === 0
      ? pastTheEnd({ size, total, linkTo })
      : table({
          caption: sort ? 'Accesses, newest first' : 'Accesses, oldest first',
          columns: [
            { name: 'Name', isHeading: true, cell: (it) => h('a', { href: link(['accesses', it.id]) }, it.name) },
            { name: 'Username', cell: (it) => h('code', {}, it.username) },
            { name: 'Status', cell: (it) => statusMark(it.status) },
            ...(items.some((it) => it.labels) ? [labels] : []),
            { name: 'Contract', cell: (it) => it.contractId },
            { name: 'Starts', cell: (it) => timeElement(it.startDateTime) },
            { name: 'Ends', cell: (it) => timeElement(it.endDateTime) },
          ],
          rows: items,
        }),
    pager({ page, size, total, noun: ['access', 'accesses'], linkTo }),
  );
  // A batch refuses what this list has ignored.
  const isForBatch = text !== '' && !notice && may('access:write');
  const change =
    isForBatch &&
    h(
      'p',
      { class: 'buttons' },
      h(
        'a',
        { class: 'button', id: 'change-matching', href: link(['batches', 'new'], { kind: 'change', filter: text }) },
        'Change all that match',
      ),
    );
  return h('div', {}, notice, section, change);
}
