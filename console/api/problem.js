// What goes wrong: as the API tells it, or as it would where it can't be asked.

/** @typedef {{name: string, reason: string}} InvalidParam */

/** What went wrong, as the API tells it. */
export class Problem extends Error {
  /** @param {any} body @param {number} status @param {Headers} [headers] */
  constructor(body, status, headers) {
    super(body?.detail || body?.title || `The server answered ${status}.`);
    this.status = status;
    this.title = /** @type {string} */ (body?.title || 'Something went wrong');
    this.detail = /** @type {string} */ (
      body?.detail || (body?.title ? '' : `the answer was ${status}, without a word of why`)
    );
    this.invalidParams = /** @type {InvalidParam[]} */ (body?.invalidParams || []);
    this.correlationId = /** @type {string | undefined} */ (body?.correlationId);
    /** What to do about it, where that depends on what was asked. @type {string | undefined} */
    this.advice = undefined;
    /** Seconds that the server wants to be left alone. */
    this.retryAfter = Number(headers?.get('retry-after')) || 0;
  }

  /** Whether what was asked may have been done nevertheless. */
  get isUnsure() {
    return this.status === 0 || this.title === 'Outcome unknown';
  }
}

/** Whoever asks is no longer signed in: nothing was asked, or the server did not want to hear it. */
export class SignedOut extends Problem {
  constructor() {
    const detail = 'Nothing was changed. Once you are signed in again, try once more.';
    super({ title: 'Your sign-in had ended', detail }, 401);
  }
}

/** The problem that no server has told. */
export function unreachable() {
  const detail = 'The server does not answer. It may be restarting, or your connection is gone.';
  return new Problem({ title: 'No answer', detail }, 0);
}
