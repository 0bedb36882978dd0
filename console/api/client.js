// The client of the public API. Every failure is a `Problem` with advice for the user.

import { renew, session } from '../sign_in/session.js';
import { Problem, SignedOut, unreachable } from './problem.js';

/** The path of the API: the console lies two levels below it. */
const BASE = new URL('../../', document.baseURI).pathname.replace(/\/$/, '');

/**
 * Advice for a request whose outcome is unknown.
 * @param {string} method
 * @param {boolean} isKeyed whether the request has an idempotency key
 */
function adviceWhenUnsure(method, isKeyed) {
  if (method === 'GET') return undefined;
  return isKeyed
    ? 'The server may or may not have processed the request. Send it again unchanged: the server processes it only once.'
    : 'The server may or may not have processed the request. Check the current state before you try again.';
}

/**
 * @typedef {object} Options
 * @property {any} [body] sent as JSON
 * @property {string} [type] the media type of the body
 * @property {Record<string, string | undefined>} [headers]
 * @property {AbortSignal} [signal] aborts the request
 */

/**
 * Sends a request and returns its response, whatever its status. A refused token is renewed once; if that fails, the event
 * `gatehouse:signed-out` tells the page that the session has expired.
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
      // The refusal of a device's credentials names HTTP Basic, for which the browser would open its password dialog.
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
  if (await renewOrExplain(first.token)) {
    const { answer } = await once();
    if (!isRefused(answer)) return answer;
  }
  dispatchEvent(new Event('gatehouse:signed-out'));
  throw new SignedOut();
}

/** Renews a refused token; returns whether there is a new one. @param {string} token */
async function renewOrExplain(token) {
  try {
    return await renew(token);
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    const problem = new Problem({ title: 'Your sign-in could not be renewed', detail }, 503);
    throw Object.assign(problem, { advice: 'Nothing was changed. Try again in a moment.' });
  }
}

/** Whether the server refuses the session's token; refused credentials of a device are a 401, too. @param {Response} answer */
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
  const body = isEmpty ? undefined : await readWhole(answer.json(), options.signal, advice);
  return { status, headers, body };
}

/**
 * Reads a response to its end; a response that breaks off is a `Problem`.
 * @template T
 * @param {Promise<T>} reading
 * @param {AbortSignal} [signal]
 * @param {string} [advice]
 * @returns {Promise<T>}
 */
export async function readWhole(reading, signal, advice) {
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

/** The largest page that the server allows, as far as known: a refusal lowers it. */
let pageMax = 1000;

export const largestPage = () => pageMax;

/**
 * @typedef {object} Which
 * @property {string} [query]
 * @property {number} page
 * @property {number} size
 * @property {boolean} [isLenient] whether the server ignores conditions that it doesn't support, and names them, instead of refusing
 * @property {AbortSignal} [signal]
 */

/**
 * Reads a page of a list with a known total, at most as large as the server allows.
 * @param {string} path
 * @param {Which} which
 * @returns {Promise<{items: any[], total: number, size: number}>}
 */
export async function getPage(path, which) {
  const { body, headers, size } = await getPageResponse(path, which);
  return { items: body, total: Number(headers.get('x-total-count')), size };
}

/**
 * Reads a page, and returns the response's body and headers.
 * @param {string} path
 * @param {Which} which
 * @returns {Promise<{body: any, headers: Headers, size: number}>}
 */
export function getPageResponse(path, { query = '', page, size: requested, isLenient = false, signal }) {
  return withPageSize(requested, async (size) => {
    const address = `${path}?${query}${query && '&'}pageNumber=${page}&pageSize=${size}`;
    // Without strict handling, a mistyped filter would list everything.
    const prefer = isLenient ? undefined : 'handling=strict';
    const { body, headers } = await get(address, { signal, headers: { prefer } });
    return { body, headers, size };
  });
}

/**
 * Reads with a page size, at most the largest one that the server allows: a refusal that names the limit is followed by a request
 * that keeps it.
 * @template T
 * @param {number} requested
 * @param {(size: number) => Promise<T>} read
 * @returns {Promise<T>}
 */
export async function withPageSize(requested, read) {
  const size = Math.min(requested, pageMax);
  try {
    return await read(size);
  } catch (cause) {
    const limit = pageSizeLimitIn(cause);
    if (limit === undefined || limit >= size) throw cause;
    pageMax = limit;
    return withPageSize(requested, read);
  }
}

/**
 * Reads a list with a known total: all items, or at most `most`.
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

/** The largest page size that a refusal names. @param {unknown} cause */
function pageSizeLimitIn(cause) {
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
 * The path of a tenant's resource.
 * @param {string} tenant
 * @param {...string} segments
 */
export function path(tenant, ...segments) {
  return `/${[tenant, ...segments].map(encodeURIComponent).join('/')}`;
}
