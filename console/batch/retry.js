// Sending again what failed in a batch: what the form for the next one begins with.

import { allItems, listItems, readTask } from '../api/task.js';
import { cell } from './csv_writer.js';
import { noteOf } from './request.js';
import { refusedOf, tableOf } from './retry_table.js';

/**
 * @typedef {object} Retry
 * @property {'create' | 'change' | 'end'} kind
 * @property {number} [number] of accesses that nothing is known of
 * @property {string} [table] of those that were named
 * @property {Map<string, string>} [refused] rows of it that must not be sent as they are
 * @property {string[]} [ids] of accesses to be changed
 * @property {import('./request.js').Note} note
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
    const ids = errors
      .map((it) => it.accessId)
      .filter(Boolean)
      .map(cell);
    return { kind: kind === 'batchTerminate' ? 'end' : 'change', ids, note };
  }
  note.contractId ??= await contractOf(tenant, taskId);
  const table = tableOf(errors);
  if (table === undefined) return { kind: 'create', number: errors.length, note };
  return { kind: 'create', table, refused: refusedOf(errors), note };
}

/** Under which contract a batch made its accesses, as far as it made any. @param {string} tenant @param {string} id */
async function contractOf(tenant, id) {
  const { items } = await listItems(tenant, id, 'succeeded', { page: 1, size: 1 });
  return items[0]?.access.contractId;
}
