// Signing in at an issuer of the operator's: OpenID Connect's authorization code flow with PKCE (RFC 7636), for a client that
// has no secret. The browser goes to the issuer and comes back with a code, which is changed into tokens here.

const KEY = 'gatehouse.sign-in';

/**
 * @typedef {object} Issuer
 * @property {string} issuer
 * @property {string} clientId
 * @property {string} [authorizationEndpoint] not there while the server can't reach the issuer
 * @property {string} [tokenEndpoint]
 * @property {string} [endSessionEndpoint]
 * @property {string} [revocationEndpoint]
 * @property {string} [scope]
 * @property {boolean} [namesItself] whether its answers say whose they are (RFC 9207)
 */

/**
 * What an issuer has given.
 * @typedef {object} Grant
 * @property {string} accessToken
 * @property {string} [refreshToken]
 * @property {string} [idToken]
 * @property {Issuer} at
 */

/** Whether the browser lets this page use what PKCE needs: on https, and on this machine. */
export const isPossible = () => isSecureContext;

/**
 * Goes to the issuer. The browser comes back to the console, and then to where it was.
 * @param {Issuer} at
 * @param {string} returnTo the address behind the `#`
 */
export async function leaveForIssuer(at, returnTo) {
  const verifier = random();
  const state = random();
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  sessionStorage.setItem(KEY, JSON.stringify({ at, verifier, state, returnTo }));
  const url = new URL(/** @type {string} */ (at.authorizationEndpoint));
  const asked = {
    response_type: 'code',
    client_id: at.clientId,
    redirect_uri: redirectUri(),
    scope: at.scope ?? 'openid',
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  // Some issuers give a token that can be renewed only where somebody agrees to it.
  if (asked.scope.split(' ').includes('offline_access')) url.searchParams.set('prompt', 'consent');
  location.assign(url.href);
}

/** Whether the browser has come back from an issuer. */
export function isBack() {
  const query = new URLSearchParams(location.search);
  return query.has('state') && (query.has('code') || query.has('error'));
}

/**
 * Changes the code that the browser has brought into tokens. The address is cleaned of it.
 * @returns {Promise<Grant | undefined>} nothing for an answer that this tab has not asked for
 */
export async function comeBack() {
  const query = new URLSearchParams(location.search);
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
  const isAsked = kept?.state === query.get('state');
  history.replaceState(null, '', location.pathname + (isAsked ? kept.returnTo : location.hash));
  if (!isAsked) return undefined;
  sessionStorage.removeItem(KEY);
  // RFC 9207: an answer of another issuer must not be taken for this one's.
  const answering = query.get('iss') ?? (kept.at.namesItself ? undefined : kept.at.issuer);
  if (answering !== kept.at.issuer) {
    throw new SignInFailed(`${answering ?? 'Somebody without a name'} has answered, and ${kept.at.issuer} was asked.`);
  }
  if (query.has('error')) {
    const why = query.get('error_description') ?? query.get('error');
    throw new SignInFailed(`the issuer ${kept.at.issuer} says: ${why}`);
  }
  return exchange(kept.at, {
    grant_type: 'authorization_code',
    code: query.get('code') ?? '',
    redirect_uri: redirectUri(),
    code_verifier: kept.verifier,
  });
}

/**
 * New tokens for those that are no longer good; nothing where the issuer gives none any more.
 * @param {Grant} grant
 */
export async function renewAtIssuer({ at, refreshToken, idToken }) {
  if (!refreshToken) return undefined;
  try {
    const renewed = await exchange(at, { grant_type: 'refresh_token', refresh_token: refreshToken });
    return { refreshToken, idToken, ...renewed };
  } catch (cause) {
    if (cause instanceof SignInFailed && cause.isFinal) return undefined;
    throw cause;
  }
}

/**
 * Has the issuer forget what it gave, as far as it can. Nobody waits for it.
 * @param {Grant} grant
 */
export function revoke({ at, refreshToken }) {
  if (!at.revocationEndpoint || !refreshToken) return;
  const form = { token: refreshToken, token_type_hint: 'refresh_token', client_id: at.clientId };
  fetch(at.revocationEndpoint, { method: 'POST', body: new URLSearchParams(form), keepalive: true }).catch(() => {});
}

/** A sign-in that came to nothing. It says why. */
class SignInFailed extends Error {
  /** Whether the issuer has said no, and would again. */
  isFinal = false;
}

/**
 * @param {Issuer} at
 * @param {Record<string, string>} form
 * @returns {Promise<Grant>}
 */
async function exchange(at, form) {
  const body = new URLSearchParams({ ...form, client_id: at.clientId });
  const answer = await fetch(/** @type {string} */ (at.tokenEndpoint), { method: 'POST', body }).catch(() => undefined);
  if (!answer) {
    throw new SignInFailed(
      `the issuer ${at.issuer} can't be asked for a token: is it up, and does it let ${location.origin} ask (CORS)?`,
    );
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok || !said.access_token) {
    const why = `the issuer ${at.issuer} gives no token: ${said.error_description ?? said.error ?? answer.status}`;
    throw Object.assign(new SignInFailed(why), { isFinal: typeof said.error === 'string' && answer.status < 500 });
  }
  return {
    at,
    accessToken: said.access_token,
    ...(said.refresh_token && { refreshToken: said.refresh_token }),
    ...(said.id_token && { idToken: said.id_token }),
  };
}

function redirectUri() {
  return location.origin + location.pathname;
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
