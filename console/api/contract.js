// The tenant's contracts, for forms that choose one and filters that know them.

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

/** So many are offered; others are typed. */
export const OFFERED_MAX = 1000;

/**
 * The contracts that can be offered: none for whoever may not list them.
 * @param {string} tenant
 * @returns {Promise<Contract[]>}
 */
export async function contractsOf(tenant) {
  if (!may('access:read')) return [];
  const { items } = await getAll(path(tenant, 'contract'), { most: OFFERED_MAX });
  return items;
}

/**
 * Why a contract gets no new accesses, if it doesn't.
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

/** Where months end and minutes begin, `M` means the other. @type {[string, string[]][]} */
const PARTS = [
  ['YMWD', ['year', 'month', 'week', 'day']],
  ['HMS', ['hour', 'minute', 'second']],
];

/**
 * A span of time (ISO 8601) as people say it; one that is written otherwise stays as it is.
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
