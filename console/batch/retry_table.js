// What failed in a creation, as rows that can be mended and sent. The batch doesn't have them as they were sent: passwords are
// not kept, and of an item that was refused for its form each name is cut to 64 characters, with its control characters replaced.

import { cell } from './csv_writer.js';

/**
 * The problem of an item, with as much of the item as is known.
 * @typedef {object} ItemError
 * @property {number} status
 * @property {string} [detail]
 * @property {{name: string, reason: string}[]} [invalidParams]
 * @property {string} [username]
 * @property {string} [deviceName]
 */

/** As many characters of a name are told. */
const TOLD_MAX = 64;

/**
 * A table of them; none where nothing but their number is known.
 * @param {ItemError[]} errors
 */
export function tableOf(errors) {
  if (!errors.some((it) => it.username !== undefined || it.deviceName !== undefined)) return undefined;
  const lines = errors.map((it) => [it.username ?? '', it.deviceName ?? ''].map(cell).join(','));
  return ['username,deviceName', ...lines].join('\n');
}

/**
 * Those that must not be sent as they stand in that table: why, by what it has of them.
 * @param {ItemError[]} errors
 * @returns {Map<string, string>}
 */
export function refusedOf(errors) {
  const refused = errors.filter((it) => (it.username || it.deviceName) && isAltered(it));
  return new Map(refused.map((it) => [keyOf(it), it.detail ?? 'no access can have that name']));
}

/**
 * Says so of rows that are still as that table has them.
 * @param {import('./access_rows.js').Row[]} rows
 * @param {Map<string, string>} refused
 */
export function markRefused(rows, refused) {
  for (const { item, faults } of rows) {
    const why = refused.get(keyOf(item));
    if (why === undefined || faults.length > 0) continue;
    const words = why.replace(/`([^`]*)`/g, '“$1”');
    faults.push(
      `was refused (${words}), and of such a row the batch shows no more than ${TOLD_MAX} characters of a name: write it as it is to be`,
    );
  }
}

/**
 * Whether the names of an item are not those that were sent, or were refused themselves. One whose password alone was refused
 * is fine with another.
 * @param {ItemError} error
 */
function isAltered({ status, invalidParams = [], username = '', deviceName = '' }) {
  if (status !== 400) return false;
  const isOfPassword = invalidParams.length > 0 && invalidParams.every((it) => it.name === 'password');
  const mayBeCut = [username, deviceName].some((it) => [...it].length >= TOLD_MAX || it.includes('\uFFFD'));
  return mayBeCut || !isOfPassword;
}

/** @param {{username?: string, deviceName?: string}} item */
const keyOf = ({ username = '', deviceName = '' }) => JSON.stringify([username, deviceName]);
