// Looking for many identifiers: which were found, which are surely nowhere, and of which nobody knows.

import { ask, path } from '../api/client.js';
import { accountIn } from '../api/product.js';
import { judge, parts } from './finding.js';
import { KINDS } from './identifier.js';

/** @typedef {import('./identifier.js').Sought} Sought */
/** @typedef {import('./identifier.js').Kind} Kind */
/** @typedef {import('./finding.js').Finding} Finding */

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
