// The session: the user's token, its scopes, and its renewal. The session belongs to this tab, and ends when the tab is closed.

import { Problem, unreachable } from '../api/problem.js';
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
 * @property {'token' | 'demo' | 'issuer'} from how the user has signed in
 * @property {string} [tenant] the tenant to start with
 * @property {import('./oidc.js').Grant} [grant] the issuer's tokens
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
 * Whether two sessions have the same user, tenants and scopes.
 * @param {Session} one
 * @param {Session} other
 */
export function isSame(one, other) {
  const allowed = (/** @type {Session} */ { subject, tenants, scopes }) =>
    JSON.stringify([subject, [...tenants].sort(), [...scopes].sort()]);
  return allowed(one) === allowed(other);
}

/** Whether the session covers every tenant. */
export function isForAll() {
  return current?.tenants.includes('*') ?? false;
}

/**
 * Asks the server how users can sign in.
 * @returns {Promise<{issuers: import('./oidc.js').Issuer[], demo?: {tenant: string, token: string}}>}
 */
export async function signInOptions() {
  const answer = await fetch('../sign-in', { cache: 'no-store' }).catch(() => undefined);
  if (!answer?.ok) throw unreachable();
  return answer.json();
}

/** Resumes the session of this tab, or signs in to the demo; returns whether there is a session. */
export async function resume() {
  const kept = sessionStorage.getItem(KEY);
  if (kept) {
    current = JSON.parse(kept);
    return true;
  }
  if (sessionStorage.getItem(SIGNED_OUT)) return false;
  return signInToDemo();
}

/** Signs in to the demo, if the server offers one to this browser. */
export async function signInToDemo() {
  const { demo } = await signInOptions();
  if (!demo) return false;
  await begin(demo.token, { from: 'demo', tenant: demo.tenant });
  return true;
}

/**
 * Starts a session with a token, if the server accepts the token.
 * @param {string} token
 * @param {Pick<Session, 'from' | 'tenant' | 'grant'>} how
 */
export async function begin(token, how) {
  keep({ token, ...(await describeToken(token)), ...how });
  sessionStorage.removeItem(SIGNED_OUT);
}

/** Asks the server for the user, tenants and scopes of a token. @param {string} token */
async function describeToken(token) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch('../me', { headers, cache: 'no-store' }).catch(() => undefined);
  if (!answer) throw unreachable();
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(body, answer.status);
  const { subject, tenants, scope, expiresAt } = body;
  return { subject, tenants, scopes: scope.split(' ').filter(Boolean), expiresAt };
}

/**
 * Renews a token that the server refused. Concurrent callers share one renewal.
 * @param {string} refused
 * @returns {Promise<boolean>} whether there is a new token; if not, the user has to sign in again
 */
export function renew(refused) {
  if (current && current.token !== refused) return Promise.resolve(true);
  renewing ??= renewNow().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renewNow() {
  const before = current;
  // The user may have signed out in the meantime, or in as another user.
  const isCurrent = (/** @type {Session | undefined} */ it) => it !== undefined && current === it;
  if (before?.from === 'demo') {
    const { demo } = await signInOptions();
    if (!demo || !isCurrent(before)) return false;
    const described = await describeToken(demo.token);
    if (isCurrent(before)) keep({ ...before, token: demo.token, ...described });
    return current !== undefined;
  }
  const renewed = before?.grant && (await renewAtIssuer(before.grant));
  if (!renewed || !isCurrent(before)) return false;
  // Many issuers accept a refresh token once: store the next one before any other step can fail.
  const next = { ...before, token: renewed.accessToken, grant: renewed };
  keep(next);
  const described = await describeToken(renewed.accessToken).catch(() => undefined);
  if (described && isCurrent(next)) keep({ ...next, ...described });
  return current !== undefined;
}

/** @param {Session} next */
function keep(next) {
  current = next;
  sessionStorage.setItem(KEY, JSON.stringify(next));
}

/** Ends the session, and leaves the rest of the tab's storage for the next sign-in of the same user. */
export function expire() {
  current = undefined;
  sessionStorage.removeItem(KEY);
  sessionStorage.setItem(SIGNED_OUT, '1');
}

/** Ends the session, and clears the tab's storage. */
export function end() {
  sessionStorage.clear();
  expire();
}
