// The latest messages of a hub, the newest first.

import { h, redraw } from '../element.js';
import { count } from '../part/number.js';
import { panel } from '../part/panel.js';
import { sentence } from '../part/problem_panel.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';

/** @typedef {import('../api/hub.js').Delivery} Delivery */

/** The number of messages shown until the user asks for all. */
const SHOWN = 10;

/** The panel, and a function that draws the messages. */
export function deliveriesPanel() {
  const place = h('div', {});
  let isWhole = false;
  let drawn = '';

  /** @param {Delivery[]} deliveries */
  function draw(deliveries) {
    const text = JSON.stringify([deliveries, isWhole]);
    if (text === drawn) return;
    drawn = text;
    const shown = isWhole ? deliveries : deliveries.slice(0, SHOWN);
    const showAll = () => {
      isWhole = true;
      draw(deliveries);
    };
    redraw(
      place,
      deliveries.length === 0 && h('p', { class: 'waiting' }, 'No message was sent yet.'),
      shown.length > 0 && deliveryTable(shown),
      shown.length < deliveries.length &&
        h(
          'p',
          { class: 'buttons' },
          h(
            'button',
            { type: 'button', id: 'all-deliveries', onclick: showAll },
            `Show all ${count(deliveries.length)} messages`,
          ),
        ),
    );
  }
  return { element: panel('deliveries-title', 'Latest messages', place), draw };
}

/** @param {Delivery[]} rows */
const deliveryTable = (rows) =>
  table({
    caption: 'Latest messages, newest first',
    columns: [
      { name: 'Sent', cell: (it) => timeElement(it.sentAt, { isPrecise: true }) },
      { name: 'Response', isHeading: true, cell: response },
      { name: 'First event', kind: 'number', cell: (it) => count(it.eventNumber) },
      { name: 'Events', kind: 'number', cell: (it) => count(it.events) },
      { name: 'Duration', kind: 'number', cell: (it) => `${count(it.durationMilliseconds)} ms` },
      { name: 'Error', cell: (it) => it.error !== undefined && sentence(it.error) },
    ],
    rows,
  });

/** @param {Delivery} delivery */
const response = ({ status, error }) =>
  h('span', { class: `status ${error === undefined ? 'good' : 'bad'}` }, status ?? 'None');
