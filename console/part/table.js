// Tables: rows and columns where there is room, a card for each row on a phone.

import { h } from '../element.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: Row) => import('../element.js').Child} cell
 * @property {'number'} [kind]
 * @property {boolean} [isHeading] whether it says what the row is
 */

/**
 * @template Row
 * @param {object} what
 * @param {string} what.caption what the table shows, for those who listen
 * @param {Column<Row>[]} what.columns
 * @param {Row[]} what.rows
 * @param {boolean} [what.isCompact]
 */
export function table({ caption, columns, rows, isCompact = false }) {
  // On a phone a table is laid out as blocks, by which it would lose what it is.
  return h(
    'table',
    { role: 'table', class: isCompact ? 'compact' : undefined },
    h('caption', { class: 'screen-reader-only' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map(({ name, kind }) => h('th', { scope: 'col', role: 'columnheader', class: kind }, name)),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.map((row) =>
        h(
          'tr',
          { role: 'row' },
          columns.map(({ name, cell, kind, isHeading }) => {
            // On a phone the name of the column stands in front of it all.
            const content = h('div', { class: 'cell' }, cell(row));
            return isHeading
              ? h('th', { scope: 'row', role: 'rowheader', 'data-name': name, class: kind }, content)
              : h('td', { role: 'cell', 'data-name': name, class: kind }, content);
          }),
        ),
      ),
    ),
  );
}
