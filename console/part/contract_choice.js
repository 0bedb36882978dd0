// The control that chooses a contract: a select, or an input for the ID where the contracts can't be listed or are too many.

import { billingWords, closedBecause, OFFERED_MAX } from '../api/contract.js';
import { h } from '../element.js';
import { may } from '../sign_in/session.js';
import { count } from './number.js';

/**
 * @param {import('../api/contract.js').Contract[]} contracts
 * @param {string} [chosen]
 */
export function contractChoice(contracts, chosen = '') {
  const isComplete = may('access:read') && contracts.length < OFFERED_MAX;
  if (!isComplete) {
    return h('input', { id: 'contract', name: 'contract', required: true, value: chosen, autocomplete: 'off' });
  }
  if (contracts.length === 0) {
    const none = h('option', { value: '', selected: true }, 'No contract yet: the server’s operator sets contracts up');
    return h('select', { id: 'contract', name: 'contract', required: true }, none);
  }
  const open = contracts.filter((it) => !closedBecause(it));
  const isKnown = contracts.some((it) => it.id === chosen);
  const first = isKnown ? chosen : open.length === 1 ? open[0].id : '';
  return h(
    'select',
    { id: 'contract', name: 'contract', required: true },
    h('option', { value: '', selected: first === '' }, 'Choose a contract'),
    contracts.map((it) => {
      const why = closedBecause(it);
      const left = it.maxAccesses === undefined ? '' : `, ${count(Math.max(0, it.maxAccesses - it.accessCount))} left`;
      const words = why ? `${it.id} (${why})` : `${it.id} (${billingWords(it)}${left})`;
      return h('option', { value: it.id, disabled: why !== undefined, selected: it.id === first }, words);
    }),
  );
}
