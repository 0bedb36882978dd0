// The panel of faulty rows, before a batch is sent: each with its line, and a checkbox that skips them.

import { h } from '../element.js';
import { checkbox } from '../part/form.js';
import { count, counted } from '../part/number.js';

/** The number of rows that the panel lists. */
const SHOWN_MAX = 50;

/**
 * @param {{line: number, faults: string[]}[]} faulty
 * @param {number} nOthers
 * @param {(isSkipped: boolean) => void} skip
 */
export function rowFaults(faulty, nOthers, skip) {
  return h(
    'div',
    { class: 'panel problem', role: 'alert' },
    h('h3', {}, counted(faulty.length, 'row can’t be sent', 'rows can’t be sent')),
    h(
      'ul',
      { class: 'list' },
      faulty.slice(0, SHOWN_MAX).map(({ line, faults }) => h('li', {}, `Line ${line}: ${faults.join('; ')}.`)),
    ),
    faulty.length > SHOWN_MAX && h('p', {}, `And ${count(faulty.length - SHOWN_MAX)} more.`),
    nOthers > 0 &&
      checkbox({
        id: 'without-faulty',
        label: `Skip these rows, and send the other ${nOthers === 1 ? 'one' : count(nOthers)}`,
        change: skip,
      }),
  );
}
