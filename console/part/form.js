// Forms: labels, controls, hints, and the faults of what the user has entered.

import { focusOn, h, replace } from '../element.js';
import { withCode } from './problem_panel.js';

/** Attributes of an input whose text the browser must neither correct nor complete. */
export const VERBATIM = { autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off' };

/**
 * A listener for a form's `submit` that acts instead of loading a page.
 * @param {() => void} act
 */
export const onSubmit = (act) => (/** @type {Event} */ event) => {
  event.preventDefault();
  act();
};

/**
 * A control with its label, its hint and a place for its fault.
 * @param {object} what
 * @param {string} what.label
 * @param {HTMLElement} what.control with an `id`
 * @param {string} [what.hint]
 */
export function field({ label, control, hint }) {
  const { id } = control;
  control.setAttribute('aria-describedby', [hint && `${id}-hint`, `${id}-fault`].filter(Boolean).join(' '));
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    control,
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
    h('p', { class: 'fault', id: `${id}-fault`, hidden: true }),
  );
}

/**
 * A group of radio buttons.
 * @param {object} what
 * @param {string} what.name
 * @param {string} what.legend
 * @param {[string, string][]} what.choices value and label of each
 * @param {string} what.chosen
 * @param {(value: string) => void} what.choose
 */
export function choices({ name, legend, choices, chosen, choose }) {
  return h(
    'fieldset',
    {},
    h('legend', {}, legend),
    h(
      'div',
      { class: 'choices' },
      choices.map(([value, word]) =>
        h(
          'label',
          {},
          h('input', {
            type: 'radio',
            name,
            value,
            id: `${name}-${value}`,
            checked: value === chosen,
            onchange: () => choose(value),
          }),
          word,
        ),
      ),
    ),
  );
}

/**
 * A checkbox with its label.
 * @param {object} what
 * @param {string} what.id
 * @param {string} what.label
 * @param {boolean} [what.isChecked]
 * @param {(isChecked: boolean) => void} what.change
 */
export function checkbox({ id, label, isChecked = false, change }) {
  const box = h('input', { type: 'checkbox', id, checked: isChecked, onchange: () => change(box.checked) });
  return h('label', { class: 'choices' }, box, label);
}

/**
 * Shows the faults that the API reports beside their fields, and returns the faults that belong to no field of the form.
 * @param {HTMLElement} form
 * @param {import('../api/problem.js').InvalidParam[]} faults
 * @param {Record<string, string>} ids the control's `id` by the field's name
 */
export function showFaults(form, faults, ids) {
  for (const place of form.querySelectorAll('.fault[id]')) /** @type {HTMLElement} */ (place).hidden = true;
  for (const control of form.querySelectorAll('[aria-invalid]')) control.removeAttribute('aria-invalid');
  const left = [];
  for (const { name, reason } of faults) {
    const place = /** @type {HTMLElement | null} */ (form.querySelector(`#${ids[name] ?? 'none'}-fault`));
    if (!place) {
      left.push({ name, reason });
      continue;
    }
    replace(place, withCode(`The value ${reason}.`));
    place.hidden = false;
    form.querySelector(`#${ids[name]}`)?.setAttribute('aria-invalid', 'true');
  }
  focusOn(form.querySelector('[aria-invalid="true"]'));
  return left;
}

/** Keys that change the value of a closed select: a character, or a key that moves through the options. */
const MOVING_KEYS = /^(.|Arrow.*|Home|End|Page.*)$/u;

/**
 * Acts on the value of a select: at once, or on Enter for a keyboard user who moves through the options of the closed list.
 * @param {HTMLSelectElement} select
 * @param {(value: string) => void} act
 */
export function onChosen(select, act) {
  const before = select.value;
  let isMoving = false;
  select.addEventListener('pointerdown', () => {
    isMoving = false;
  });
  select.addEventListener('keydown', ({ key, altKey }) => {
    // A space, and an arrow with Alt, open the list.
    isMoving = MOVING_KEYS.test(key) && key !== ' ' && !altKey;
    if (key === 'Enter' && select.value !== before) act(select.value);
  });
  select.addEventListener('change', () => {
    if (!isMoving) act(select.value);
  });
  select.addEventListener('blur', () => {
    select.value = before;
  });
}

/**
 * Marks a button as busy while its work runs, and ignores further clicks until then.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<void>} work
 */
export async function whileBusy(button, work) {
  if (button.ariaBusy === 'true') return;
  // A disabled button would lose the focus.
  [button.ariaBusy, button.ariaDisabled] = ['true', 'true'];
  try {
    await work();
  } finally {
    [button.ariaBusy, button.ariaDisabled] = [null, null];
  }
}
