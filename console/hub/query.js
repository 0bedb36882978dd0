// The query of a hub: which events it gets, and the form of its messages. Parsed, written, and in words.

import { count } from '../part/number.js';

/** @typedef {'tmf' | 'cloudevents' | 'cloudevents-binary'} Format */

/**
 * @typedef {object} HubQuery
 * @property {string[]} types none: every type
 * @property {string} [accessId]
 * @property {string} [contractId]
 * @property {Format} format
 * @property {number} [batch] the most events in one message; without it, each message has one event
 */

/** The most events that one message may have. */
export const BATCH_MAX = 1000;

/** The types of events that a hub can be limited to. @type {[string, string][]} */
export const TYPE_CHOICES = [
  ['AccessCreateEvent', 'Access created'],
  ['AccessStateChangeEvent', 'Status of an access changed'],
  ['AccessAttributeValueChangeEvent', 'Access changed otherwise'],
  ['TaskStateChangeEvent', 'State of a batch changed'],
];

/** @type {Record<string, string>} */
const TYPE_WORDS = { ...Object.fromEntries(TYPE_CHOICES), JournalStartEvent: 'Journal begun' };

/** @type {[Format, string][]} */
export const FORMAT_CHOICES = [
  ['tmf', 'TMF event'],
  ['cloudevents', 'CloudEvent, whole in the body'],
  ['cloudevents-binary', 'CloudEvent, its attributes in headers'],
];

/** @type {Record<Format, [string, string]>} */
const FORMAT_NOUNS = {
  tmf: ['TMF event', 'TMF events'],
  cloudevents: ['CloudEvent', 'CloudEvents'],
  'cloudevents-binary': ['CloudEvent, its attributes in headers', ''],
};

/** Whether messages of this form can have several events. @param {string} format */
export const canBatch = (format) => format !== 'cloudevents-binary';

/** @param {string} text @returns {HubQuery} */
export function parseQuery(text) {
  const given = new URLSearchParams(text);
  const batch = given.get('batch');
  return {
    types: given.get('eventType')?.split(',') ?? [],
    accessId: given.get('accessId') ?? undefined,
    contractId: given.get('contractId') ?? undefined,
    format: /** @type {Format} */ (given.get('format') ?? 'tmf'),
    batch: batch === null ? undefined : Number(batch),
  };
}

/** @param {HubQuery} query */
export function writeQuery({ types, accessId, contractId, format, batch }) {
  const conditions = [
    ['eventType', types.join(',')],
    ['accessId', accessId],
    ['contractId', contractId],
    ['format', format === 'tmf' ? '' : format],
    ['batch', batch && String(batch)],
  ];
  // The server reads `+` as itself, so `URLSearchParams` would not do.
  return conditions
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? '').replaceAll('%2C', ',')}`)
    .join('&');
}

/** The types of a hub's events, in words. @param {HubQuery} query */
export const typeWords = ({ types }) => types.map((it) => TYPE_WORDS[it] ?? it);

/** The form of a hub's messages, in words. @param {HubQuery} query */
export function messageWords({ format, batch }) {
  const [one, many] = FORMAT_NOUNS[format] ?? [format, format];
  if (batch === undefined) return `One ${one}`;
  return `A list of up to ${count(batch)} ${many}`;
}

/**
 * The faults of a query as faults of its conditions, where a reason names one.
 * @param {import('../api/problem.js').InvalidParam[]} faults
 */
export const faultsByCondition = (faults) =>
  faults.map((fault) => {
    const [, name, reason] = (fault.name === 'query' && /^has a wrong `(\w+)`: it (.+)$/s.exec(fault.reason)) || [];
    return name ? { name, reason } : fault;
  });
