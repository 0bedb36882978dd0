// The retry of a batch's failed items: the initial values of the form for the next batch.

import { allItems, listItems, readProgress, readTask } from '../api/task.js';
import { cell } from './csv_writer.js';
import { rememberedRequest } from './request.js';
import { refusedRows, retryTable } from './retry_table.js';

/**
 * @typedef {object} Retry
 * @property {'create' | 'change' | 'end'} kind
 * @property {number} [number] of accesses without names
 * @property {string} [table] CSV with the names of the accesses
 * @property {Map<string, string>} [refused] reasons by row, for rows that the user has to correct
 * @property {string[]} [ids] of accesses to change
 * @property {import('../api/task.js').Change} [change] the change of the batch
 * @property {import('./request.js').Remembered} remembered
 */

/**
 * Reads the failed items of a batch for a retry.
 * @param {string} tenant
 * @param {string} taskId
 * @param {AbortSignal} signal
 * @returns {Promise<Retry>}
 */
export async function readRetry(tenant, taskId, signal) {
  const { kind } = await readTask(tenant, taskId, signal);
  const errors = (await allItems(tenant, taskId, 'failed')).map((it) => it.error);
  const remembered = rememberedRequest(taskId);
  if (kind !== 'batchCreation') {
    const ids = errors
      .map((it) => it.accessId)
      .filter(Boolean)
      .map(cell);
    const { change } = await readProgress(tenant, taskId, signal);
    return { kind: kind === 'batchTerminate' ? 'end' : 'change', ids, change, remembered };
  }
  remembered.contractId ??= await contractOf(tenant, taskId);
  const table = retryTable(errors);
  if (table === undefined) return { kind: 'create', number: errors.length, remembered };
  return { kind: 'create', table, refused: refusedRows(errors), remembered };
}

/** The contract of the accesses that a batch has created, if any. @param {string} tenant @param {string} id */
async function contractOf(tenant, id) {
  const { items } = await listItems(tenant, id, 'succeeded', { page: 1, size: 1 });
  return items[0]?.access.contractId;
}
