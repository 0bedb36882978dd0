// The tenant's contracts, for forms that choose one and filters that suggest them.

import { counted } from '../part/number.js';
import { may } from '../sign_in/session.js';
import { getAll, path } from './client.js';

/**
 * @typedef {object} Contract
 * @property {string} id
 * @property {string} productOfferingId
 * @property {'PREPAID' | 'PAY_PER_USE'} billingModel
 * @property {'ACTIVE' | 'SUSPENDED' | 'TERMINATED'} status
 * @property {string} [startDateTime]
 * @property {string} [endDateTime]
 * @property {string} [validityPeriod]
 * @property {number} [maxAccesses]
 * @property {number} accessCount
 */

/** The longest list of contracts that is offered; beyond it, the user types the ID. */
export const OFFERED_MAX = 1000;

/**
 * The contracts to offer; none for a session that may not list them.
 * @param {string} tenant
 * @returns {Promise<Contract[]>}
 */
export async function contractsOf(tenant) {
  if (!may('access:read')) return [];
  const { items } = await getAll(path(tenant, 'contract'), { most: OFFERED_MAX });
  return items;
}

/**
 * Why a contract accepts no new accesses; `undefined` if it does.
 * @param {Contract} contract
 */
export function closedBecause({ status, endDateTime, maxAccesses, accessCount }) {
  if (status !== 'ACTIVE') return status.toLowerCase();
  if (endDateTime && new Date(endDateTime) <= new Date()) return 'ended';
  if (maxAccesses !== undefined && accessCount >= maxAccesses) return 'full';
  return undefined;
}

/** @param {Contract} contract */
export function billingWords({ billingModel, validityPeriod }) {
  if (billingModel === 'PAY_PER_USE') return 'pay per use';
  return validityPeriod ? `prepaid, ${spanWords(validityPeriod)} from the first connection` : 'prepaid';
}

/** Units before and after the `T`: `M` is a month before it, and a minute after it. @type {[string, string[]][]} */
const PARTS = [
  ['YMWD', ['year', 'month', 'week', 'day']],
  ['HMS', ['hour', 'minute', 'second']],
];

/**
 * An ISO 8601 duration in words; other texts stay as they are.
 * @param {string} span
 */
function spanWords(span) {
  const halves = /^P((?:\d+[YMWD])*)(?:T((?:\d+[HMS])+))?$/i.exec(span)?.slice(1) ?? [];
  const words = PARTS.flatMap(([letters, units], half) =>
    [...(halves[half] ?? '').matchAll(/(\d+)([A-Z])/gi)].map(([, n, letter]) => {
      const unit = units[letters.indexOf(letter.toUpperCase())];
      return unit && counted(Number(n), unit);
    }),
  );
  return words.length > 0 && words.every(Boolean) ? words.join(' ') : span;
}
