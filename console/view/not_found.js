// The view of an address that matches no route.

import { h } from '../element.js';
import { firstView } from '../menu.js';

export const title = () => 'Page not found';
/** @type {string[]} */
export const scopes = [];

/** @param {import('./context.js').Context} context */
export const show = ({ link }) =>
  h(
    'div',
    {},
    h('h1', {}, 'Page not found'),
    h(
      'div',
      { class: 'panel empty' },
      h('p', {}, 'The address matches no page of the console. It may be incomplete.'),
      h('p', { class: 'buttons' }, h('a', { class: 'button main', href: link([firstView()]) }, 'Go to the start page')),
    ),
  );
