// The limits of a batch. The API doesn't tell a server's limits, so the console warns beyond the defaults, and explains refusals.

import { count } from '../part/number.js';

/** The default of the setting `limits.batch_items`. */
const ITEMS_DEFAULT = 100_000;

/** The default of the setting `limits.body_bytes`. */
export const BODY_BYTES_DEFAULT = 32 * 1024 * 1024;

/**
 * Warns about a batch with more items than servers accept by default.
 * @param {number} n number of items
 */
export function warnOfItems(n) {
  if (!(n > ITEMS_DEFAULT)) return undefined;
  return `By default, a server accepts ${count(ITEMS_DEFAULT)} items in a batch. If it refuses these ${count(n)}, nothing is done: send several batches.`;
}

/** The API's message about too many items. */
const TOO_MANY = /^must (?:have|be a whole number from) 1 to (\d+)(?: elements)?, not (\d+)$/;

/**
 * Explains the refusal of a batch that was too large; `undefined` for other refusals.
 * @param {{status: number, invalidParams: {reason: string}[]}} problem
 * @param {number} nBytes size of the body
 */
export function explainRefusal({ status, invalidParams }, nBytes) {
  for (const { reason } of status === 400 ? invalidParams : []) {
    const [max, given] = TOO_MANY.exec(reason)?.slice(1).map(Number) ?? [];
    if (given > max)
      return `This server accepts ${count(max)} items in a batch (limits.batch_items). Nothing was done: send several batches.`;
  }
  if (status === 413)
    return `The batch has ${mebibytes(nBytes)}, more than this server accepts (limits.body_bytes). Nothing was done: send several batches.`;
  // Some servers and proxies close the connection of a body that is too large.
  if (status === 0 && nBytes > BODY_BYTES_DEFAULT)
    return `The batch has ${mebibytes(nBytes)}. By default, a server accepts ${mebibytes(BODY_BYTES_DEFAULT)} (limits.body_bytes), and may close the connection of a larger request: send several batches.`;
  return undefined;
}

/** @param {number} nBytes */
const mebibytes = (nBytes) => `${count(Math.ceil(nBytes / 1024 / 1024))} MiB`;
