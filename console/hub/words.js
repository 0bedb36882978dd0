// A hub in words: its state, its events, and how far its deliveries are.

import { h } from '../element.js';
import { counted } from '../part/number.js';
import { statusMark } from '../part/status.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';
import { typeWords } from './query.js';

/** @typedef {import('../api/hub.js').Hub} Hub */
/** @typedef {import('../element.js').Child} Child */

/** The state of a hub. A hub whose messages fail is marked so. @param {Hub} hub */
export function hubMark({ state, failingSince }) {
  if (state === 'ACTIVE' && failingSince) return h('span', { class: 'status bad', title: state }, 'Failing');
  return statusMark(state);
}

/** Whether the server sends nothing to the subscriber until its next attempt. @param {Hub} hub */
export const isBlocked = ({ state, nextAttempt }) => state === 'ACTIVE' && nextAttempt !== undefined;

/**
 * Which events a hub gets.
 * @param {import('./query.js').HubQuery} query
 * @param {import('../view/context.js').Context['link']} link
 * @returns {Child}
 */
export function eventWords(query, link) {
  const { accessId, contractId } = query;
  const types = typeWords(query);
  const access = accessId && (may('access:read') ? h('a', { href: link(['accesses', accessId]) }, accessId) : accessId);
  return [
    types.length > 0 ? types.join(', ') : 'Every event',
    accessId && [', of the access ', h('code', {}, access)],
    contractId && [accessId ? ' and' : ', of accesses', ' of the contract ', h('bdi', {}, contractId)],
  ];
}

/** How far a hub is in the tenant's events. @param {Hub} hub */
export const progressWords = ({ behind }) => (behind === 0 ? 'Up to date' : `${counted(behind, 'event')} behind`);

/**
 * Since when a hub fails, and when the server tries again.
 * @param {Hub} hub
 * @param {{isPrecise?: boolean}} [how]
 * @returns {Child[]}
 */
export function failureWords({ state, failingSince, nextAttempt }, how) {
  if (state !== 'ACTIVE' || !failingSince) return [];
  const since = h('div', {}, 'Since ', timeElement(failingSince, how));
  return nextAttempt ? [since, h('div', {}, 'Next attempt ', timeElement(nextAttempt, how))] : [since];
}
