// The status of an access, a contract, a Task, a connection, an account or a hub: a word with a mark, never a colour alone.

import { h } from '../element.js';

/** The statuses of an access, in the order of its lifecycle. */
export const ACCESS_STATUSES = ['PENDING_ACTIVE', 'ACTIVE', 'SUSPENDED', 'PENDING_TERMINATE', 'TERMINATED'];

/** @type {Record<string, string>} */
const WORDS = {
  PENDING_ACTIVE: 'Pending',
  PENDING_TERMINATE: 'Ending',
  IN_PROGRESS: 'In progress',
  ACKNOWLEDGED: 'Queued',
  DONE: 'Done',
  FAILED: 'Some failed',
  REJECTED: 'Rejected',
};

/** The colour class of each status. @type {Record<string, string>} */
const KINDS = {
  ACTIVE: 'good',
  UP: 'good',
  DONE: 'good',
  PENDING_ACTIVE: 'new',
  CREATED: 'new',
  ACKNOWLEDGED: 'new',
  IN_PROGRESS: 'new',
  SUSPENDED: 'warn',
  PAUSED: 'warn',
  PENDING_TERMINATE: 'ending',
  FAILED: 'warn',
  DOWN: 'bad',
  REJECTED: 'bad',
  TERMINATED: 'over',
  UNKNOWN: 'over',
};

/** @param {string} status */
export const statusWord = (status) =>
  WORDS[status] ?? status.charAt(0) + status.slice(1).toLowerCase().replaceAll('_', ' ');

/** @param {string} status */
export const statusKind = (status) => KINDS[status] ?? 'over';

/**
 * @param {string} status
 * @param {string} [word] if it differs from the status
 */
export function statusMark(status, word = statusWord(status)) {
  return h('span', { class: `status ${statusKind(status)}`, title: status }, word);
}

/**
 * The state of a batch.
 * @param {{state: string}} task
 * @param {{succeeded: number}} [progress]
 */
export function taskMark({ state }, progress) {
  if (state === 'TERMINATED') return statusMark(state, 'Stopped');
  if (state === 'FAILED' && progress?.succeeded === 0)
    return h('span', { class: 'status bad', title: state }, 'All failed');
  return statusMark(state);
}
