// Looking for many identifiers: which were found, which are surely nowhere, and of which nobody knows.

import { ask, path } from './api.js';
import { isCarried, isSame, KINDS } from './identifier.js';
import { accountIn } from './product.js';

/** So many items one search may have. */
const ITEMS_MAX = 1000;

/** @typedef {import('./identifier.js').Sought} Sought */
/** @typedef {import('./identifier.js').Kind} Kind */
/** @typedef {import('./product.js').Product} Product */

/**
 * What became of an identifier.
 * @typedef {object} Finding
 * @property {'found' | 'missing' | 'unknown'} result
 * @property {{kind: Kind, product: Product}[]} found
 */

/**
 * Looks for all of them: as what they are likely to be, and what isn't found then as what it may be as well.
 * @param {string} tenant
 * @param {Sought[]} sought
 * @param {AbortSignal} signal
 * @returns {Promise<{findings: Finding[], errors: any[]}>}
 */
export async function search(tenant, sought, signal) {
  /** @type {Finding[]} */
  const findings = sought.map(() => ({ result: 'missing', found: [] }));
  /** @type {any[]} */
  const errors = [];
  const look = async (/** @type {(it: Sought) => Kind[]} */ kindsOf) => {
    const items = sought
      .map((it, n) => ({ it, n, kinds: kindsOf(it) }))
      .filter(({ n, kinds }) => kinds.length > 0 && findings[n].result !== 'found');
    for (const part of parts(items)) {
      const { body } = await ask('POST', path(tenant, 'product', 'find'), { body: bodyOf(part), signal });
      const missing = body.errors.filter((/** @type {any} */ it) => it.status === 404);
      const failed = body.errors.filter((/** @type {any} */ it) => it.status !== 404);
      errors.push(...failed);
      for (const { it, n, kinds } of part) {
        const finding = judge(it, kinds, body.entities, missing, failed.length > 0);
        // What nobody knew before isn't nowhere now.
        if (!(findings[n].result === 'unknown' && finding.result === 'missing')) findings[n] = finding;
      }
    }
  };
  await look((it) => it.likely);
  await look((it) => it.perhaps);
  return { findings, errors: withoutRepeats(errors) };
}

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

/** @param {{it: Sought, kinds: Kind[]}[]} items */
function bodyOf(items) {
  /** @type {Record<string, string[]>} */
  const body = {};
  for (const { it, kinds } of items) {
    for (const kind of kinds) {
      body[KINDS[kind].list] ??= [];
      body[KINDS[kind].list].push(it.value);
    }
  }
  return body;
}

/** The same account fails once for every part, and in the end is left alone: what it failed with first is told. @param {any[]} errors */
function withoutRepeats(errors) {
  const seen = new Set();
  return errors.filter((error) => {
    const key = JSON.stringify(accountIn(error) ?? [error.title, error.detail]);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}
