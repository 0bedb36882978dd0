// Panels: framed sections of a view.

import { h } from '../element.js';

/** @typedef {import('../element.js').Child} Child */

/**
 * A section with a heading that names it.
 * @param {string} id the `id` of the heading
 * @param {Child} title
 * @param {...Child} children
 */
export const panel = (id, title, ...children) =>
  h('section', { class: 'panel', 'aria-labelledby': id }, h('h2', { id }, title), children);

/**
 * The panel of a list without entries.
 * @param {string} title
 * @param {...Child} children
 */
export const emptyPanel = (title, ...children) => h('div', { class: 'panel empty' }, h('h2', {}, title), children);

/**
 * A list of names with their values.
 * @param {[string, Child][]} rows
 */
export const facts = (rows) =>
  h(
    'dl',
    { class: 'facts' },
    rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
