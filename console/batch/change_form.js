// The form of a batch that changes or terminates accesses by their IDs. Faulty IDs are shown before anything is sent.

import { h, replace } from '../element.js';
import { field } from '../part/form.js';
import { counted } from '../part/number.js';
import { readIds } from './access_ids.js';
import { onInputDebounced } from './debounced_input.js';
import { labelChangeFields } from './label_change.js';
import { warnOfItems } from './limits.js';
import { rowFaults } from './row_faults.js';

const CHANGES = /** @type {[string, string][]} */ ([
  ['SUSPENDED', 'Suspend'],
  ['ACTIVE', 'Activate'],
  ['TERMINATED', 'Terminate permanently'],
  ['none', 'No change of the status'],
]);

/**
 * @param {string} kind
 * @param {{retry?: import('./retry.js').Retry, labelKeys?: string[]}} given
 * @returns {import('./request.js').BatchForm}
 */
export function changeForm(kind, { retry, labelKeys }) {
  const isEnd = kind === 'end';
  const chosen = retry ? (retry.change?.status ?? 'none') : 'SUSPENDED';
  const status = h(
    'select',
    { id: 'change' },
    CHANGES.map(([value, word]) => h('option', { value, selected: value === chosen }, word)),
  );
  const labels = labelChangeFields(labelKeys, retry?.change?.labels);
  const area = h('textarea', {
    id: 'ids',
    rows: 8,
    required: true,
    spellcheck: 'false',
    value: retry?.ids?.join('\n') ?? '',
  });
  const preview = h('div', { 'aria-live': 'polite' });
  let read = readIds(area.value);
  let isWithoutFaulty = false;

  function reread() {
    read = readIds(area.value);
    isWithoutFaulty = false;
    drawPreview();
  }

  /** @param {string} [fault] why the batch can't be sent, after the user has tried */
  function drawPreview(fault) {
    if (area.value.trim() === '' && !fault) return replace(preview);
    const { ids, faulty, repeated, column, trouble } = read;
    const wrong = trouble ?? fault;
    const many = warnOfItems(ids.length);
    replace(
      preview,
      wrong && h('p', { class: 'fault', role: 'alert' }, wrong),
      faulty.length > 0 &&
        rowFaults(faulty, ids.length, (isSkipped) => {
          isWithoutFaulty = isSkipped;
        }),
      !trouble && !fault && h('p', {}, `${counted(ids.length, 'access ID')} found.`),
      column && h('p', { class: 'fine' }, `The first line is the header; the IDs are in the column ${column}.`),
      repeated.length > 0 &&
        h(
          'p',
          { class: 'fine' },
          `${counted(repeated.length, 'line repeats', 'lines repeat')} an earlier ID, first on line ${repeated[0]}. Each ID is sent once.`,
        ),
      many && h('p', { class: 'panel notice' }, many),
    );
  }

  const readNow = onInputDebounced(area, reread);
  drawPreview();
  const element = h(
    'div',
    { class: 'fields' },
    !isEnd && [field({ label: 'Change', control: status }), labels.elements],
    field({
      label: 'Access IDs',
      control: area,
      hint: 'One ID per line, or a table with a column id or accessId, such as the CSV of a batch. A batch can only change accesses of pay-per-use contracts.',
    }),
    preview,
  );
  const request = () => {
    readNow();
    const { ids, faulty, trouble } = read;
    if (trouble || ids.length === 0) {
      drawPreview('The text has no access ID. An access ID looks like 01a1dd4d-f036-7005-9379-54b08ec1966e.');
      area.focus();
      return undefined;
    }
    if (faulty.length > 0 && !isWithoutFaulty) {
      /** @type {HTMLElement | null} */ (preview.querySelector('#without-faulty'))?.focus();
      return undefined;
    }
    const them = counted(ids.length, 'access', 'accesses');
    if (isEnd) {
      const body = { operationType: 'terminate', operationBody: {}, accessesIdList: ids };
      return { address: 'batchUpdate', body, remembered: {}, question: endQuestion(them) };
    }
    const labelChange = labels.read();
    if (!labelChange) return undefined;
    const changesLabels = Object.keys(labelChange).length > 0;
    const operationBody = {
      ...(status.value !== 'none' && { status: status.value }),
      ...(changesLabels && { labels: labelChange }),
    };
    if (Object.keys(operationBody).length === 0) {
      labels.showFault('Choose a change of the status, or labels to set or to remove.');
      status.focus();
      return undefined;
    }
    const question = changeQuestion(status.value, them);
    return {
      address: 'batchUpdate',
      body: { operationType: 'update', operationBody, accessesIdList: ids },
      remembered: {},
      question: { ...question, consequence: [...question.consequence, ...inWords(labelChange)] },
    };
  };
  return { element, request };
}

/** @param {string} them */
const endQuestion = (them) => ({
  title: `Terminate ${them} at the end of the month?`,
  consequence: [
    'Their devices may connect until the first instant of the next month in the tenant’s time zone. Until then, activating an access cancels its end.',
  ],
  yes: `Terminate ${them}`,
  isIrreversible: true,
});

/** Sentences about a change of labels. @param {Record<string, string | null>} change */
function inWords(change) {
  const all = Object.entries(change);
  const set = all.filter(([, value]) => value !== null).map(([key, value]) => `${key}: ${value}`);
  const removed = all.filter(([, value]) => value === null).map(([key]) => key);
  return [
    ...(set.length > 0 ? [`Labels to set: ${set.join(', ')}.`] : []),
    ...(removed.length > 0 ? [`Labels to remove: ${removed.join(', ')}.`] : []),
  ];
}

/** @param {string} status @param {string} them */
function changeQuestion(status, them) {
  if (status === 'none') {
    return {
      title: `Change the labels of ${them}?`,
      consequence: ['The accesses’ other labels stay as they are.'],
      yes: `Change ${them}`,
    };
  }
  if (status === 'TERMINATED') {
    return {
      title: `Terminate ${them}?`,
      consequence: [
        'From the next check on, their devices can never connect again. This can’t be undone. Other accesses may then use their usernames.',
      ],
      yes: `Terminate ${them} permanently`,
      isIrreversible: true,
    };
  }
  if (status === 'SUSPENDED') {
    return {
      title: `Suspend ${them}?`,
      consequence: [
        'Once the batch has processed an access, its device can’t connect. The accesses can be activated again.',
      ],
      yes: `Suspend ${them}`,
    };
  }
  return {
    title: `Activate ${them}?`,
    consequence: ['Once the batch has processed an access, its device may connect again. Planned ends are cancelled.'],
    yes: `Activate ${them}`,
  };
}
