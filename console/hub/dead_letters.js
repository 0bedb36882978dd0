// The dead letters of a hub: events that the server has given up, and sends again only on request, one, some or all.

import { announce } from '../announcement.js';
import { h, redraw, replace } from '../element.js';
import { whileBusy } from '../part/form.js';
import { count, counted } from '../part/number.js';
import { panel } from '../part/panel.js';
import { problemPanel, sentence } from '../part/problem_panel.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';

/** @typedef {import('../api/hub.js').DeadLetter} DeadLetter */

/** The number of dead letters shown at first, and with each step further. */
export const STEP = 25;

/**
 * The panel, and a function that draws the dead letters. The selection outlives each redraw.
 * @param {object} how
 * @param {(numbers?: number[]) => Promise<number>} how.replay sends these again, or all; returns how many
 * @param {() => Promise<void>} how.showMore
 */
export function deadLettersPanel({ replay, showMore }) {
  /** The numbers of the selected events. @type {Set<number>} */
  const selected = new Set();
  const place = h('div', {});
  const outcome = h('div', { 'aria-live': 'polite' });
  let drawn = '';

  /**
   * @param {DeadLetter[]} letters
   * @param {number} total
   */
  function draw(letters, total) {
    const text = JSON.stringify([letters, total]);
    if (text === drawn) return;
    drawn = text;
    const numbers = letters.map((it) => it.eventNumber);
    for (const number of selected) if (!numbers.includes(number)) selected.delete(number);
    if (letters.length === 0) {
      redraw(place, h('p', { class: 'waiting' }, 'None. The server has given up no event.'));
      return;
    }
    const some = button('again-selected', '', () => [...selected]);
    const nameSome = () => {
      some.textContent =
        selected.size > 0 ? `Send the selected again (${count(selected.size)})` : 'Send the selected again';
      some.disabled = selected.size === 0;
    };
    nameSome();
    redraw(
      place,
      h('p', {}, 'The server has given up these events: it sends them again only on request.'),
      h(
        'p',
        { class: 'buttons' },
        some,
        button('again-all', `Send all again (${count(total)})`, () => undefined),
      ),
      table({
        caption: 'Dead letters, by the numbers of their events',
        columns: [
          { name: 'Select', cell: (it) => selection(it, nameSome) },
          { name: 'Event', isHeading: true, cell: (it) => count(it.eventNumber) },
          { name: 'Due since', cell: (it) => timeElement(it.since, { isPrecise: true }) },
          { name: 'Attempts', kind: 'number', cell: (it) => count(it.attempts) },
          { name: 'Error', cell: (it) => sentence(it.error) },
          { name: 'Send again', cell: (it) => h('div', { class: 'with-button' }, sendOne(it)) },
        ],
        rows: letters,
      }),
      letters.length < total && moreButton(letters.length, total),
    );
  }

  /** @param {DeadLetter} letter @param {() => void} changed */
  function selection({ eventNumber }, changed) {
    const box = h('input', {
      type: 'checkbox',
      id: `letter-${eventNumber}`,
      'aria-label': `Select event ${eventNumber}`,
      checked: selected.has(eventNumber),
      onchange: () => {
        if (box.checked) selected.add(eventNumber);
        else selected.delete(eventNumber);
        changed();
      },
    });
    return box;
  }

  /** @param {DeadLetter} letter */
  function sendOne({ eventNumber }) {
    const one = button(`again-${eventNumber}`, 'Send again', () => [eventNumber]);
    one.classList.add('quiet');
    one.setAttribute('aria-label', `Send again: event ${eventNumber}`);
    return one;
  }

  /** @param {number} shown @param {number} total */
  function moreButton(shown, total) {
    const more = h(
      'button',
      { type: 'button', id: 'more-letters', onclick: () => whileBusy(more, () => attempt(showMore)) },
      'Show more',
    );
    return h('p', { class: 'buttons' }, more, h('span', { class: 'fine' }, `${count(shown)} of ${count(total)} shown`));
  }

  /**
   * A button that sends dead letters again.
   * @param {string} id
   * @param {string} word
   * @param {() => number[] | undefined} which
   */
  function button(id, word, which) {
    const it = h('button', { type: 'button', id, onclick: () => whileBusy(it, () => attempt(send)) }, word);
    const send = async () => {
      const n = await replay(which());
      const words =
        n === 0
          ? 'None of these events is a dead letter any more.'
          : `${counted(n, 'event')} ${n === 1 ? 'waits' : 'wait'} to be sent again.`;
      replace(outcome, h('p', { class: 'panel', role: 'status' }, words));
      announce(words);
    };
    return it;
  }

  /** @param {() => Promise<void>} work */
  async function attempt(work) {
    replace(outcome);
    try {
      await work();
    } catch (cause) {
      replace(outcome, problemPanel(cause));
    }
  }

  return { element: panel('dead-letters-title', 'Dead letters', outcome, place), draw };
}
