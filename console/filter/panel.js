// The filter of a list: a summary with the expression, which opens the builder.

import { Problem } from '../api/problem.js';
import { h } from '../element.js';
import { problemPanel } from '../part/problem_panel.js';
import { filterBuilder } from './builder.js';
import { BadFilter } from './expression.js';

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

/**
 * Loads the list of a filter. A failure that the filter caused becomes a panel: the filter is invalid, the API refuses it, or it
 * takes too long.
 * @param {string} text the filter
 * @param {() => Promise<HTMLElement>} load
 */
export async function listOrFault(text, load) {
  try {
    return await load();
  } catch (cause) {
    if (text === '') throw cause;
    if (cause instanceof BadFilter) {
      return h(
        'div',
        { class: 'panel problem', role: 'alert' },
        h('h2', {}, 'Invalid filter'),
        h('p', {}, cause.message),
      );
    }
    const isOfFilter = cause instanceof Problem && (cause.status === 400 || cause.title === 'Too slow');
    if (isOfFilter) return problemPanel(cause);
    throw cause;
  }
}
