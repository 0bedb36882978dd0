// The filter builder: the conditions to choose, beside the expression to write. A change on one side updates the other.

import { append, focusOn, h, replace } from '../element.js';
import { onSubmit, VERBATIM } from '../part/form.js';
import { conditionControls } from './condition_controls.js';
import { BadFilter, HAS, readFilter, writeFilter } from './expression.js';

/** @typedef {import('./expression.js').Expression} Expression */
/** @typedef {import('./expression.js').Condition} Condition */
/** @typedef {import('./expression.js').Field} Field */

/**
 * @param {object} what
 * @param {Field[]} what.fields
 * @param {string} what.text the current filter
 * @param {Record<string, string[]>} what.suggestions known values by field
 * @param {(text: string) => void} what.apply
 */
export function filterBuilder({ fields, text, suggestions, apply }) {
  /** @type {Expression} */
  let expression = [];
  const chosen = h('div', { class: 'conditions' });
  const fault = h('p', { class: 'fault', id: 'filter-fault', role: 'alert', hidden: true });
  const written = h('textarea', {
    id: 'filter-text',
    rows: 3,
    ...VERBATIM,
    placeholder: `${fields[0].name}=…`,
    'aria-describedby': 'filter-hint filter-fault',
    oninput: () => readWritten(),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== 'Enter' || event.shiftKey) return;
      event.preventDefault();
      form.requestSubmit();
    },
  });
  written.value = text;

  function readWritten() {
    try {
      expression = readFilter(written.value.replaceAll('\n', ''), fields);
      showFault('');
      drawConditions();
    } catch (cause) {
      showFault(cause instanceof BadFilter ? cause.message : String(cause));
      const words = 'The conditions appear here once the expression is valid.';
      if (!chosen.hasChildNodes()) replace(chosen, h('p', { class: 'waiting' }, words));
    }
  }

  /** @param {string} message */
  function showFault(message) {
    fault.textContent = message;
    fault.hidden = message === '';
    written.setAttribute('aria-invalid', String(message !== ''));
  }

  function writeChosen() {
    written.value = writeFilter(complete(expression));
    showFault('');
  }

  function drawConditions() {
    replace(
      chosen,
      expression.length === 0 && h('p', { class: 'waiting' }, 'No condition: the list shows everything.'),
      expression.map((alternative, n) => [
        n > 0 && h('p', { class: 'or' }, 'or'),
        alternative.map((condition, m) => conditionRow(condition, n, m)),
        h('p', {}, h('button', { type: 'button', class: 'quiet', onclick: () => add(n) }, '+ and')),
      ]),
      h(
        'p',
        {},
        h(
          'button',
          { type: 'button', class: 'quiet', id: 'filter-add', onclick: () => add(expression.length) },
          expression.length === 0 ? '+ Add a condition' : '+ or',
        ),
      ),
    );
  }

  /** @param {Condition} condition @param {number} n @param {number} m */
  function conditionRow(condition, n, m) {
    const field = () => /** @type {Field} */ (fields.find((it) => it.name === condition.name));
    const place = `${n + 1}.${m + 1}`;
    const names = h(
      'select',
      {
        'aria-label': `Condition ${place}: field`,
        onchange: () => {
          const { kind } = field();
          condition.name = names.value;
          if (field().kind !== kind) begin(condition, field());
          writeChosen();
          // The select itself stays: the user may be typing to find an option.
          while (names.nextSibling) names.nextSibling.remove();
          append(row, rest());
        },
      },
      fields.map((it) => h('option', { value: it.name, selected: it.name === condition.name }, it.word)),
    );
    const rest = () => [
      conditionControls({
        condition,
        field: field(),
        place,
        known: suggestions[condition.name] ?? [],
        changed: writeChosen,
      }),
      h(
        'button',
        {
          type: 'button',
          class: 'quiet',
          'aria-label': `Remove condition ${place}`,
          title: 'Remove',
          onclick: () => remove(n, m),
        },
        '×',
      ),
    ];
    const row = h('div', { class: 'condition', role: 'group', 'aria-label': `Condition ${place}` }, names, rest());
    return row;
  }

  /** @param {number} n */
  function add(n) {
    expression[n] ??= [];
    expression[n].push(begin({ name: fields[0].name, operator: '', value: '' }, fields[0]));
    drawConditions();
    focusValue(n, expression[n].length - 1);
  }

  /** @param {number} n @param {number} m */
  function remove(n, m) {
    expression[n].splice(m, 1);
    expression = expression.filter((it) => it.length > 0);
    writeChosen();
    drawConditions();
    focusOn(chosen.querySelector('#filter-add'));
  }

  /** @param {number} n @param {number} m */
  function focusValue(n, m) {
    const row = expression.slice(0, n).flat().length + m;
    focusOn(chosen.querySelectorAll('.condition')[row]?.querySelector('.value'));
  }

  const form = h(
    'form',
    {
      class: 'filter',
      'aria-label': 'Filter',
      onsubmit: onSubmit(() => {
        if (!fault.hidden) return written.focus();
        apply(written.value.replaceAll('\n', '').trim());
      }),
    },
    h('div', { class: 'half', role: 'group', 'aria-label': 'As conditions' }, h('h3', {}, 'As conditions'), chosen),
    h(
      'div',
      { class: 'half' },
      h('h3', {}, h('label', { for: 'filter-text' }, 'As an expression')),
      written,
      fault,
      h(
        'p',
        { class: 'fine', id: 'filter-hint' },
        '& joins conditions, ; separates alternatives.',
        fields.some((it) => it.kind === 'time') && ' Times without an offset are in UTC.',
      ),
    ),
    h(
      'p',
      { class: 'buttons whole' },
      h('button', { type: 'submit', class: 'main', id: 'filter-apply' }, 'Apply'),
      h('button', { type: 'button', id: 'filter-clear', onclick: () => apply('') }, 'Clear'),
    ),
  );
  readWritten();
  return form;
}

/** Begins a condition on a field, without a value. @param {Condition} condition @param {Field} field */
const begin = (condition, { kind, operators: [operator] }) =>
  Object.assign(condition, { operator, value: '', key: kind === 'label' ? '' : undefined });

/** Leaves out conditions that lack a value, or the key of a label. @param {Expression} expression */
const complete = (expression) =>
  expression
    .map((it) => it.filter(({ key, operator, value }) => key !== '' && (operator === HAS || value !== '')))
    .filter((it) => it.length > 0);
