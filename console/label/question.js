// The question for other labels of an access.

import { h } from '../element.js';
import { confirm } from '../part/dialog.js';
import { labelRows } from './rows.js';
import { changeOf } from './rules.js';

/**
 * Asks for the labels of an access; returns the change, or `undefined` if the user changes nothing.
 * @param {{name: string, labels?: import('./rules.js').Labels}} access
 * @param {string[] | undefined} keys the keys that lists can be filtered by, if known
 * @param {AbortSignal} signal
 */
export async function askForLabels({ name, labels = {} }, keys, signal) {
  const rows = labelRows({ legend: 'Labels', labels, keys, hasRow: true });
  const question = {
    title: ['Labels of ', h('bdi', {}, name)],
    consequence: h('p', {}, 'Labels only sort accesses. They don’t change whether the device may connect.'),
    form: rows.element,
    check: () => rows.read() !== undefined,
    yes: 'Save the labels',
  };
  if (!(await confirm(question, signal))) return undefined;
  const change = changeOf(labels, rows.read() ?? labels);
  return Object.keys(change).length > 0 ? change : undefined;
}
