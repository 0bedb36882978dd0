// The result of a search for one identifier: found, missing at every account, or unknown because an account failed.

import { hasIdentifier, isSameIdentifier } from './identifier.js';

/** The API's limit of identifiers in one search request. */
const ITEMS_MAX = 1000;

/** @typedef {import('./identifier.js').Identifier} Identifier */
/** @typedef {import('./identifier.js').Kind} Kind */
/** @typedef {import('../api/product.js').Product} Product */

/**
 * The result for one identifier.
 * @typedef {object} Finding
 * @property {'found' | 'missing' | 'unknown'} result
 * @property {{kind: Kind, product: Product}[]} found
 */

/**
 * Judges one identifier by the response of a search request.
 * @param {Identifier} identifier
 * @param {Kind[]} kinds
 * @param {Product[]} products
 * @param {any[]} missing
 * @param {boolean} hasFailures
 * @returns {Finding}
 */
export function judge({ value }, kinds, products, missing, hasFailures) {
  /** @type {Finding['found']} */
  const found = [];
  for (const product of products) {
    const kind = kinds.find((it) => hasIdentifier(product, it, value));
    if (kind) found.push({ kind, product });
  }
  if (found.length > 0) return { result: 'found', found };
  // The response names identifiers that are missing at every account, except IMSIs and MSISDNs.
  const isNamed =
    kinds.length === 1 &&
    missing.some((it) => isSameIdentifier(kinds[0], String(it.detail).split('`')[1] ?? '', value));
  return { result: hasFailures && !isNamed ? 'unknown' : 'missing', found };
}

/**
 * Divides identifiers into requests of at most `ITEMS_MAX`; each kind of an identifier counts.
 * @template {{kinds: Kind[]}} Item
 * @param {Item[]} items
 */
export function intoRequests(items) {
  /** @type {Item[][]} */
  const requests = [];
  let n = ITEMS_MAX;
  for (const item of items) {
    if (n + item.kinds.length > ITEMS_MAX) {
      requests.push([]);
      n = 0;
    }
    requests[requests.length - 1].push(item);
    n += item.kinds.length;
  }
  return requests;
}
