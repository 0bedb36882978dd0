// Who is signed in: a token, what it allows, and how it goes on when it expires. It is kept for this tab alone, and is gone
// when the tab is closed.

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
  const answer = await fetch('../sign-in', { cache: 'no-store' }).catch(() => undefined);
  if (!answer?.ok) throw unreachable();
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
  keep({ token, ...(await learn(token)), ...how });
  sessionStorage.removeItem(SIGNED_OUT);
}

/** Asks the server what a token allows. @param {string} token */
async function learn(token) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch('../me', { headers, cache: 'no-store' }).catch(() => undefined);
  if (!answer) throw unreachable();
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(body, answer.status);
  const { subject, tenants, scope, expiresAt } = body;
  return { subject, tenants, scopes: scope.split(' ').filter(Boolean), expiresAt };
}

/**
 * Gets a new token for the one that was refused. However many ask, it is done once.
 * @param {string} refused
 * @returns {Promise<boolean>} whether there is another one; where there can't be, somebody has to sign in again
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
  // Whoever has signed out meanwhile, or in as somebody else, wants nothing of this any more.
  const isStill = (/** @type {Session | undefined} */ it) => it !== undefined && current === it;
  if (before?.from === 'demo') {
    const { demo } = await waysIn();
    if (!demo || !isStill(before)) return false;
    const learnt = await learn(demo.token);
    if (isStill(before)) keep({ ...before, token: demo.token, ...learnt });
    return current !== undefined;
  }
  const renewed = before?.grant && (await renewAtIssuer(before.grant));
  if (!renewed || !isStill(before)) return false;
  // Many issuers take a refresh token once: its successor is kept before anything else can go wrong.
  const next = { ...before, token: renewed.accessToken, grant: renewed };
  keep(next);
  const learnt = await learn(renewed.accessToken).catch(() => undefined);
  if (learnt && isStill(next)) keep({ ...next, ...learnt });
  return current !== undefined;
}

/** @param {Session} next */
function keep(next) {
  current = next;
  sessionStorage.setItem(KEY, JSON.stringify(next));
}

/** The session is no longer good: somebody has to sign in again, and finds all else as it was. */
export function expire() {
  current = undefined;
  sessionStorage.removeItem(KEY);
  sessionStorage.setItem(SIGNED_OUT, '1');
}

/** Forgets the session, and whatever else this tab has kept. */
export function end() {
  sessionStorage.clear();
  expire();
}
