// Forms: a label, a control, what it is for, and what is wrong with what was put in.

import { focusOn, h, replace } from '../element.js';
import { quoting } from './problem_panel.js';

/**
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
 * Some choices of which one is made.
 * @param {object} what
 * @param {string} what.name
 * @param {string} what.legend
 * @param {[string, string][]} what.choices value and word of each
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
 * Puts what the API says of fields beside them; what is left belongs to none.
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
    replace(place, quoting(`It ${reason}.`));
    place.hidden = false;
    form.querySelector(`#${ids[name]}`)?.setAttribute('aria-invalid', 'true');
  }
  focusOn(form.querySelector('[aria-invalid="true"]'));
  return left;
}

/** What goes through the choices of a list that is closed: a letter, or one of these. */
const PASSING = /^(.|Arrow.*|Home|End|Page.*)$/u;

/**
 * Goes where a choice leads, when it is made: at once, or with Enter for whoever passes through the choices of the closed list
 * by keyboard.
 * @param {HTMLSelectElement} select
 * @param {(value: string) => void} act
 */
export function onChosen(select, act) {
  const before = select.value;
  let isPassing = false;
  select.addEventListener('pointerdown', () => {
    isPassing = false;
  });
  select.addEventListener('keydown', ({ key, altKey }) => {
    // A space, and an arrow with Alt, open the list.
    isPassing = PASSING.test(key) && key !== ' ' && !altKey;
    if (key === 'Enter' && select.value !== before) act(select.value);
  });
  select.addEventListener('change', () => {
    if (!isPassing) act(select.value);
  });
  select.addEventListener('blur', () => {
    select.value = before;
  });
}

/**
 * Does something while a button is pressed in: nobody sends twice.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<void>} work
 */
export async function whilePressed(button, work) {
  if (button.ariaBusy === 'true') return;
  // One that is disabled would lose the keyboard.
  [button.ariaBusy, button.ariaDisabled] = ['true', 'true'];
  try {
    await work();
  } finally {
    [button.ariaBusy, button.ariaDisabled] = [null, null];
  }
}
