// Searching for many identifiers at all platforms.

import { ask, path } from '../api/client.js';
import { accountIn } from '../api/product.js';
import { intoRequests, judge } from './finding.js';
import { KINDS } from './identifier.js';

/** @typedef {import('./identifier.js').Identifier} Identifier */
/** @typedef {import('./identifier.js').Kind} Kind */
/** @typedef {import('./finding.js').Finding} Finding */

/**
 * Searches for each identifier as its likely kinds, and then as its further kinds if it was not found.
 * @param {string} tenant
 * @param {Identifier[]} identifiers
 * @param {AbortSignal} signal
 * @returns {Promise<{findings: Finding[], errors: any[]}>}
 */
export async function search(tenant, identifiers, signal) {
  /** @type {Finding[]} */
  const findings = identifiers.map(() => ({ result: 'missing', found: [] }));
  /** @type {any[]} */
  const errors = [];
  const look = async (/** @type {(it: Identifier) => Kind[]} */ kindsOf) => {
    const items = identifiers
      .map((it, n) => ({ it, n, kinds: kindsOf(it) }))
      .filter(({ n, kinds }) => kinds.length > 0 && findings[n].result !== 'found');
    for (const request of intoRequests(items)) {
      const { body } = await ask('POST', path(tenant, 'product', 'find'), { body: bodyOf(request), signal });
      const missing = body.errors.filter((/** @type {any} */ it) => it.status === 404);
      const failed = body.errors.filter((/** @type {any} */ it) => it.status !== 404);
      errors.push(...failed);
      for (const { it, n, kinds } of request) {
        const finding = judge(it, kinds, body.entities, missing, failed.length > 0);
        // A later request doesn't make an unknown result certain.
        if (!(findings[n].result === 'unknown' && finding.result === 'missing')) findings[n] = finding;
      }
    }
  };
  await look((it) => it.likely);
  await look((it) => it.perhaps);
  return { findings, errors: withoutRepeats(errors) };
}

/** @param {{it: Identifier, kinds: Kind[]}[]} items */
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

/** Keeps the first error of each account: a failing account repeats its error for every request. @param {any[]} errors */
function withoutRepeats(errors) {
  const seen = new Set();
  return errors.filter((error) => {
    const key = JSON.stringify(accountIn(error) ?? [error.title, error.detail]);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}
