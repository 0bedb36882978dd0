// Batch requests: what a form has ready to send, and what this tab remembers of it. A Task reports the results of a batch, and its
// change of accesses, but not the request of a creation, which a retry of the failed items needs. Passwords are not remembered.

const KEY = 'gatehouse.batch.';

/**
 * The part of a request that the tab remembers.
 * @typedef {object} Remembered
 * @property {string} [contractId]
 * @property {Record<string, string>} [labels] the labels of new accesses
 */

/**
 * A request that is ready to send.
 * @typedef {object} BatchRequest
 * @property {string} address below the tenant's accesses
 * @property {object} body
 * @property {Remembered} remembered
 * @property {{title: string, consequence: string[], yes: string, isIrreversible?: boolean}} [question] asked before sending
 */

/**
 * A form that makes a request; `undefined` if the user has to correct something first.
 * @typedef {{element: HTMLElement, request: () => BatchRequest | undefined | Promise<BatchRequest | undefined>}} BatchForm
 */

/**
 * @param {string} taskId
 * @param {Remembered} request
 */
export function rememberRequest(taskId, request) {
  sessionStorage.setItem(KEY + taskId, JSON.stringify(request));
}

/**
 * @param {string} taskId
 * @returns {Remembered}
 */
export function rememberedRequest(taskId) {
  return JSON.parse(sessionStorage.getItem(KEY + taskId) ?? '{}');
}
