// How much a batch may have. Each server has its own limits, which this page can't ask for: beyond the usual ones it warns, and
// what a server refuses because of them is explained.

import { count } from '../part/number.js';

/** What `limits.batch_items` is, unless it is set otherwise. */
const ITEMS_USUAL = 100_000;

/** What `limits.body_bytes` is, unless it is set otherwise. */
export const BODY_BYTES_USUAL = 32 * 1024 * 1024;

/**
 * A warning for a batch that few servers take.
 * @param {number} n of its items
 */
export function warnOfItems(n) {
  if (!(n > ITEMS_USUAL)) return undefined;
  return `A server takes ${count(ITEMS_USUAL)} in a batch, unless it is set otherwise. If it refuses these ${count(n)}, nothing is done; send them in several batches then.`;
}

/** What the API says of too many. */
const TOO_MANY = /^must (?:have|be a whole number from) 1 to (\d+)(?: elements)?, not (\d+)$/;

/**
 * What to do about a batch that was too large, if that is why it failed.
 * @param {{status: number, invalidParams: {reason: string}[]}} problem
 * @param {number} nBytes of its body
 */
export function explainRefusal({ status, invalidParams }, nBytes) {
  for (const { reason } of status === 400 ? invalidParams : []) {
    const [max, given] = TOO_MANY.exec(reason)?.slice(1).map(Number) ?? [];
    if (given > max)
      return `This server takes ${count(max)} in a batch (limits.batch_items). Nothing was done: send them in several batches.`;
  }
  if (status === 413)
    return `The batch has ${mebibytes(nBytes)}, which is more than this server takes (limits.body_bytes). Nothing was done: send it in several batches.`;
  // Some servers hang up on whoever sends too much.
  if (status === 0 && nBytes > BODY_BYTES_USUAL)
    return `The batch has ${mebibytes(nBytes)}. A server takes ${mebibytes(BODY_BYTES_USUAL)}, unless it is set otherwise (limits.body_bytes), and may have hung up for that: send it in several batches.`;
  return undefined;
}

/** @param {number} nBytes */
const mebibytes = (nBytes) => `${count(Math.ceil(nBytes / 1024 / 1024))} MiB`;
