// Sending again what failed in a batch: what the form for the next one begins with.

import { noteOf } from './batch_note.js';
import { cell } from './csv.js';
import { allItems, listItems, readTask } from './task.js';

/**
 * @typedef {object} Retry
 * @property {'create' | 'change' | 'end'} kind
 * @property {number} [number] of accesses that nothing is known of
 * @property {string} [table] of those that were named
 * @property {string[]} [ids] of accesses to be changed
 * @property {import('./batch_note.js').Note} note
 */

/**
 * What failed in a batch, as something to be sent.
 * @param {string} tenant
 * @param {string} taskId
 * @param {AbortSignal} signal
 * @returns {Promise<Retry>}
 */
export async function readRetry(tenant, taskId, signal) {
  const { kind } = await readTask(tenant, taskId, signal);
  const errors = (await allItems(tenant, taskId, 'failed')).map((it) => it.error);
  const note = noteOf(taskId);
  if (kind !== 'batchCreation') {
    const ids = errors.map((it) => it.accessId).filter(Boolean);
    return { kind: kind === 'batchTerminate' ? 'end' : 'change', ids, note };
  }
  note.contractId ??= await contractOf(tenant, taskId);
  const isNamed = errors.some((it) => it.username !== undefined || it.deviceName !== undefined);
  if (!isNamed) return { kind: 'create', number: errors.length, note };
  const row = (/** @type {any} */ it) => [it.username ?? '', it.deviceName ?? ''].map(cell).join(',');
  return { kind: 'create', table: ['username,deviceName', ...errors.map(row)].join('\n'), note };
}

/** Under which contract a batch made its accesses, as far as it made any. @param {string} tenant @param {string} id */
async function contractOf(tenant, id) {
  const { items } = await listItems(tenant, id, 'succeeded', { page: 1, size: 1 });
  return items[0]?.access.contractId;
}
