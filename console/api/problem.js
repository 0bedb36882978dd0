// Problems: failures as the API reports them, and failures to reach the API in the same shape.

/** @typedef {{name: string, reason: string}} InvalidParam */

/** A failed request, with the API's explanation. */
export class Problem extends Error {
  /** @param {any} body @param {number} status @param {Headers} [headers] */
  constructor(body, status, headers) {
    super(body?.detail || body?.title || `The server answered ${status}.`);
    this.status = status;
    this.title = /** @type {string} */ (body?.title || 'Something went wrong');
    this.detail = /** @type {string} */ (
      body?.detail || (body?.title ? '' : `the server answered ${status} without a reason`)
    );
    this.invalidParams = /** @type {InvalidParam[]} */ (body?.invalidParams || []);
    this.correlationId = /** @type {string | undefined} */ (body?.correlationId);
    /** Advice that depends on the request. @type {string | undefined} */
    this.advice = undefined;
    /** Seconds until the server accepts a retry (`Retry-After`). */
    this.retryAfter = Number(headers?.get('retry-after')) || 0;
  }

  /** Whether the server may have processed the request nevertheless. */
  get isUnsure() {
    return this.status === 0 || this.title === 'Outcome unknown';
  }
}

/** The session has expired: the console sent no request, or the server refused its token. */
export class SignedOut extends Problem {
  constructor() {
    const detail = 'Nothing was changed. Sign in again, then try again.';
    super({ title: 'Your sign-in has expired', detail }, 401);
  }
}

/** The problem of a request without a response. */
export function unreachable() {
  const detail = 'The server does not respond. It may be restarting, or your network connection may be down.';
  return new Problem({ title: 'No response', detail }, 0);
}
