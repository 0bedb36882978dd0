// The fields of a new hub that choose its events and the form of its messages.

import { OFFERED_MAX } from '../api/contract.js';
import { h } from '../element.js';
import { checkbox, choices, field, VERBATIM } from '../part/form.js';
import { may } from '../sign_in/session.js';
import { BATCH_MAX, canBatch, FORMAT_CHOICES, TYPE_CHOICES } from './query.js';

/** The number that a message's limit of events begins with. */
const BATCH = 100;

/** @type {[string, string][]} */
const SIZES = [
  ['one', 'One event'],
  ['many', 'A list of several events'],
];

/**
 * The fields, and a function that reads the query.
 * @param {import('../api/contract.js').Contract[]} contracts
 */
export function queryFields(contracts) {
  /** @type {Set<string>} */
  const types = new Set();
  let format = 'tmf';
  let size = 'one';
  const access = h('input', { id: 'access', name: 'access', ...VERBATIM });
  const contract = contractControl(contracts);
  const batch = h('input', {
    id: 'batch',
    type: 'number',
    min: 1,
    max: BATCH_MAX,
    step: 1,
    required: true,
    value: BATCH,
  });
  const most = field({
    label: 'Events in one message, at most',
    control: batch,
    hint: 'Messages follow one another, in the order of the events.',
  });
  const sizes = choices({
    name: 'size',
    legend: 'Each message has',
    choices: SIZES,
    chosen: size,
    choose: (it) => {
      size = it;
      draw();
    },
  });
  const [one, many] = /** @type {NodeListOf<HTMLInputElement>} */ (sizes.querySelectorAll('input'));
  const whyOne = h(
    'p',
    { class: 'hint', id: 'why-one', 'aria-live': 'polite' },
    'A message whose CloudEvent has its attributes in headers has one event, never a list.',
  );
  sizes.append(whyOne);
  many.setAttribute('aria-describedby', whyOne.id);

  function draw() {
    many.disabled = !canBatch(format);
    if (many.disabled && size === 'many') {
      size = 'one';
      one.checked = true;
    }
    whyOne.hidden = !many.disabled;
    most.hidden = size === 'one';
    // The browser checks no disabled input.
    batch.disabled = most.hidden;
  }

  draw();
  const elements = [
    h(
      'fieldset',
      { 'aria-describedby': 'types-hint' },
      h('legend', {}, 'Types of events (optional)'),
      h(
        'div',
        { class: 'choices column' },
        TYPE_CHOICES.map(([type, label]) =>
          checkbox({
            id: `type-${type}`,
            label,
            change: (isChecked) => (isChecked ? types.add(type) : types.delete(type)),
          }),
        ),
      ),
      h('p', { class: 'hint', id: 'types-hint' }, 'If you choose none, the hub gets every type.'),
    ),
    field({ label: 'Access (optional)', control: access, hint: 'Only events of the access with this ID.' }),
    field({ label: 'Contract (optional)', control: contract, hint: 'Only events of the accesses of this contract.' }),
    choices({
      name: 'format',
      legend: 'Form of the messages',
      choices: FORMAT_CHOICES,
      chosen: format,
      choose: (it) => {
        format = it;
        draw();
      },
    }),
    sizes,
    most,
  ];

  /** @returns {import('./query.js').HubQuery} */
  const read = () => ({
    // In the order of the form.
    types: TYPE_CHOICES.map(([type]) => type).filter((it) => types.has(it)),
    accessId: access.value.trim() || undefined,
    contractId: contract.value.trim() || undefined,
    format: /** @type {import('./query.js').Format} */ (format),
    batch: size === 'many' ? Number(batch.value) : undefined,
  });
  return { elements, read };
}

/** The control of the contract: a select, or an input where the contracts can't be listed or are too many. @param {import('../api/contract.js').Contract[]} contracts */
function contractControl(contracts) {
  const isComplete = may('access:read') && contracts.length < OFFERED_MAX;
  if (!isComplete) return h('input', { id: 'contract', name: 'contract', ...VERBATIM });
  return h(
    'select',
    { id: 'contract', name: 'contract' },
    h('option', { value: '', selected: true }, 'Every contract'),
    contracts.map(({ id }) => h('option', { value: id }, id)),
  );
}
