// What is wrong with rows before they are sent: each with its line, and the way to send the others.

import { h } from '../element.js';
import { count, counted } from '../part/number.js';

/** So many are told. */
const TOLD_MAX = 50;

/**
 * @param {{line: number, faults: string[]}[]} faulty
 * @param {number} nOthers
 * @param {(isLeftOut: boolean) => void} leaveOut
 */
export function rowFaults(faulty, nOthers, leaveOut) {
  return h(
    'div',
    { class: 'panel problem', role: 'alert' },
    h('h3', {}, counted(faulty.length, 'row can’t be sent', 'rows can’t be sent')),
    h(
      'ul',
      { class: 'list' },
      faulty.slice(0, TOLD_MAX).map(({ line, faults }) => h('li', {}, `Line ${line}: ${faults.join('; ')}.`)),
    ),
    faulty.length > TOLD_MAX && h('p', {}, `And ${count(faulty.length - TOLD_MAX)} more.`),
    nOthers > 0 &&
      h(
        'label',
        { class: 'choices' },
        h('input', {
          type: 'checkbox',
          id: 'without-faulty',
          onchange: (/** @type {Event} */ event) => leaveOut(/** @type {HTMLInputElement} */ (event.target).checked),
        }),
        `Leave them out, and send the other ${nOthers === 1 ? 'one' : count(nOthers)}`,
      ),
  );
}
