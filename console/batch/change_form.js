// The form of a batch that changes or terminates accesses.

import { h } from '../element.js';
import { checkbox, field } from '../part/form.js';
import { changeQuestion, endQuestion } from './change_question.js';
import { labelChangeFields } from './label_change.js';
import { selection } from './selection.js';

const CHANGES = /** @type {[string, string][]} */ ([
  ['SUSPENDED', 'Suspend'],
  ['ACTIVE', 'Activate'],
  ['TERMINATED', 'Terminate permanently'],
  ['none', 'No change of the status'],
]);

/**
 * @param {string} kind
 * @param {object} given
 * @param {string} given.tenant
 * @param {AbortSignal} given.signal
 * @param {import('./retry.js').Retry} [given.retry]
 * @param {string} [given.filter] of the accesses
 * @param {string[]} [given.labelKeys]
 * @returns {import('./request.js').BatchForm}
 */
export function changeForm(kind, { tenant, signal, retry, filter, labelKeys }) {
  const isEnd = kind === 'end';
  const chosen = retry ? (retry.change?.status ?? 'none') : 'SUSPENDED';
  const status = h(
    'select',
    { id: 'change' },
    CHANGES.map(([value, word]) => h('option', { value, selected: value === chosen }, word)),
  );
  const labels = labelChangeFields(labelKeys, retry?.change?.labels);
  let rotatesPassword = retry?.change?.rotatesPassword ?? false;
  const rotation = checkbox({
    id: 'rotate',
    label: 'Set new passwords: the server generates one for each access',
    isChecked: rotatesPassword,
    change: (isChecked) => {
      rotatesPassword = isChecked;
    },
  });
  const accesses = selection({ tenant, signal, ids: retry?.ids, filter, labelKeys });
  const element = h(
    'div',
    { class: 'fields' },
    !isEnd && [field({ label: 'Change', control: status }), rotation, labels.elements],
    accesses.element,
  );

  /** The change of an update; `undefined` if the user has to correct something first. */
  function readChange() {
    const labelChange = labels.read();
    if (!labelChange) return undefined;
    const change = {
      ...(status.value !== 'none' && { status: status.value }),
      ...(rotatesPassword && { rotatesPassword }),
      ...(Object.keys(labelChange).length > 0 && { labels: labelChange }),
    };
    if (Object.keys(change).length > 0) return change;
    labels.showFault('Choose a change of the status, new passwords, or labels to set or to remove.');
    status.focus();
    return undefined;
  }

  async function request() {
    const change = isEnd ? {} : readChange();
    const selected = change && (await accesses.read());
    if (!selected) return undefined;
    const { fields, them } = selected;
    const address = 'batchUpdate';
    if (isEnd) {
      const body = { operationType: 'terminate', operationBody: {}, ...fields };
      return { address, body, remembered: {}, question: endQuestion(them) };
    }
    const { rotatesPassword, ...rest } = change;
    const operationBody = { ...rest, ...(rotatesPassword && { rotatePassword: true }) };
    const body = { operationType: 'update', operationBody, ...fields };
    return { address, body, remembered: {}, question: changeQuestion(them, change) };
  }

  return { element, request };
}
