// Requests to the API: the public one, which everyone else uses too. What goes wrong is always a `Problem`, which says what
// to do.

import { renew, session } from '../sign_in/session.js';
import { Problem, SignedOut, unreachable } from './problem.js';

/** Where the API is: the console is two steps below it. */
const BASE = new URL('../../', document.baseURI).pathname.replace(/\/$/, '');

/**
 * What to do where nobody knows whether something was done.
 * @param {string} method
 * @param {boolean} isKeyed whether it can be sent again as the same
 */
function adviceWhenUnsure(method, isKeyed) {
  if (method === 'GET') return undefined;
  return isKeyed
    ? 'It may have been done, or not. Send it again without changing it: then it is done once, however often it arrives.'
    : 'It may have been done, or not. Look how things are before you do it again.';
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
  const text = body === undefined ? undefined : JSON.stringify(body);
  const once = async () => {
    const token = session()?.token;
    if (!token) throw new SignedOut();
    const all = new Headers();
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.set(name, value);
    all.set('authorization', `Bearer ${token}`);
    if (text !== undefined) all.set('content-type', type);
    try {
      // A check that is refused speaks of HTTP Basic, and the browser would ask for a password by itself.
      const own = /** @type {const} */ ({ cache: 'no-store', credentials: 'omit' });
      const answer = await fetch(BASE + path, { method, headers: all, body: text, signal, ...own });
      return { answer, token };
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw Object.assign(unreachable(), { advice: adviceWhenUnsure(method, 'idempotency-key' in headers) });
    }
  };
  const first = await once();
  if (!isRefused(first.answer)) return first.answer;
  if (await isRenewed(first.token)) {
    const { answer } = await once();
    if (!isRefused(answer)) return answer;
  }
  dispatchEvent(new Event('gatehouse:signed-out'));
  throw new SignedOut();
}

/** Whether there is another token than the one that was refused. @param {string} token */
async function isRenewed(token) {
  try {
    return await renew(token);
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    const problem = new Problem({ title: 'Your sign-in could not be renewed', detail }, 503);
    throw Object.assign(problem, { advice: 'Nothing was changed. Try again in a moment.' });
  }
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
  const advice = adviceWhenUnsure(method, 'idempotency-key' in (options.headers ?? {}));
  if (!answer.ok) {
    const problem = await problemOf(answer);
    throw problem.isUnsure ? Object.assign(problem, { advice }) : problem;
  }
  const { status, headers } = answer;
  const isEmpty = method === 'HEAD' || status === 204;
  const body = isEmpty ? undefined : await whole(answer.json(), options.signal, advice);
  return { status, headers, body };
}

/**
 * An answer to its end: it may break off on the way.
 * @template T
 * @param {Promise<T>} reading
 * @param {AbortSignal} [signal]
 * @param {string} [advice]
 * @returns {Promise<T>}
 */
export async function whole(reading, signal, advice) {
  try {
    return await reading;
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw Object.assign(unreachable(), { advice });
  }
}

/**
 * @param {string} path
 * @param {Options} [options]
 */
export const get = (path, options) => ask('GET', path, options);

/** So many a page may have, as far as is known: servers may allow less. */
let pageMax = 1000;

export const largestPage = () => pageMax;

/**
 * @typedef {object} Which
 * @property {string} [query]
 * @property {number} page
 * @property {number} size
 * @property {AbortSignal} [signal]
 */

/**
 * A page of a list that is counted. It has the size that was asked for, or the largest that the server allows.
 * @param {string} path
 * @param {Which} which
 * @returns {Promise<{items: any[], total: number, size: number}>}
 */
export async function getPage(path, which) {
  const { body, headers, size } = await getPart(path, which);
  return { items: body, total: Number(headers.get('x-total-count')), size };
}

/**
 * A page as the API answers with it.
 * @param {string} path
 * @param {Which} which
 * @returns {Promise<{body: any, headers: Headers, size: number}>}
 */
export async function getPart(path, { query = '', page, size: wanted, signal }) {
  const size = Math.min(wanted, pageMax);
  const whole = `${path}?${query}${query && '&'}pageNumber=${page}&pageSize=${size}`;
  try {
    // A mistyped filter must not list everything.
    const { body, headers } = await get(whole, { signal, headers: { prefer: 'handling=strict' } });
    return { body, headers, size };
  } catch (cause) {
    const bound = boundIn(cause);
    if (bound === undefined || bound >= size) throw cause;
    pageMax = bound;
    return getPart(path, { query, page, size, signal });
  }
}

/**
 * All of a list that is counted, or the first of it.
 * @param {string} path
 * @param {{query?: string, most?: number, signal?: AbortSignal}} [which]
 * @returns {Promise<{items: any[], total: number}>}
 */
export async function getAll(path, { query, most = Infinity, signal } = {}) {
  /** @type {any[]} */
  const all = [];
  for (let page = 1; ; page += 1) {
    const { items, total } = await getPage(path, { query, page, size: Math.min(largestPage(), most), signal });
    all.push(...items);
    if (items.length === 0 || all.length >= Math.min(total, most)) return { items: all.slice(0, most), total };
  }
}

/** How many a page may have, where a server says that it was asked for more. @param {unknown} cause */
function boundIn(cause) {
  if (!(cause instanceof Problem)) return undefined;
  const reason = cause.invalidParams.find((it) => it.name === 'pageSize')?.reason;
  return Number(/ to (\d+)/.exec(reason ?? '')?.[1]) || undefined;
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
