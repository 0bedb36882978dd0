// The accesses of a batch by a filter: an expression to write, with the number of accesses that match it now.

import { getPage, path } from '../api/client.js';
import { Problem } from '../api/problem.js';
import { h, replace } from '../element.js';
import { ACCESS_FIELDS, BadFilter, readFilter, toQuery } from '../filter/expression.js';
import { field, VERBATIM } from '../part/form.js';
import { count, counted } from '../part/number.js';
import { problemPanel } from '../part/problem_panel.js';
import { may } from '../sign_in/session.js';
import { warnOfItems } from './limits.js';

/**
 * @param {object} what
 * @param {string} what.tenant
 * @param {AbortSignal} what.signal
 * @param {string} what.text the initial filter
 * @param {string[]} [what.labelKeys]
 * @returns {import('./selection.js').Selection}
 */
export function filterText({ tenant, signal, text, labelKeys }) {
  const area = h('textarea', {
    id: 'batch-filter',
    rows: 2,
    required: true,
    ...VERBATIM,
    placeholder: 'contractId=…&status=ACTIVE',
    onchange: () => look(),
  });
  area.value = text;
  const result = h('div', { 'aria-live': 'polite' });

  /** @param {import('../element.js').Child[]} words */
  function refuse(...words) {
    area.setAttribute('aria-invalid', 'true');
    replace(result, words);
    return undefined;
  }

  /** Reads the filter as a request has it; `undefined` where it has a fault, which is shown. */
  function readQuery() {
    area.removeAttribute('aria-invalid');
    replace(result);
    const fault = (/** @type {string} */ words) => refuse(h('p', { class: 'fault', role: 'alert' }, words));
    try {
      const query = toQuery(readFilter(area.value.replaceAll('\n', ''), ACCESS_FIELDS));
      return query === '' ? fault('Write a condition: a batch by filter never changes all accesses.') : query;
    } catch (cause) {
      return fault(cause instanceof BadFilter ? cause.message : String(cause));
    }
  }

  /**
   * Counts the accesses that match now, and shows their number.
   * @param {string} query
   * @returns {Promise<number | undefined>} `undefined` where they can't be counted, or are none
   */
  async function countMatching(query) {
    let total;
    try {
      ({ total } = await getPage(path(tenant, 'access'), { query, page: 1, size: 1, signal }));
    } catch (cause) {
      if (signal.aborted || !(cause instanceof Problem)) throw cause;
      return refuse(problemPanel(cause));
    }
    if (total === 0) return refuse(h('p', { class: 'fault', role: 'alert' }, 'No access matches this filter.'));
    const many = warnOfItems(total);
    const match = total === 1 ? 'matches' : 'match';
    replace(
      result,
      h('p', {}, `${counted(total, 'access', 'accesses')} ${match} now.`),
      many && h('p', { class: 'panel notice' }, many),
    );
    return total;
  }

  async function look() {
    const query = area.value.trim() === '' ? undefined : readQuery();
    if (query && may('access:read')) await countMatching(query);
  }

  async function read() {
    const query = readQuery();
    if (!query) {
      area.focus();
      return undefined;
    }
    const fields = { accessFilter: query };
    if (!may('access:read')) return { fields, them: 'all matching accesses' };
    const total = await countMatching(query);
    if (total === undefined) return undefined;
    return { fields, them: total === 1 ? 'the matching access' : `all ${count(total)} matching accesses` };
  }

  if (text) look().catch(() => {});
  const keys = labelKeys?.length ? ` Labels to filter by: ${labelKeys.join(', ')}.` : '';
  const hint = `As in the list of accesses: & joins conditions, ; separates alternatives.${keys} The batch changes the accesses that match when it is accepted, and only those of pay-per-use contracts.`;
  const element = h('div', { class: 'fields' }, field({ label: 'Filter', control: area, hint }), result);
  return { element, read };
}
