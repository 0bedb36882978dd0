// The events of an audit as a table: when, what, the changed fields, and by whom.

import { h } from '../element.js';
import { originWords } from '../event/origin.js';
import { fieldChanges, noValue } from '../part/field_changes.js';
import { count } from '../part/number.js';
import { facts } from '../part/panel.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { changedFields, fieldsOf, OBJECT_WORDS, objectOf, reasonWords, whatHappened } from './event_words.js';

/** @typedef {import('../element.js').Child} Child */
/** @typedef {import('../api/event.js').JournalEvent} JournalEvent */
/** @typedef {import('../part/field_changes.js').FieldChange} FieldChange */

/** An instant as the API writes it. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * @param {string} caption
 * @param {JournalEvent[]} events
 * @param {(subject: string) => string} toSubject
 */
export const eventTable = (caption, events, toSubject) =>
  h(
    'div',
    { class: 'events' },
    table({
      caption,
      columns: [
        { name: 'Time', cell: (it) => timeElement(it.eventTime, { isPrecise: true }) },
        { name: 'Event', isHeading: true, cell: what },
        { name: 'Details', cell: (it) => [fieldChanges(details(it)), record(it)] },
        { name: 'By', cell: (it) => originWords(it['x-origin'], { toSubject }) },
      ],
      rows: events,
    }),
  );

/** @param {JournalEvent} event */
function what(event) {
  const { words, name, verb } = whatHappened(event);
  return [words, name && [' ', h('bdi', { class: 'name' }, name)], verb && ` ${verb}`];
}

/** @param {JournalEvent} event @returns {FieldChange[]} */
function details(event) {
  const { token, refusal } = event.event;
  if (refusal) return refusalDetails(refusal);
  if (token) return tokenDetails(token);
  return changedFields(event).map(([name, before, after]) => ({
    name: h('code', {}, name),
    before: value(before),
    after: value(after),
  }));
}

/** @param {any} refusal @returns {FieldChange[]} */
const refusalDetails = ({ reason, clientId, count: n, since }) => [
  { name: 'Reason', after: reasonWords(reason) },
  ...(clientId ? [{ name: 'Client', after: h('bdi', {}, clientId) }] : []),
  ...counted(n, since),
];

/** @param {any} token @returns {FieldChange[]} */
function tokenDetails({ id, tenants, scope, count: n, since, expires }) {
  if (scope === undefined) return [{ name: 'Token', after: h('code', {}, id) }];
  return [
    { name: 'Scopes', after: scope ? h('code', {}, scope) : noValue() },
    { name: 'Tenants', after: tenants?.includes('*') ? 'all tenants' : value(tenants) },
    { name: n > 1 ? 'The last expires' : 'Expires', after: timeElement(expires) },
    ...counted(n, since),
  ];
}

/** Since when an event counts. @param {number} n @param {string} since @returns {FieldChange[]} */
const counted = (n, since) => (n > 1 ? [{ name: 'Since', after: timeElement(since, { isPrecise: true }) }] : []);

/**
 * The whole record of an event: the object, and what identifies the event elsewhere.
 * @param {JournalEvent} event
 */
function record(event) {
  const { eventId, eventType, correlationId } = event;
  const found = objectOf(event);
  const number = event['x-number'];
  const isGone = eventType.endsWith('DeleteEvent');
  return h(
    'details',
    { class: 'record' },
    h('summary', {}, 'More', h('span', { class: 'screen-reader-only' }, ` about event ${number}`)),
    found && [
      h('h3', {}, `${OBJECT_WORDS[found.kind]} ${isGone ? 'before' : 'after'} the event`),
      facts(fieldsOf(found.object).map(([name, it]) => [name, value(it)])),
    ],
    h('h3', {}, 'Event'),
    facts([
      ['Number', count(number)],
      ['Type', h('code', {}, eventType)],
      ['ID', h('code', {}, eventId)],
      ...(correlationId ? [/** @type {[string, Child]} */ (['Correlation ID', h('code', {}, correlationId)])] : []),
    ]),
  );
}

/** A value of the API. @param {unknown} it @returns {Child} */
function value(it) {
  if (it === undefined || it === null) return noValue();
  if (Array.isArray(it) && it.every((each) => typeof each !== 'object'))
    return it.length > 0 ? it.join(', ') : noValue();
  if (typeof it === 'object') return h('code', {}, JSON.stringify(it));
  const text = String(it);
  if (INSTANT.test(text)) return timeElement(text, { isPrecise: true });
  return text === '' ? noValue('empty') : h('bdi', {}, text);
}
