// The part of a batch form that changes labels: labels to set, and keys of labels to remove.

import { h } from '../element.js';
import { labelRows } from '../label/rows.js';
import { keyFault, LABELS_MAX } from '../label/rules.js';
import { field, VERBATIM } from '../part/form.js';

/** @typedef {Record<string, string | null>} LabelChange values to set, and `null` for labels to remove */

/**
 * @param {string[]} [keys] suggested keys
 * @param {LabelChange} [change] the initial change
 * @returns {{elements: HTMLElement[], read: () => LabelChange | undefined, showFault: (words: string) => void}} `read` returns
 * `undefined` if the user has to correct something first
 */
export function labelChangeFields(keys, change = {}) {
  const given = Object.entries(change);
  /** @type {[string, string][]} */
  const set = given.flatMap(([key, value]) => (value === null ? [] : [[key, value]]));
  const rows = labelRows({
    legend: 'Labels to set (optional)',
    hint: 'Other labels of the accesses stay as they are.',
    labels: Object.fromEntries(set),
    keys,
  });
  const removed = h('input', {
    id: 'removed-labels',
    value: given
      .filter(([, value]) => value === null)
      .map(([key]) => key)
      .join(' '),
    ...VERBATIM,
  });
  const removedField = field({
    label: 'Labels to remove (optional)',
    control: removed,
    hint: 'Keys, separated by spaces.',
  });

  /** @param {string} words */
  function showFault(words) {
    const place = /** @type {HTMLElement} */ (removedField.querySelector('.fault'));
    place.textContent = words;
    place.hidden = words === '';
  }

  function read() {
    showFault('');
    removed.removeAttribute('aria-invalid');
    const labels = rows.read();
    if (!labels) return undefined;
    const gone = [...new Set(removed.value.split(/[\s,;]+/).filter(Boolean))];
    const both = gone.find((key) => Object.hasOwn(labels, key));
    const why =
      gone.map(keyFault).find(Boolean) ??
      (both && `the label “${both}” is to be set and to be removed`) ??
      (gone.length + Object.keys(labels).length > LABELS_MAX && `a change has at most ${LABELS_MAX} labels`);
    if (!why) return { ...labels, ...Object.fromEntries(gone.map((key) => [key, null])) };
    showFault(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`);
    removed.setAttribute('aria-invalid', 'true');
    removed.focus();
    return undefined;
  }

  return { elements: [rows.element, removedField], read, showFault };
}
