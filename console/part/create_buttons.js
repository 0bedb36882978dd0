// The links that create accesses, one or many.

import { h } from '../element.js';
import { may } from '../sign_in/session.js';

/** @param {(path: string[]) => string} link */
export const createButtons = (link) =>
  may('access:write') &&
  h(
    'p',
    { class: 'buttons' },
    h('a', { class: 'button main', href: link(['accesses', 'new']) }, 'Create an access'),
    h('a', { class: 'button', href: link(['batches', 'new']) }, 'Create many'),
  );
