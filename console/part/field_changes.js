// Changed fields: the name of each, with its value before and after.

import { h } from '../element.js';

/** @typedef {import('../element.js').Child} Child */

/**
 * A field with its value. `before` is missing if the value before is unknown, or if there was none because the object is new.
 * @typedef {{name: Child, before?: Child, after: Child}} FieldChange
 */

/** The value of a field that isn't set. @param {string} [word] */
export const noValue = (word = 'none') => h('span', { class: 'none' }, word);

/** @param {FieldChange[]} changes */
export const fieldChanges = (changes) =>
  changes.length > 0 &&
  h(
    'dl',
    { class: 'facts changes' },
    changes.map(({ name, before, after }) => [
      h('dt', {}, name),
      h('dd', {}, before !== undefined && [before, arrow()], after),
    ]),
  );

const arrow = () => [
  h('span', { class: 'arrow', 'aria-hidden': 'true' }, ' → '),
  h('span', { class: 'screen-reader-only' }, ' changed to '),
];
