// The order of a list: oldest first, as lists are by default, or newest first.

import { go } from '../address.js';
import { h } from '../element.js';
import { onChosen } from './form.js';

/** The order in addresses and requests that lists the newest first. */
export const NEWEST_FIRST = '-createdAt';

/**
 * Reads the order from an address; `undefined` is the default order.
 * @param {URLSearchParams} query
 */
export const orderIn = (query) => (query.get('sort') === NEWEST_FIRST ? NEWEST_FIRST : undefined);

/**
 * The control that chooses the order.
 * @param {string | undefined} order
 * @param {(order: string | undefined) => string} linkTo
 */
export function orderChoice(order, linkTo) {
  const select = h(
    'select',
    { id: 'order', 'aria-label': 'Order' },
    h('option', { value: '', selected: !order }, 'Oldest first'),
    h('option', { value: NEWEST_FIRST, selected: order === NEWEST_FIRST }, 'Newest first'),
  );
  onChosen(select, (value) => go(linkTo(value || undefined)));
  return h('p', { class: 'order' }, select);
}
