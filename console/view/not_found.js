// An address that leads nowhere.

import { h } from '../element.js';
import { firstView } from '../menu.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Nothing here';
/** @type {string[]} */
export const scopes = [];

/** @param {Context} context */
export function show({ link }) {
  return h(
    'div',
    {},
    h('h1', {}, 'Nothing here'),
    h(
      'div',
      { class: 'panel empty' },
      h('p', {}, 'This address leads to no view. Perhaps a part of it was lost.'),
      h('p', { class: 'buttons' }, h('a', { class: 'button main', href: link([firstView()]) }, 'To the overview')),
    ),
  );
}
