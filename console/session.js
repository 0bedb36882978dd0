// Who is signed in: a token, what it allows, and how it goes on when it expires. It is kept for this tab alone, and is gone
// when the tab is closed.

import { renewAtIssuer } from './oidc.js';

const KEY = 'gatehouse.session';
const SIGNED_OUT = 'gatehouse.signed-out';

/**
 * @typedef {object} Session
 * @property {string} token
 * @property {string} [subject]
 * @property {string[]} tenants `*` is every tenant
 * @property {string[]} scopes
 * @property {string} expiresAt
 * @property {'token' | 'demo' | 'issuer'} from how somebody has signed in
 * @property {string} [tenant] the one to begin with
 * @property {import('./oidc.js').Grant} [grant] what an issuer gave
 */

/** @type {Session | undefined} */
let current;

/** @type {Promise<boolean> | undefined} */
let renewing;

export function session() {
  return current;
}

/** @param {string} scope */
export function may(scope) {
  return current?.scopes.includes(scope) ?? false;
}

/**
 * Whether two sessions are the same person's, who may do the same.
 * @param {Session} one
 * @param {Session} other
 */
export function isSame(one, other) {
  const allowed = (/** @type {Session} */ { subject, tenants, scopes }) =>
    JSON.stringify([subject, [...tenants].sort(), [...scopes].sort()]);
  return allowed(one) === allowed(other);
}

/** Whether the session is for every tenant. */
export function isForAll() {
  return current?.tenants.includes('*') ?? false;
}

/**
 * How people can sign in here.
 * @returns {Promise<{issuers: import('./oidc.js').Issuer[], demo?: {tenant: string, token: string}}>}
 */
export async function waysIn() {
  const answer = await fetch('../sign-in', { cache: 'no-store' });
  if (!answer.ok) throw new Error('how to sign in is not known');
  return answer.json();
}

/** Takes up the session of this tab again, or the demo's. Whether there is one. */
export async function resume() {
  const kept = sessionStorage.getItem(KEY);
  if (kept) {
    current = JSON.parse(kept);
    return true;
  }
  if (sessionStorage.getItem(SIGNED_OUT)) return false;
  return signInToDemo();
}

/** Signs in to the demo, where this server has one and shows it to us. */
export async function signInToDemo() {
  const { demo } = await waysIn();
  if (!demo) return false;
  await begin(demo.token, { from: 'demo', tenant: demo.tenant });
  return true;
}

/**
 * Begins a session with a token, if the server takes it.
 * @param {string} token
 * @param {Pick<Session, 'from' | 'tenant' | 'grant'>} how
 */
export async function begin(token, how) {
  const answer = await fetch('../me', { headers: { authorization: `Bearer ${token}` }, cache: 'no-store' });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Refused(problem.detail ?? `the server answered ${answer.status}`);
  }
  const { subject, tenants, scope, expiresAt } = await answer.json();
  current = { token, subject, tenants, scopes: scope.split(' ').filter(Boolean), expiresAt, ...how };
  sessionStorage.setItem(KEY, JSON.stringify(current));
  sessionStorage.removeItem(SIGNED_OUT);
}

/** A token that the server doesn't take. */
export class Refused extends Error {}

/** Gets a new token for the one that was refused, where that is possible. However many ask, it is done once. */
export function renew() {
  renewing ??= renewNow().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renewNow() {
  const { from, grant, tenant } = current ?? {};
  try {
    if (from === 'demo') return await signInToDemo();
    const renewed = grant && (await renewAtIssuer(grant));
    if (!renewed) return false;
    await begin(renewed.accessToken, { from: 'issuer', tenant, grant: renewed });
    return true;
  } catch {
    // The view tells that the token is refused, and offers to sign in again.
    return false;
  }
}

/** Forgets the session. */
export function end() {
  current = undefined;
  sessionStorage.clear();
  sessionStorage.setItem(SIGNED_OUT, '1');
}
