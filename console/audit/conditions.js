// The conditions of an audit's list: in its address, in requests, and in the form that changes them.

import { h } from '../element.js';
import { field, onSubmit, VERBATIM } from '../part/form.js';
import { fromLocal, timeElement, toLocal } from '../part/time.js';
import { TYPE_WORDS } from './event_words.js';

/**
 * Conditions by the names that addresses and requests have for them.
 * @typedef {{eventType?: string, subject?: string, from?: string, before?: string}} Conditions
 */

const NAMES = /** @type {const} */ (['eventType', 'subject', 'from', 'before']);

/** @param {URLSearchParams} query @returns {Conditions} */
export const conditionsIn = (query) => {
  const given = NAMES.map((name) => [name, query.get(name) ?? '']);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
};

/** Groups of types that users select at once. @type {[string, RegExp][]} */
const GROUPS = [
  [
    'All changes of tenants, contracts, accounts, clients, hubs and hooks',
    /^(Tenant|Contract|Account|Client|Hub|Hook)/,
  ],
  ['All about contracts', /^Contract/],
  ['All about accounts', /^Account/],
  ['All about clients', /^Client/],
  ['All about hubs', /^Hub/],
  ['All about hooks', /^Hook/],
  ['All about tokens', /^Token/],
];

/** @type {[string, string][]} */
const CHOICES = [
  ['', 'All events'],
  ...GROUPS.map(([word, pattern]) => {
    const types = TYPE_WORDS.map(([type]) => type).filter((it) => pattern.test(it));
    return /** @type {[string, string]} */ ([types.join(','), word]);
  }),
  ...TYPE_WORDS,
];

/** @param {string} eventType */
const typeWord = (eventType) => CHOICES.find(([value]) => value === eventType)?.[1] ?? eventType;

/**
 * The conditions with their form.
 * @param {Conditions} conditions
 * @param {(next: Conditions) => void} apply
 */
export function conditionsPanel(conditions, apply) {
  const { eventType = '', subject = '', from = '', before = '' } = conditions;
  const hasAny = Object.keys(conditions).length > 0;
  const choices = CHOICES.some(([value]) => value === eventType) ? CHOICES : [...CHOICES, [eventType, eventType]];
  const type = h(
    'select',
    { id: 'event-type' },
    choices.map(([value, word]) => h('option', { value, selected: value === eventType }, word)),
  );
  const who = h('input', { id: 'subject', value: subject, ...VERBATIM });
  const time = (/** @type {string} */ id, /** @type {string} */ value) =>
    h('input', { id, type: 'datetime-local', step: 1, value: value && toLocal(new Date(value)) });
  const [start, end] = [time('from', from), time('before', before)];
  const submit = () => {
    apply({
      eventType: type.value,
      subject: who.value.trim(),
      from: fromLocal(start.value),
      before: fromLocal(end.value),
    });
  };
  const clear = h('button', { type: 'button', id: 'filter-clear', onclick: () => apply({}) }, 'Clear');
  return h(
    'details',
    { class: 'panel filter-panel', open: hasAny },
    h('summary', { id: 'filter' }, 'Filter', hasAny && [': ', summary(conditions)]),
    h(
      'form',
      { class: 'conditions-form', onsubmit: onSubmit(submit) },
      field({ label: 'What', control: type }),
      field({ label: 'By', control: who, hint: 'A token’s subject, exactly.' }),
      field({ label: 'From', control: start, hint: 'In your time zone.' }),
      field({ label: 'Before', control: end }),
      h(
        'p',
        { class: 'buttons whole' },
        h('button', { type: 'submit', class: 'main', id: 'filter-apply' }, 'Apply'),
        hasAny && clear,
      ),
    ),
  );
}

/** @param {Conditions} conditions */
function summary({ eventType, subject, from, before }) {
  const parts = [
    eventType && typeWord(eventType),
    subject && ['by ', h('bdi', {}, subject)],
    from && ['from ', timeElement(from, { isPrecise: true })],
    before && ['before ', timeElement(before, { isPrecise: true })],
  ].filter(Boolean);
  return parts.map((it, n) => [n > 0 && ', ', it]);
}
