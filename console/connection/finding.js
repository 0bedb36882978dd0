// What a search has found out about an identifier: found, surely nowhere, or nobody knows.

import { isCarried, isSame } from './identifier.js';

/** So many items one search may have. */
const ITEMS_MAX = 1000;

/** @typedef {import('./identifier.js').Sought} Sought */
/** @typedef {import('./identifier.js').Kind} Kind */
/** @typedef {import('../api/product.js').Product} Product */

/**
 * What became of an identifier.
 * @typedef {object} Finding
 * @property {'found' | 'missing' | 'unknown'} result
 * @property {{kind: Kind, product: Product}[]} found
 */

/**
 * What an answer says about one of them.
 * @param {Sought} sought
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
    const kind = kinds.find((it) => isCarried(product, it, value));
    if (kind) found.push({ kind, product });
  }
  if (found.length > 0) return { result: 'found', found };
  // Of IMSIs and MSISDNs an answer says nothing; of the others it names those that are surely nowhere.
  const isNamed =
    kinds.length === 1 && missing.some((it) => isSame(kinds[0], String(it.detail).split('`')[1] ?? '', value));
  return { result: hasFailures && !isNamed ? 'unknown' : 'missing', found };
}

/**
 * As many at a time as a search may have, each with all that it is taken for.
 * @template {{kinds: Kind[]}} Item
 * @param {Item[]} items
 */
export function parts(items) {
  /** @type {Item[][]} */
  const all = [];
  let n = ITEMS_MAX;
  for (const item of items) {
    if (n + item.kinds.length > ITEMS_MAX) {
      all.push([]);
      n = 0;
    }
    all[all.length - 1].push(item);
    n += item.kinds.length;
  }
  return all;
}
