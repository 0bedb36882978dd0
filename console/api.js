// Requests to the API: the public one, which everyone else uses too. What goes wrong is always a `Problem`, which says what
// to do.

import { renew, session } from './session.js';

/** Where the API is: the console is two steps below it. */
export const BASE = new URL('../../', document.baseURI).pathname.replace(/\/$/, '');

/** @typedef {{name: string, reason: string}} InvalidParam */

/** What went wrong, as the API tells it. */
export class Problem extends Error {
  /** @param {any} body @param {number} status @param {Headers} [headers] */
  constructor(body, status, headers) {
    super(body?.detail || body?.title || `The server answered ${status}.`);
    this.status = status;
    this.title = /** @type {string} */ (body?.title || 'Something went wrong');
    this.detail = /** @type {string} */ (body?.detail || '');
    this.invalidParams = /** @type {InvalidParam[]} */ (body?.invalidParams || []);
    this.correlationId = /** @type {string | undefined} */ (body?.correlationId);
    this.retryAfter = Number(headers?.get('retry-after')) || 0;
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
  const detail =
    'The server does not answer. It may be restarting, or your connection is gone; nothing was changed here.';
  return new Problem({ title: 'No answer', detail }, 0);
}

/**
 * @typedef {object} Options
 * @property {any} [body] what is sent, as JSON
 * @property {string} [type] its media type
 * @property {Record<string, string | undefined>} [headers]
 * @property {AbortSignal} [signal] ends the request when nobody wants it any more
 */

/**
 * Sends a request and gives its answer, whatever its status; a token that is refused is renewed once. Where that can't be,
 * the page is told that the sign-in has ended (`gatehouse:signed-out`).
 * @param {string} method
 * @param {string} path below the API's address, encoded
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function send(method, path, { body, type = 'application/json', headers = {}, signal } = {}) {
  if (!session()) throw new SignedOut();
  const text = body === undefined ? undefined : JSON.stringify(body);
  const once = async () => {
    const all = new Headers();
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.set(name, value);
    all.set('authorization', `Bearer ${session()?.token}`);
    if (text !== undefined) all.set('content-type', type);
    try {
      // A check that is refused speaks of HTTP Basic, and the browser would ask for a password by itself.
      const own = /** @type {const} */ ({ cache: 'no-store', credentials: 'omit' });
      return await fetch(BASE + path, { method, headers: all, body: text, signal, ...own });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw unreachable();
    }
  };
  const answer = await once();
  if (!isRefused(answer)) return answer;
  const again = (await renew()) ? await once() : answer;
  if (!isRefused(again)) return again;
  dispatchEvent(new Event('gatehouse:signed-out'));
  throw new SignedOut();
}

/** Whether it is our token that the server doesn't take: a refused check of a device is a 401, too. @param {Response} answer */
const isRefused = ({ status, headers }) => status === 401 && /bearer/i.test(headers.get('www-authenticate') ?? '');

/**
 * Sends a request that must succeed.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<{status: number, headers: Headers, body: any}>}
 */
export async function ask(method, path, options = {}) {
  const answer = await send(method, path, options);
  if (!answer.ok) throw await problemOf(answer);
  const { status, headers } = answer;
  const isEmpty = method === 'HEAD' || status === 204;
  return { status, headers, body: isEmpty ? undefined : await answer.json() };
}

/**
 * @param {string} path
 * @param {Options} [options]
 */
export const get = (path, options) => ask('GET', path, options);

/**
 * A page of a list that is counted.
 * @param {string} path
 * @param {{query?: string, page: number, size: number, signal?: AbortSignal}} which
 * @returns {Promise<{items: any[], total: number}>}
 */
export async function getPage(path, { query = '', page, size, signal }) {
  const whole = `${path}?${query}${query && '&'}pageNumber=${page}&pageSize=${size}`;
  // A mistyped filter must not list everything.
  const { body, headers } = await get(whole, { signal, headers: { prefer: 'handling=strict' } });
  return { items: body, total: Number(headers.get('x-total-count')) };
}

/** @param {Response} answer */
export async function problemOf(answer) {
  const body = await answer.json().catch(() => undefined);
  return new Problem(body, answer.status, answer.headers);
}

/**
 * A path below a tenant's name.
 * @param {string} tenant
 * @param {...string} segments
 */
export function path(tenant, ...segments) {
  return `/${[tenant, ...segments].map(encodeURIComponent).join('/')}`;
}
