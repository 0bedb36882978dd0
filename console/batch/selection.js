// The accesses that a batch changes: those in a list of IDs, or all that match a filter.

import { h, replace } from '../element.js';
import { choices } from '../part/form.js';
import { filterText } from './filter_text.js';
import { idList } from './id_list.js';

/**
 * Selected accesses: the fields of the request that name them, and their number in words.
 * @typedef {{fields: {accessesIdList: string[]} | {accessFilter: string}, them: string}} Selected
 */

/**
 * A part of a form that selects accesses; `read` returns `undefined` if the user has to correct something first.
 * @typedef {{element: HTMLElement, read: () => Selected | undefined | Promise<Selected | undefined>}} Selection
 */

const WAYS = /** @type {[string, string][]} */ ([
  ['ids', 'Those with these IDs'],
  ['filter', 'All that match a filter'],
]);

/**
 * @param {object} what
 * @param {string} what.tenant
 * @param {AbortSignal} what.signal
 * @param {string[]} [what.ids] the initial list of IDs
 * @param {string} [what.filter] the initial filter
 * @param {string[]} [what.labelKeys]
 * @returns {Selection}
 */
export function selection({ tenant, signal, ids, filter, labelKeys }) {
  const ways = {
    ids: idList(ids),
    filter: filterText({ tenant, signal, text: filter ?? '', labelKeys }),
  };
  const place = h('div', {});
  let chosen = ways.ids;

  /** @param {string} way */
  function choose(way) {
    chosen = way === 'filter' ? ways.filter : ways.ids;
    replace(place, chosen.element);
  }

  const way = filter === undefined ? 'ids' : 'filter';
  choose(way);
  const element = h(
    'div',
    { class: 'fields' },
    choices({ name: 'selection', legend: 'Accesses', choices: WAYS, chosen: way, choose }),
    place,
  );
  return { element, read: () => chosen.read() };
}
