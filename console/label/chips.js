// Labels as chips, such as `site: hamburg`. A chip links to the list of all accesses with its label.

import { h } from '../element.js';

/** @typedef {import('./rules.js').Labels} Labels */

/**
 * @param {Labels} labels
 * @param {object} how
 * @param {string[]} [how.keys] the keys that lists can be filtered by, if known: chips of other keys are no links
 * @param {(key: string, value: string) => string} how.linkTo
 * @param {number} [how.most] the number of chips to show
 */
export function labelChips(labels, { keys, linkTo, most = Infinity }) {
  const all = Object.entries(labels);
  const hidden = all.slice(most);
  return h(
    'ul',
    { class: 'labels' },
    all.slice(0, most).map(([key, value]) => {
      const isFilterable = !keys || keys.includes(key);
      const words = [h('span', { class: 'label-key' }, `${key}: `), h('bdi', {}, value)];
      const title = `${key}: ${value}`;
      return h(
        'li',
        {},
        isFilterable
          ? h('a', { class: 'chip', href: linkTo(key, value), title: `Accesses with ${title}` }, words)
          : h('span', { class: 'chip', title }, words),
      );
    }),
    hidden.length > 0 &&
      h(
        'li',
        { class: 'fine', title: hidden.map(([key, value]) => `${key}: ${value}`).join('\n') },
        `and ${hidden.length} more`,
      ),
  );
}
