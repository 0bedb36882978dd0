// Which accesses a batch changes or ends, and how; with what is wrong with their IDs before anything is sent.

import { h, replace } from '../element.js';
import { field } from '../part/form.js';
import { counted } from '../part/number.js';
import { readIds } from './access_ids.js';
import { readAsTyped } from './debounced_input.js';
import { warnOfItems } from './limits.js';
import { rowFaults } from './row_faults.js';

const CHANGES = /** @type {[string, string][]} */ ([
  ['SUSPENDED', 'Suspend'],
  ['ACTIVE', 'Activate'],
  ['TERMINATED', 'Terminate, for good'],
]);

/**
 * @param {string} kind
 * @param {import('./retry.js').Retry | undefined} retry
 * @returns {import('../view/new_batch.js').Form}
 */
export function changeForm(kind, retry) {
  const isEnd = kind === 'end';
  // What somebody else has asked for isn't guessed: it might be the opposite.
  const chosen = retry ? CHANGES.find(([it]) => it === retry.note.status)?.[0] : 'SUSPENDED';
  const status = h(
    'select',
    { id: 'change', required: true },
    chosen === undefined && h('option', { value: '', selected: true }, 'Choose what is to be done'),
    CHANGES.map(([value, word]) => h('option', { value, selected: value === chosen }, word)),
  );
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

  /** @param {string} [fault] why it can't be sent, once somebody has tried */
  function drawPreview(fault) {
    if (area.value.trim() === '' && !fault) return replace(preview);
    const { ids, faulty, repeated, column, trouble } = read;
    const wrong = trouble ?? fault;
    const many = warnOfItems(ids.length);
    replace(
      preview,
      wrong && h('p', { class: 'fault', role: 'alert' }, wrong),
      faulty.length > 0 &&
        rowFaults(faulty, ids.length, (isLeftOut) => {
          isWithoutFaulty = isLeftOut;
        }),
      !trouble && !fault && h('p', {}, `${counted(ids.length, 'access ID is', 'access IDs are')} in it.`),
      column &&
        h('p', { class: 'fine' }, `Its first line is the heading, and the IDs are those of the column ${column}.`),
      repeated.length > 0 &&
        h(
          'p',
          { class: 'fine' },
          `${counted(repeated.length, 'line repeats an ID that stands', 'lines repeat IDs that stand')} above, first on line ${repeated[0]}. Each ID is sent once.`,
        ),
      many && h('p', { class: 'panel notice' }, many),
    );
  }

  const readNow = readAsTyped(area, reread);
  drawPreview();
  const element = h(
    'div',
    { class: 'fields' },
    !isEnd && field({ label: 'Change', control: status }),
    field({
      label: 'IDs of accesses',
      control: area,
      hint: 'One a line, or a table with a column id or accessId, such as a batch’s CSV. Only accesses of pay-per-use contracts can be changed by a batch.',
    }),
    preview,
  );
  const ready = () => {
    readNow();
    const { ids, faulty, trouble } = read;
    if (trouble || ids.length === 0) {
      drawPreview('There is no access ID in it. One looks like 01a1dd4d-f036-7005-9379-54b08ec1966e.');
      area.focus();
      return undefined;
    }
    if (faulty.length > 0 && !isWithoutFaulty) {
      /** @type {HTMLElement | null} */ (preview.querySelector('#without-faulty'))?.focus();
      return undefined;
    }
    const them = counted(ids.length, 'access', 'accesses');
    const operation = isEnd
      ? { operationType: 'terminate', operationBody: {} }
      : { operationType: 'update', operationBody: { status: status.value } };
    return {
      address: 'batchUpdate',
      body: { ...operation, accessesIdList: ids },
      note: isEnd ? {} : { status: status.value },
      question: isEnd ? endQuestion(them) : changeQuestion(status.value, them),
    };
  };
  return { element, ready };
}

/** @param {string} them */
const endQuestion = (them) => ({
  title: `End ${them} with the month?`,
  consequence: [
    'Their devices may connect until the first instant of the next month in the tenant’s time zone. Until then, activating an access calls its end off.',
  ],
  yes: `End ${them}`,
  isIrreversible: true,
});

/** @param {string} status @param {string} them */
function changeQuestion(status, them) {
  if (status === 'TERMINATED') {
    return {
      title: `Terminate ${them}?`,
      consequence: [
        'From the next check on, their devices can never connect again. This can’t be undone. Their usernames may be given to other accesses.',
      ],
      yes: `Terminate ${them} for good`,
      isIrreversible: true,
    };
  }
  if (status === 'SUSPENDED') {
    return {
      title: `Suspend ${them}?`,
      consequence: ['As the batch comes to them, their devices can’t connect any more. They can be activated again.'],
      yes: `Suspend ${them}`,
    };
  }
  return {
    title: `Activate ${them}?`,
    consequence: [
      'As the batch comes to them, their devices may connect again. Ends that were planned are called off.',
    ],
    yes: `Activate ${them}`,
  };
}
