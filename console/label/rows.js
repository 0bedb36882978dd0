// The form part that edits labels: a row with key and value for each.

import { focusOn, h, replace } from '../element.js';
import { VERBATIM } from '../part/form.js';
import { LABELS_MAX, rowFaults } from './rules.js';

/** @typedef {import('./rules.js').Labels} Labels */

/**
 * @typedef {object} LabelRows
 * @property {HTMLElement} element
 * @property {() => Labels | undefined} read the labels; `undefined` if the user has to correct something first
 * @property {() => void} redraw draws the rows again, after the form was reset
 */

/**
 * @param {object} what
 * @param {string} what.legend
 * @param {string} [what.hint]
 * @param {Labels} [what.labels]
 * @param {string[]} [what.keys] suggested keys
 * @param {boolean} [what.hasRow] whether there is an empty row where there are no labels
 * @returns {LabelRows}
 */
export function labelRows({ legend, hint, labels = {}, keys = [], hasRow = false }) {
  // The rows keep values as they are until the user changes them: an input can't show line feeds.
  let rows = Object.entries(labels).map(([key, value]) => ({ key, value }));
  const place = h('div', {});
  const fault = h('div', { class: 'fault', id: 'labels-fault', role: 'alert', hidden: true });
  const more = h('button', { type: 'button', class: 'quiet', id: 'add-label', onclick: add }, '+ Add a label');

  /** @param {{key: string, value: string}} row @param {number} n */
  function draw(row, n) {
    const input = (/** @type {'key' | 'value'} */ part, /** @type {object} */ rest) =>
      h('input', {
        'aria-label': `Label ${n + 1}: ${part}`,
        'aria-describedby': 'labels-fault',
        class: part,
        value: row[part],
        placeholder: part,
        ...VERBATIM,
        ...rest,
      });
    const key = input('key', {
      list: keys.length > 0 ? 'label-keys' : undefined,
      oninput: () => {
        const [before, ...after] = key.value.split('=');
        row.key = before.trim();
        if (after.length === 0) return;
        // The user has typed or pasted `key=value`.
        key.value = row.key;
        row.value = after.join('=') || row.value;
        value.value = row.value;
        value.focus();
      },
    });
    const value = input('value', {
      oninput: () => {
        row.value = value.value;
      },
    });
    const remove = h(
      'button',
      {
        type: 'button',
        class: 'quiet',
        'aria-label': `Remove label ${n + 1}`,
        title: 'Remove',
        onclick: () => removeRow(row),
      },
      '×',
    );
    const equals = h('span', { 'aria-hidden': 'true' }, '=');
    return h('div', { class: 'label-row', role: 'group', 'aria-label': `Label ${n + 1}` }, key, equals, value, remove);
  }

  function redraw() {
    replace(place, rows.map(draw));
    showFaults([]);
    more.hidden = rows.length >= LABELS_MAX;
  }

  function add() {
    rows.push({ key: '', value: '' });
    redraw();
    focusOn(place.querySelector('.label-row:last-child input'));
  }

  /** @param {{key: string, value: string}} row */
  function removeRow(row) {
    const n = rows.indexOf(row);
    rows.splice(n, 1);
    redraw();
    // The row that has moved to this position, or else the button that adds one.
    focusOn(place.children[n]?.querySelector('button') ?? more);
  }

  /** @param {string[]} faults */
  function showFaults(faults) {
    const items = faults.map((it) => h('li', {}, it));
    replace(fault, h('ul', { class: 'list' }, items));
    fault.hidden = faults.length === 0;
  }

  function read() {
    if (rows.some((it) => it.key === '' && it.value === '')) {
      rows = rows.filter((it) => it.key !== '' || it.value !== '');
      redraw();
    }
    const found = rowFaults(rows);
    for (const [n, row] of [...place.children].entries()) {
      for (const part of /** @type {const} */ (['key', 'value'])) {
        const isFaulty = found[n][part] !== undefined;
        row.querySelector(`input.${part}`)?.setAttribute('aria-invalid', String(isFaulty));
      }
    }
    const words = found.flatMap(({ key, value }, n) =>
      [key, value].filter(Boolean).map((it) => `Label ${n + 1}: ${it}.`),
    );
    showFaults(words);
    focusOn(place.querySelector('[aria-invalid="true"]'));
    return words.length > 0 ? undefined : Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  }

  if (hasRow && rows.length === 0) rows.push({ key: '', value: '' });
  redraw();
  const element = h(
    'fieldset',
    { class: 'label-rows' },
    h('legend', {}, legend),
    hint && h('p', { class: 'hint' }, hint),
    place,
    fault,
    h('p', {}, more),
    keys.length > 0 &&
      h(
        'datalist',
        { id: 'label-keys' },
        keys.map((it) => h('option', { value: it })),
      ),
  );
  return { element, read, redraw };
}
