// Events of an audit in words: what happened, and what it changed.

import { count } from '../part/number.js';

/** @typedef {import('../api/event.js').JournalEvent} JournalEvent */

/** Kinds of objects, by their field in an event. @type {Record<string, string>} */
export const OBJECT_WORDS = {
  tenant: 'Tenant',
  contract: 'Contract',
  account: 'Account',
  client: 'Client',
  hub: 'Hub',
  hook: 'Hook',
};

/** Verbs for changes of an object, by the end of the event's type. @type {Record<string, string>} */
const VERBS = { Create: 'created', AttributeValueChange: 'changed', Delete: 'deleted' };

/** @type {Record<string, string>} */
const REASON_WORDS = {
  token: 'no token, or none that is valid',
  scope: 'the token lacks the scope',
  tenant: 'the token is for another tenant',
  client: 'unknown client or wrong secret',
  hook: 'unknown hook key, or one of another dialect',
};

/** @param {string} reason of a refusal */
export const reasonWords = (reason) => REASON_WORDS[reason] ?? reason;

/** The types of events of one kind of object, in words. @type {[string, string][]} */
export const TYPE_WORDS = [
  ...Object.entries(OBJECT_WORDS).flatMap(([, word]) =>
    Object.entries(VERBS)
      .filter(([verb]) => !(['Client', 'Hook'].includes(word) && verb === 'AttributeValueChange'))
      .map(([verb, said]) => /** @type {[string, string]} */ ([`${word}${verb}Event`, `${word} ${said}`])),
  ),
  ['TokenIssueEvent', 'Tokens issued'],
  ['TokenRevokeEvent', 'Token revoked'],
  ['RefusalEvent', 'Requests refused'],
];

/**
 * The object of a change: its kind and its fields.
 * @param {JournalEvent} event
 * @returns {{kind: string, object: Record<string, any>} | undefined}
 */
export function objectOf({ event }) {
  const kind = Object.keys(OBJECT_WORDS).find((it) => event[it] !== undefined);
  return kind ? { kind, object: event[kind] } : undefined;
}

/**
 * The name of an object. A client's name is for people, and may be missing.
 * @param {Record<string, any>} object
 */
const nameOf = ({ clientId, id, name }) => String(clientId ?? id ?? name ?? '');

/**
 * The event in a few words, with the name of its object: "Contract", "C-1", "changed".
 * @param {JournalEvent} event
 * @returns {{words: string, name?: string, verb?: string}}
 */
export function whatHappened(event) {
  const found = objectOf(event);
  if (found) {
    const verb = Object.entries(VERBS).find(([it]) => event.eventType.endsWith(`${it}Event`))?.[1];
    return { words: OBJECT_WORDS[found.kind], name: nameOf(found.object), verb: verb ?? event.eventType };
  }
  const { token, refusal } = event.event;
  switch (event.eventType) {
    case 'TokenIssueEvent':
      return {
        words: token.count > 1 ? `${count(token.count)} tokens issued for` : 'Token issued for',
        name: token.subject,
      };
    case 'TokenRevokeEvent':
      return { words: 'Token revoked' };
    case 'RefusalEvent':
      return { words: refusal.count > 1 ? `${count(refusal.count)} requests refused` : 'Request refused' };
    case 'JournalStartEvent':
      return { words: 'The audit begins' };
    default:
      return { words: event.eventType };
  }
}

/**
 * The fields of a change that differ, inner ones by their path: `settings.baseUrl`. `undefined` is a field that isn't set.
 * @param {JournalEvent} event
 * @returns {[string, unknown, unknown][]}
 */
export function changedFields(event) {
  const [before, after] = [event['x-before'] ?? {}, objectOf(event)?.object ?? {}];
  const names = event['x-changed'] ?? [];
  return names.flatMap((name) => differences(name, before[name], after[name]));
}

/**
 * @param {string} path
 * @param {unknown} before
 * @param {unknown} after
 * @returns {[string, unknown, unknown][]}
 */
function differences(path, before, after) {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isRecord(before) && !isRecord(after)) return [[path, before, after]];
  const [old, now] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.flatMap((name) => differences(`${path}.${name}`, old[name], now[name]));
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * All fields of an object, inner ones by their path.
 * @param {Record<string, unknown>} object
 * @returns {[string, unknown][]}
 */
export const fieldsOf = (object) =>
  Object.entries(object).flatMap(([name, value]) =>
    differences(name, undefined, value).map(([path, , after]) => /** @type {[string, unknown]} */ ([path, after])),
  );
