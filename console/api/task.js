// Tasks: the API's resource of a batch. The response for a finished Task begins with its state and may list very many accesses,
// which are only read where they are needed.

import { get, getAll, getPage, path, problemOf, readWhole, send } from './client.js';
import { SignedOut } from './problem.js';

/**
 * @typedef {object} Task
 * @property {string} id
 * @property {'ACKNOWLEDGED' | 'IN_PROGRESS' | 'DONE' | 'FAILED' | 'REJECTED' | 'TERMINATED'} state
 * @property {'batchCreation' | 'batchUpdate' | 'batchTerminate'} kind
 * @property {string} [passwordsUntil]
 */

/**
 * The change that a Task makes to accesses.
 * @typedef {object} Change
 * @property {string} [status]
 * @property {boolean} [rotatesPassword]
 * @property {Record<string, string | null>} [labels] values to set, and `null` for labels to remove
 */

/** @typedef {{total: number, succeeded: number, failed: number, change?: Change}} Progress numbers of items, and their change */

/** @type {Record<string, string>} */
export const KIND_WORDS = {
  batchCreation: 'Creation',
  batchUpdate: 'Change',
  batchTerminate: 'Termination at month end',
};

/** @param {Pick<Task, 'state'>} task */
export const isFinished = ({ state }) => state !== 'ACKNOWLEDGED' && state !== 'IN_PROGRESS';

/** The beginning of a response, with the Task's state and kind. */
const BEGINNING = /^\s*\{"id":"[^"]*","state":"([A-Z_]+)","@baseType":"[^"]*","@type":"([A-Za-z]+)"/;

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
  const [state, kind] = await readWhole(readStateAndKind(reader), signal);
  reader.cancel().catch(() => {});
  const passwordsUntil = answer.headers.get('x-passwords-until') ?? undefined;
  return { id, state, kind, passwordsUntil };
}

/**
 * Reads state and kind from the beginning of a response, or from all of it if the fields come in another order.
 * @param {ReadableStreamDefaultReader<string>} reader
 * @returns {Promise<[Task['state'], Task['kind']]>}
 */
async function readStateAndKind(reader) {
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const found = BEGINNING.exec(text);
    if (found) return /** @type {any} */ (found.slice(1, 3));
  }
  const { state, '@type': kind } = JSON.parse(text);
  return [state, kind];
}

/**
 * Reads why a Task was rejected.
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
 * @returns {Promise<Progress>}
 */
export async function readProgress(tenant, id, signal) {
  const { body } = await get(path(tenant, 'access', 'batch', id, 'progress'), { signal });
  return body;
}

/** Progress requests in flight at a time. */
const PROGRESS_REQUESTS_MAX = 6;

/**
 * Reads the progress of several Tasks; a Task whose request fails is missing from the result.
 * @param {string} tenant
 * @param {string[]} ids
 * @param {AbortSignal} signal
 */
export async function readAllProgress(tenant, ids, signal) {
  /** @type {Map<string, Progress>} */
  const progress = new Map();
  const left = [...ids];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        progress.set(id, await readProgress(tenant, id, signal));
      } catch (cause) {
        // The next poll retries a request that failed.
        if (signal.aborted || cause instanceof SignedOut) throw cause;
      }
    }
  };
  await Promise.all(Array.from({ length: PROGRESS_REQUESTS_MAX }, work));
  return progress;
}

/**
 * Lists the tenant's Tasks, newest first.
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
 * Lists a page of a finished Task's items in one state.
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
 * Lists all items of a finished Task in one state.
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
