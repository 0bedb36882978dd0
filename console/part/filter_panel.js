// The filter of a list: a line that says what is filtered by, which opens to the whole builder.

import { h } from '../element.js';
import { filterBuilder } from './filter_builder.js';

/**
 * @param {Parameters<typeof filterBuilder>[0]} what
 */
export function filterPanel(what) {
  return h(
    'details',
    { class: 'panel filter-panel', open: what.text !== '' },
    h('summary', { id: 'filter' }, 'Filter', what.text !== '' && [': ', h('code', {}, what.text)]),
    filterBuilder(what),
  );
}
