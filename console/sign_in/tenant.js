// Whose estate is looked at: those that a session covers, and the one to begin with.

import { getAll } from '../api/client.js';
import { isForAll, may, session } from './session.js';

const KEY = 'gatehouse.tenant';

/** So many are offered; more are typed. */
const OFFERED_MAX = 1000;

/** @type {Promise<string[]> | undefined} */
let listed;
let listedFor = '';

/** @param {string} tenant */
export function rememberTenant(tenant) {
  localStorage.setItem(KEY, tenant);
}

/** Whoever comes next is asked which one. */
export function forgetTenant() {
  localStorage.removeItem(KEY);
}

/**
 * The tenant to begin with: the one that somebody looked at last, if the session covers it.
 * @param {import('./session.js').Session} session
 */
export function lastTenant({ tenants, tenant }) {
  const covers = (/** @type {string | null | undefined} */ it) => it && (tenants.includes('*') || tenants.includes(it));
  const last = localStorage.getItem(KEY);
  if (covers(tenant)) return tenant;
  if (last && covers(last)) return last;
  return tenants.find((it) => it !== '*');
}

/**
 * The tenants that can be offered: those that the token names, or where it is for all of them those that there are, if it
 * may list them.
 * @returns {Promise<string[]>}
 */
export function tenants() {
  const signedIn = session();
  if (!signedIn) return Promise.resolve([]);
  if (!listed || listedFor !== signedIn.token) {
    listedFor = signedIn.token;
    listed = list(signedIn.tenants).catch(() => []);
  }
  return listed;
}

/** @param {string[]} named */
async function list(named) {
  if (!isForAll()) return [...named].sort();
  if (!may('admin')) return [];
  const { items, total } = await getAll('/-/admin/tenants', { most: OFFERED_MAX });
  // A part of them would look like all.
  return total > OFFERED_MAX ? [] : items.map((it) => it.name);
}
