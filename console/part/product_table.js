// A table of connections.

import { h } from '../element.js';
import { accountOf, platformOf, TYPE_WORDS, valuesOf } from '../product.js';
import { statusMark } from './status.js';
import { table } from './table.js';

/** @typedef {import('../product.js').Product} Product */

/**
 * @param {string} caption
 * @param {Product[]} rows
 * @param {(path: string[]) => string} link
 * @param {import('./table.js').Column<any>[]} [first] columns that stand in front
 */
export function productTable(caption, rows, link, first = []) {
  const code = (/** @type {string} */ name) => (/** @type {Product} */ it) =>
    valuesOf(it, name).map((value, n) => [n > 0 && ', ', h('code', {}, value)]);
  const hasSerial = rows.some((it) => valuesOf(it, 'SERIAL_NUMBER').length > 0);
  return table({
    caption,
    columns: [
      ...first,
      { name: 'Connection', isHeading: true, cell: (it) => h('a', { href: link(['connections', it.id]) }, it.id) },
      { name: 'Status', cell: (it) => statusMark(it.status) },
      { name: 'Platform', cell: platformOf },
      { name: 'Account', cell: accountOf },
      { name: 'Kind', cell: (it) => TYPE_WORDS[it.connectivityType] ?? it.connectivityType },
      { name: 'ICCID', cell: code('ICCID') },
      { name: 'MSISDN', cell: code('MSISDN') },
      ...(hasSerial ? [{ name: 'Serial number', cell: code('SERIAL_NUMBER') }] : []),
    ],
    rows,
  });
}
