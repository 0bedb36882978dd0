// The failed items of a creation as a table to correct and send. The batch doesn't store the items as they were sent: it has no
// passwords, and it cuts the names of a refused item to 64 characters and replaces their control characters.

import { cell } from './csv_writer.js';

/**
 * The problem of an item, with the names that the batch stores.
 * @typedef {object} ItemError
 * @property {number} status
 * @property {string} [detail]
 * @property {{name: string, reason: string}[]} [invalidParams]
 * @property {string} [username]
 * @property {string} [deviceName]
 */

/** The length to which the batch cuts the names of refused items. */
const NAME_MAX = 64;

/**
 * The table of failed items; `undefined` if no item has a name.
 * @param {ItemError[]} errors
 */
export function retryTable(errors) {
  if (!errors.some((it) => it.username !== undefined || it.deviceName !== undefined)) return undefined;
  const lines = errors.map((it) => [it.username ?? '', it.deviceName ?? ''].map(cell).join(','));
  return ['username,deviceName', ...lines].join('\n');
}

/**
 * The rows that must not be sent as the table has them: the reason by the row's names.
 * @param {ItemError[]} errors
 * @returns {Map<string, string>}
 */
export function refusedRows(errors) {
  const refused = errors.filter((it) => (it.username || it.deviceName) && isAltered(it));
  return new Map(refused.map((it) => [keyOf(it), it.detail ?? 'no access can have that name']));
}

/**
 * Adds a fault to each row that the user has not corrected.
 * @param {import('./access_rows.js').Row[]} rows
 * @param {Map<string, string>} refused
 */
export function markRefused(rows, refused) {
  for (const { item, faults } of rows) {
    const why = refused.get(keyOf(item));
    if (why === undefined || faults.length > 0) continue;
    const words = why.replace(/`([^`]*)`/g, '“$1”');
    faults.push(
      `was refused (${words}). The batch shows at most ${NAME_MAX} characters of a refused name: enter the full name`,
    );
  }
}

/**
 * Whether an item's names were refused, or may differ from those that were sent. If only the password was refused, the names are
 * fine.
 * @param {ItemError} error
 */
function isAltered({ status, invalidParams = [], username = '', deviceName = '' }) {
  if (status !== 400) return false;
  const isOfPassword = invalidParams.length > 0 && invalidParams.every((it) => it.name === 'password');
  const mayBeCut = [username, deviceName].some((it) => [...it].length >= NAME_MAX || it.includes('\uFFFD'));
  return mayBeCut || !isOfPassword;
}

/** @param {{username?: string, deviceName?: string}} item */
const keyOf = ({ username = '', deviceName = '' }) => JSON.stringify([username, deviceName]);
