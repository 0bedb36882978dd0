// A table of connections.

import { accountOf, platformOf, TYPE_WORDS, valuesOf } from '../api/product.js';
import { h } from '../element.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';

/** @typedef {import('../api/product.js').Product} Product */

/** The characteristics in the column of numbers, with their labels. */
const NUMBERS = [
  ['ICCID', 'ICCID'],
  ['MSISDN', 'MSISDN'],
  ['SERIAL_NUMBER', 'Serial number'],
];

/**
 * @param {string} caption
 * @param {Product[]} rows
 * @param {(path: string[]) => string} link
 * @param {import('../part/table.js').Column<any>[]} [first] columns before the others
 */
export function productTable(caption, rows, link, first = []) {
  return table({
    caption,
    columns: [
      ...first,
      {
        name: 'Connection',
        isHeading: true,
        cell: (it) => [
          h('a', { href: link(['connections', it.id]) }, it.id),
          h('div', { class: 'fine' }, TYPE_WORDS[it.connectivityType] ?? it.connectivityType),
        ],
      },
      { name: 'Status', cell: (it) => statusMark(it.status) },
      { name: 'Account', cell: (it) => [accountOf(it), h('div', { class: 'fine' }, `at ${platformOf(it)}`)] },
      { name: 'Numbers', cell: numbersOf },
    ],
    rows,
  });
}

/** @param {Product} product */
function numbersOf(product) {
  return NUMBERS.flatMap(([name, word]) =>
    valuesOf(product, name).map((value) =>
      h('div', { class: 'numbered' }, h('span', { class: 'fine' }, word), ' ', h('code', {}, value)),
    ),
  );
}
