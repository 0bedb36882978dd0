// Tables: rows and columns on a wide screen, a card for each row on a phone.

import { h } from '../element.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: Row) => import('../element.js').Child} cell
 * @property {'number'} [kind]
 * @property {boolean} [isHeading] whether the column names the row
 */

/**
 * @template Row
 * @param {object} what
 * @param {string} what.caption the table's name for screen readers
 * @param {Column<Row>[]} what.columns
 * @param {Row[]} what.rows
 * @param {boolean} [what.isCompact]
 */
export function table({ caption, columns, rows, isCompact = false }) {
  // The explicit roles survive the phone's block layout, which removes the implicit ones.
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
            // On a phone, the style puts the column's name before the content.
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
