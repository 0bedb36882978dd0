// What this tab has sent: a Task says what came of a batch, but not what was asked. It is needed to send again what failed.
// No password is kept.

const KEY = 'gatehouse.batch.';

/**
 * @typedef {object} Note
 * @property {string} [contractId]
 * @property {string} [status] what a change sets
 */

/**
 * @param {string} taskId
 * @param {Note} note
 */
export function keepNote(taskId, note) {
  sessionStorage.setItem(KEY + taskId, JSON.stringify(note));
}

/**
 * @param {string} taskId
 * @returns {Note}
 */
export function noteOf(taskId) {
  return JSON.parse(sessionStorage.getItem(KEY + taskId) ?? '{}');
}
