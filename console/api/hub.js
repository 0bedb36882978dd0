// Hubs: the tenant's subscriptions to its events, their messages, and the events that were given up.

import { ask, get, path, withPageSize } from './client.js';

/**
 * @typedef {object} Hub
 * @property {string} id
 * @property {string} callback
 * @property {string} query
 * @property {'ACTIVE' | 'PAUSED'} state
 * @property {string} createdAt
 * @property {string} [formerSecretUntil]
 * @property {number} position every event up to this number was delivered, waits, or is a dead letter
 * @property {number} behind events behind the position, of whatever type, that the server has not looked at yet
 * @property {number} waiting
 * @property {number} deadLetters
 * @property {number} missed events that were deleted before they were delivered
 * @property {string} [failingSince]
 * @property {string} [nextAttempt] set while the server sends nothing to a subscriber that fails
 */

/** A hub right after its secret was made. @typedef {Hub & {secret: string}} IssuedHub */

/**
 * A message that was sent.
 * @typedef {object} Delivery
 * @property {string} sentAt
 * @property {number} eventNumber
 * @property {number} events
 * @property {number} [status]
 * @property {number} durationMilliseconds
 * @property {string} [error]
 */

/**
 * An event that the server has given up.
 * @typedef {object} DeadLetter
 * @property {number} eventNumber
 * @property {number} attempts
 * @property {string} since
 * @property {string} error
 */

/** The most events that one request can name. */
const NUMBERS_MAX = 1000;

const MERGE_PATCH = 'application/merge-patch+json';

/** @param {string} tenant @param {AbortSignal} [signal] @returns {Promise<Hub[]>} */
export const listHubs = async (tenant, signal) => (await get(path(tenant, 'hub'), { signal })).body;

/** @param {string} tenant @param {string} id @param {AbortSignal} [signal] @returns {Promise<Hub>} */
export const readHub = async (tenant, id, signal) => (await get(path(tenant, 'hub', id), { signal })).body;

/** @param {string} tenant @param {{callback: string, query?: string}} body @returns {Promise<IssuedHub>} */
export const createHub = async (tenant, body) => (await ask('POST', path(tenant, 'hub'), { body })).body;

/** @param {string} tenant @param {string} id @param {'ACTIVE' | 'PAUSED'} state @returns {Promise<Hub>} */
export const changeState = async (tenant, id, state) =>
  (await ask('PATCH', path(tenant, 'hub', id), { body: { state }, type: MERGE_PATCH })).body;

/** @param {string} tenant @param {string} id @returns {Promise<IssuedHub>} */
export const rotateSecret = async (tenant, id) =>
  (await ask('PATCH', path(tenant, 'hub', id), { body: { rotateSecret: true }, type: MERGE_PATCH })).body;

/** @param {string} tenant @param {string} id */
export const deleteHub = (tenant, id) => ask('DELETE', path(tenant, 'hub', id));

/** The latest messages, the newest first. @param {string} tenant @param {string} id @param {AbortSignal} [signal] @returns {Promise<Delivery[]>} */
export const listDeliveries = async (tenant, id, signal) =>
  (await get(path(tenant, 'hub', id, 'delivery'), { signal })).body;

/**
 * The first dead letters, by the numbers of their events.
 * @param {string} tenant
 * @param {string} id
 * @param {number} most
 * @param {AbortSignal} [signal]
 * @returns {Promise<DeadLetter[]>}
 */
export async function listDeadLetters(tenant, id, most, signal) {
  /** @type {DeadLetter[]} */
  const letters = [];
  while (letters.length < most) {
    const after = letters.at(-1)?.eventNumber ?? 0;
    const { page, size } = await withPageSize(most - letters.length, async (size) => {
      const query = `after=${after}&pageSize=${size}`;
      const { body } = await get(`${path(tenant, 'hub', id, 'deadLetter')}?${query}`, { signal });
      return { page: body, size };
    });
    letters.push(...page);
    if (page.length < size) break;
  }
  return letters;
}

/**
 * Sends dead letters again, and returns how many.
 * @param {string} tenant
 * @param {string} id
 * @param {number[]} [eventNumbers] all if left out
 * @returns {Promise<number>}
 */
export async function replayDeadLetters(tenant, id, eventNumbers) {
  const replay = async (/** @type {object} */ body) =>
    (await ask('POST', path(tenant, 'hub', id, 'replay'), { body })).body.replayed;
  if (!eventNumbers) return replay({});
  let n = 0;
  for (let at = 0; at < eventNumbers.length; at += NUMBERS_MAX)
    n += await replay({ eventNumbers: eventNumbers.slice(at, at + NUMBERS_MAX) });
  return n;
}
