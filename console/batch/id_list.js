// The accesses of a batch by their IDs: a list to paste. Faulty IDs are shown before anything is sent.

import { h, replace } from '../element.js';
import { field } from '../part/form.js';
import { counted } from '../part/number.js';
import { readIds } from './access_ids.js';
import { onInputDebounced } from './debounced_input.js';
import { warnOfItems } from './limits.js';
import { rowFaults } from './row_faults.js';

/**
 * @param {string[]} [ids] the initial list
 * @returns {import('./selection.js').Selection}
 */
export function idList(ids = []) {
  const area = h('textarea', {
    id: 'ids',
    rows: 8,
    required: true,
    spellcheck: 'false',
    value: ids.join('\n'),
  });
  const preview = h('div', { 'aria-live': 'polite' });
  let found = readIds(area.value);
  let isWithoutFaulty = false;

  function reread() {
    found = readIds(area.value);
    isWithoutFaulty = false;
    drawPreview();
  }

  /** @param {string} [fault] why the batch can't be sent, after the user has tried */
  function drawPreview(fault) {
    if (area.value.trim() === '' && !fault) return replace(preview);
    const { ids, faulty, repeated, column, trouble } = found;
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
  const hint =
    'One ID per line, or a table with a column id or accessId, such as the CSV of a batch. A batch can only change accesses of pay-per-use contracts.';
  const element = h('div', { class: 'fields' }, field({ label: 'Access IDs', control: area, hint }), preview);

  function read() {
    readNow();
    const { ids, faulty, trouble } = found;
    if (trouble || ids.length === 0) {
      drawPreview('The text has no access ID. An access ID looks like 01a1dd4d-f036-7005-9379-54b08ec1966e.');
      area.focus();
      return undefined;
    }
    if (faulty.length > 0 && !isWithoutFaulty) {
      /** @type {HTMLElement | null} */ (preview.querySelector('#without-faulty'))?.focus();
      return undefined;
    }
    return { fields: { accessesIdList: ids }, them: counted(ids.length, 'access', 'accesses') };
  }

  return { element, read };
}
