// Signing in at an OpenID Connect issuer: the authorization code flow with PKCE (RFC 7636), for a public client. The browser
// goes to the issuer and returns with a code, which this module exchanges for tokens.

const KEY = 'gatehouse.sign-in';

/**
 * @typedef {object} Issuer
 * @property {string} issuer
 * @property {string} clientId
 * @property {string} [authorizationEndpoint] missing while the server can't reach the issuer
 * @property {string} [tokenEndpoint]
 * @property {string} [endSessionEndpoint]
 * @property {string} [revocationEndpoint]
 * @property {string} [scope]
 * @property {boolean} [namesItself] whether the issuer's responses carry `iss` (RFC 9207)
 */

/**
 * The tokens of an issuer.
 * @typedef {object} Grant
 * @property {string} accessToken
 * @property {string} [refreshToken]
 * @property {string} [idToken]
 * @property {Issuer} at
 */

/** Whether the browser offers the cryptography that PKCE needs: only over https, and on localhost. */
export const isPossible = () => isSecureContext;

/**
 * Sends the browser to the issuer. After the sign-in, the issuer sends it back to the console, to the same address.
 * @param {Issuer} at
 * @param {string} returnTo the address behind the `#`
 */
export async function leaveForIssuer(at, returnTo) {
  const verifier = random();
  const state = random();
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  sessionStorage.setItem(KEY, JSON.stringify({ at, verifier, state, returnTo }));
  const url = new URL(/** @type {string} */ (at.authorizationEndpoint));
  const params = {
    response_type: 'code',
    client_id: at.clientId,
    redirect_uri: redirectUri(),
    scope: at.scope ?? 'openid',
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  // Some issuers issue a refresh token only after the user's consent.
  if (params.scope.split(' ').includes('offline_access')) url.searchParams.set('prompt', 'consent');
  location.assign(url.href);
}

/** Whether the address carries an issuer's response. */
export function isIssuerResponse() {
  const query = new URLSearchParams(location.search);
  return query.has('state') && (query.has('code') || query.has('error'));
}

/**
 * Exchanges the code of the issuer's response for tokens, and removes the response from the address.
 * @returns {Promise<Grant | undefined>} `undefined` for a response that this tab has not requested
 */
export async function finishSignIn() {
  const query = new URLSearchParams(location.search);
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
  const isRequested = kept?.state === query.get('state');
  history.replaceState(null, '', location.pathname + (isRequested ? kept.returnTo : location.hash));
  if (!isRequested) return undefined;
  sessionStorage.removeItem(KEY);
  // RFC 9207: reject a response of another issuer.
  const responder = query.get('iss') ?? (kept.at.namesItself ? undefined : kept.at.issuer);
  if (responder !== kept.at.issuer) {
    const other = responder ?? 'an issuer without a name';
    throw new SignInFailed(`the response is from ${other}, but the sign-in began at ${kept.at.issuer}`);
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
 * Renews tokens; `undefined` if the issuer refuses.
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
 * Revokes the refresh token, if the issuer supports revocation. Does not wait for the response.
 * @param {Grant} grant
 */
export function revoke({ at, refreshToken }) {
  if (!at.revocationEndpoint || !refreshToken) return;
  const form = { token: refreshToken, token_type_hint: 'refresh_token', client_id: at.clientId };
  fetch(at.revocationEndpoint, { method: 'POST', body: new URLSearchParams(form), keepalive: true }).catch(() => {});
}

/** A failed sign-in; the message says why. */
class SignInFailed extends Error {
  /** Whether a retry is pointless, because the issuer has refused. */
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
      `the issuer ${at.issuer} can't be reached for a token: check that it is up, and that it allows the origin ${location.origin} (CORS)`,
    );
  }
  const payload = await answer.json().catch(() => ({}));
  if (!answer.ok || !payload.access_token) {
    const why = `the issuer ${at.issuer} issued no token: ${payload.error_description ?? payload.error ?? answer.status}`;
    throw Object.assign(new SignInFailed(why), { isFinal: typeof payload.error === 'string' && answer.status < 500 });
  }
  return {
    at,
    accessToken: payload.access_token,
    ...(payload.refresh_token && { refreshToken: payload.refresh_token }),
    ...(payload.id_token && { idToken: payload.id_token }),
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
