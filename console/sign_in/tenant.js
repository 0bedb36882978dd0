// The tenants that a session covers, and the one to start with.

import { getAll } from '../api/client.js';
import { isForAll, may, session } from './session.js';

const KEY = 'gatehouse.tenant';

/** The longest list of tenants that is offered; beyond it, the user types the name. */
const OFFERED_MAX = 1000;

/** @type {Promise<string[]> | undefined} */
let listed;
let listedFor = '';

/** @param {string} tenant */
export function rememberTenant(tenant) {
  localStorage.setItem(KEY, tenant);
}

/** Forgets the tenant, so that the next visit asks for one. */
export function forgetTenant() {
  localStorage.removeItem(KEY);
}

/**
 * The tenant to start with: the demo's, or else the last one that this browser showed, if the session covers it.
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
 * The tenants to offer: those that the token names, or all tenants for a token that covers and may list them all.
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
  // A partial list would look complete.
  return total > OFFERED_MAX ? [] : items.map((it) => it.name);
}
