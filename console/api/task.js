// Tasks: what is asked of the API about them. One that is over may have very many accesses, and its answer begins with what
// it is; the rest isn't read where nobody needs it.

import { get, getAll, getPage, path, problemOf, send, whole } from './client.js';
import { SignedOut } from './problem.js';

/**
 * @typedef {object} Task
 * @property {string} id
 * @property {'ACKNOWLEDGED' | 'IN_PROGRESS' | 'DONE' | 'FAILED' | 'REJECTED' | 'TERMINATED'} state
 * @property {'batchCreation' | 'batchUpdate' | 'batchTerminate'} kind
 * @property {string} [passwordsUntil]
 */

/** @type {Record<string, string>} */
export const KIND_WORDS = { batchCreation: 'Creation', batchUpdate: 'Change', batchTerminate: 'End with the month' };

/** @param {Pick<Task, 'state'>} task */
export const isOver = ({ state }) => state !== 'ACKNOWLEDGED' && state !== 'IN_PROGRESS';

/** So much of an answer has what a Task is. */
const BASE = /^\s*\{"id":"[^"]*","state":"([A-Z_]+)","@baseType":"[^"]*","@type":"([A-Za-z]+)"/;

/**
 * @param {string} tenant
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Task>}
 */
export async function readTask(tenant, id, signal) {
  const answer = await send('GET', path(tenant, 'access', 'batch', id), { signal });
  if (!answer.ok || !answer.body) throw await problemOf(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const [state, kind] = await whole(readBase(reader), signal);
  reader.cancel().catch(() => {});
  const passwordsUntil = answer.headers.get('x-passwords-until') ?? undefined;
  return { id, state, kind, passwordsUntil };
}

/**
 * State and kind: from the beginning of an answer, or from all of it, should it begin with something else.
 * @param {ReadableStreamDefaultReader<string>} reader
 * @returns {Promise<[Task['state'], Task['kind']]>}
 */
async function readBase(reader) {
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const found = BASE.exec(text);
    if (found) return /** @type {any} */ (found.slice(1, 3));
  }
  const { state, '@type': kind } = JSON.parse(text);
  return [state, kind];
}

/**
 * Why a Task was rejected.
 * @param {string} tenant
 * @param {string} id
 * @param {AbortSignal} signal
 */
export async function readRejection(tenant, id, signal) {
  const { body } = await get(path(tenant, 'access', 'batch', id), { signal });
  return body.errors?.[0];
}

/**
 * @param {string} tenant
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<import('../batch/progress.js').Progress>}
 */
export async function readProgress(tenant, id, signal) {
  const { body } = await get(path(tenant, 'access', 'batch', id, 'progress'), { signal });
  return body;
}

/** So many are asked for at a time: a page of batches is no storm. */
const AT_ONCE = 6;

/**
 * How far each of these is; nothing for one that can't tell just now.
 * @param {string} tenant
 * @param {string[]} ids
 * @param {AbortSignal} signal
 */
export async function readAllProgress(tenant, ids, signal) {
  /** @type {Map<string, import('../batch/progress.js').Progress>} */
  const far = new Map();
  const left = [...ids];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        far.set(id, await readProgress(tenant, id, signal));
      } catch (cause) {
        // One that the server had no time for is asked for at the next look.
        if (signal.aborted || cause instanceof SignedOut) throw cause;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return far;
}

/**
 * The tenant's Tasks, newest first.
 * @param {string} tenant
 * @param {{page: number, size: number}} which
 * @param {AbortSignal} signal
 * @returns {Promise<{tasks: Task[], total: number, size: number}>}
 */
export async function listTasks(tenant, which, signal) {
  const { items, total, size } = await getPage(path(tenant, 'access', 'batch'), { ...which, signal });
  const tasks = items.map(({ id, state, '@type': kind }) => ({ id, state, kind }));
  return { tasks, total, size };
}

/**
 * What became of the items of a Task that is over.
 * @param {string} tenant
 * @param {string} id
 * @param {'succeeded' | 'failed'} state
 * @param {{page: number, size: number}} which
 * @param {AbortSignal} [signal]
 */
export function listItems(tenant, id, state, which, signal) {
  return getPage(path(tenant, 'access', 'batch', id, 'items'), { query: `state=${state}`, ...which, signal });
}

/**
 * All of them.
 * @param {string} tenant
 * @param {string} id
 * @param {'succeeded' | 'failed'} state
 * @param {AbortSignal} [signal]
 * @returns {Promise<any[]>}
 */
export async function allItems(tenant, id, state, signal) {
  const { items } = await getAll(path(tenant, 'access', 'batch', id, 'items'), { query: `state=${state}`, signal });
  return items;
}
