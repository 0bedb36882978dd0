// The tenant's contracts, for forms that choose one and filters that know them.

import { getPage, path } from './api.js';
import { may } from './session.js';

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
 * The contracts that can be offered: none for whoever may not list them, or when that fails.
 * @param {string} tenant
 * @returns {Promise<Contract[]>}
 */
export async function contractsOf(tenant) {
  if (!may('access:read')) return [];
  try {
    const { items } = await getPage(path(tenant, 'contract'), { page: 1, size: OFFERED_MAX });
    return items;
  } catch {
    return [];
  }
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
  return validityPeriod ? `prepaid, ${validityPeriod} from the first connection` : 'prepaid';
}
