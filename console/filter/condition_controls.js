// The controls of one condition behind the choice of its field: its operator and its value, and the key of a label.

import { h, replace } from '../element.js';
import { VERBATIM } from '../part/form.js';
import { fromLocal, toLocal } from '../part/time.js';
import { HAS, readTime } from './expression.js';

/** @typedef {import('./expression.js').Condition} Condition */
/** @typedef {import('./expression.js').Field} Field */

/** @type {Record<string, string>} */
const OPERATOR_WORDS = { '=': 'is', '>=': 'from', '<=': 'until', '>': 'after', '<': 'before', [HAS]: 'is set' };

/**
 * @typedef {object} Controls
 * @property {Condition} condition changed by the controls
 * @property {Field} field
 * @property {string} place the condition's position, such as `1.2`
 * @property {string[]} known values to suggest: of the field, or the keys of labels
 * @property {() => void} changed
 */

/** @param {Controls} what */
export function conditionControls(what) {
  const { field } = what;
  if (field.kind === 'label') return labelControls(what);
  if (field.kind === 'time') return [operators(what), timeInput(what)];
  return [operators(what), field.kind === 'choice' ? choice(what) : textInput(what, field.word)];
}

/** @param {Controls} what @param {() => void} [redraw] */
function operators({ condition, field, place, changed }, redraw) {
  const select = h(
    'select',
    {
      'aria-label': `Condition ${place}: operator`,
      disabled: field.operators.length === 1,
      onchange: () => {
        condition.operator = select.value;
        redraw?.();
        changed();
      },
    },
    field.operators.map((it) => h('option', { value: it, selected: it === condition.operator }, OPERATOR_WORDS[it])),
  );
  return select;
}

/** @param {Controls} what @param {string} word */
function textInput({ condition, field, place, known, changed }, word) {
  const list = field.kind === 'text' && known.length > 0 ? `known-${field.name}` : undefined;
  const input = h('input', {
    'aria-label': `Condition ${place}: ${word}`,
    class: 'value',
    value: condition.value,
    required: true,
    list,
    ...VERBATIM,
    oninput: () => {
      condition.value = input.value;
      changed();
    },
  });
  return [input, list && suggestions(list, known)];
}

/** @param {Controls} what */
function choice({ condition, field, place, changed }) {
  const select = h(
    'select',
    {
      'aria-label': `Condition ${place}: ${field.word}`,
      class: 'value',
      required: true,
      onchange: () => {
        condition.value = select.value;
        changed();
      },
    },
    h('option', { value: '', selected: condition.value === '' }, 'Choose'),
    field.choices?.map(([value, word]) => h('option', { value, selected: value === condition.value }, word)),
  );
  return select;
}

/** @param {Controls} what */
function timeInput({ condition, place, changed }) {
  const input = h('input', {
    type: 'datetime-local',
    step: 1,
    'aria-label': `Condition ${place}: time in your zone`,
    title: 'In your time zone',
    class: 'value',
    required: true,
    value: condition.value && toLocal(readTime(condition.value)),
    oninput: () => {
      condition.value = fromLocal(input.value);
      changed();
    },
  });
  return input;
}

/** @param {Controls} what */
function labelControls(what) {
  const { condition, place, known, changed } = what;
  const key = h('input', {
    'aria-label': `Condition ${place}: key of the label`,
    class: 'value label-key',
    value: condition.key,
    placeholder: 'key',
    required: true,
    list: known.length > 0 ? 'known-label-keys' : undefined,
    ...VERBATIM,
    oninput: () => {
      condition.key = key.value.trim();
      changed();
    },
  });
  const value = h('span', { class: 'label-value' });
  const drawValue = () => {
    if (condition.operator === HAS) condition.value = '';
    replace(value, condition.operator !== HAS && textInput(what, 'value of the label'));
  };
  drawValue();
  return [key, operators(what, drawValue), value, known.length > 0 && suggestions('known-label-keys', known)];
}

/** @param {string} id @param {string[]} values */
const suggestions = (id, values) =>
  h(
    'datalist',
    { id },
    values.map((it) => h('option', { value: it })),
  );
