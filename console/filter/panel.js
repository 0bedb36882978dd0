// The filter of a list: a line that says what is filtered by, which opens to the whole builder.

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
 * What is wrong where a filter is: it can't be read, or the API refuses it, or it asks for too much. Nothing for what has
 * nothing to do with it.
 * @param {unknown} cause
 */
export function filterProblem(cause) {
  if (cause instanceof BadFilter) {
    return h(
      'div',
      { class: 'panel problem', role: 'alert' },
      h('h2', {}, 'This filter can’t be read'),
      h('p', {}, cause.message),
    );
  }
  const isOurs = cause instanceof Problem && (cause.status === 400 || cause.title === 'Too slow');
  return isOurs ? problemPanel(cause) : undefined;
}
