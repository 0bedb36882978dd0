// Which accesses a batch creates: so many, those of a pasted list, or those of a file; with what is wrong with them before
// anything is sent.

import { h, replace } from '../element.js';
import { contractChoice } from '../part/contract_choice.js';
import { choices, field } from '../part/form.js';
import { count, counted } from '../part/number.js';
import { table } from '../part/table.js';
import { readFileRows, readPasted, refuse } from './access_rows.js';
import { readAsTyped } from './debounced_input.js';
import { decode, FILE_BYTES_MAX } from './file_text.js';
import { warnOfItems } from './limits.js';
import { markRefused } from './retry_table.js';
import { rowFaults } from './row_faults.js';

/** So many rows are shown. */
const SHOWN_MAX = 8;

const WAYS = /** @type {[string, string][]} */ ([
  ['number', 'So many, all generated'],
  ['list', 'A pasted list'],
  ['file', 'A CSV file'],
]);

/**
 * @param {import('../api/contract.js').Contract[]} contracts
 * @param {{retry?: import('./retry.js').Retry, contract?: string}} given
 * @returns {import('../view/new_batch.js').Form}
 */
export function creationForm(contracts, { retry, contract }) {
  const choice = contractChoice(contracts, retry?.note.contractId ?? contract);
  const number = h('input', {
    id: 'number',
    type: 'number',
    min: 1,
    step: 1,
    required: true,
    value: retry?.number ?? 100,
  });
  const list = h('textarea', { id: 'list', rows: 8, spellcheck: 'false', value: retry?.table ?? '' });
  const each = h(
    'select',
    { id: 'each' },
    h('option', { value: 'deviceName' }, 'a device’s name'),
    h('option', { value: 'username' }, 'a username'),
  );
  const file = h('input', { id: 'file', type: 'file', accept: '.csv,.tsv,.txt,text/csv' });
  const preview = h('div', { 'aria-live': 'polite' });
  const place = h('div', { class: 'fields' });
  let way = retry?.table === undefined ? 'number' : 'list';
  /** @type {import('./access_rows.js').Read | undefined} */
  let read;
  let isWithoutFaulty = false;
  let firstLine = '';
  /** @type {boolean | undefined} what somebody has said of that line of the list */
  let hasHeading;
  /** @type {Promise<void>} until the file that was chosen last is read */
  let reading = Promise.resolve();

  const rereadList = () => {
    // It may have waited until another way was chosen; whoever comes back to the list has it read again.
    if (way !== 'list') return;
    const [first] = list.value.trimStart().split('\n', 1);
    if (first !== firstLine) [firstLine, hasHeading] = [first, undefined];
    const kind = /** @type {'deviceName' | 'username'} */ (each.value);
    read = list.value.trim() === '' ? undefined : readPasted(list.value, kind, hasHeading);
    if (read && retry?.refused) markRefused(read.rows, retry.refused);
    drawPreview();
  };
  const readListNow = readAsTyped(list, rereadList);
  each.addEventListener('change', rereadList);

  async function rereadFile() {
    const chosen = file.files?.[0];
    read = undefined;
    replace(preview);
    const found = await readFile(chosen);
    // Somebody may have chosen another one in the meantime, or another way.
    if (way !== 'file' || file.files?.[0] !== chosen) return;
    read = found;
    drawPreview();
  }
  const startReading = () => {
    reading = rereadFile();
  };
  file.addEventListener('change', startReading);

  const warning = h('p', { class: 'panel notice', 'aria-live': 'polite', hidden: true });
  const warnOfNumber = () => {
    const words = warnOfItems(Number(number.value));
    warning.textContent = words ?? '';
    warning.hidden = !words;
  };
  number.addEventListener('input', warnOfNumber);
  warnOfNumber();

  function drawPreview() {
    isWithoutFaulty = false;
    if (!read) return replace(preview);
    const { rows, unused, nEmpty, heading, trouble } = read;
    const faulty = rows.filter((it) => it.faults.length > 0);
    const many = warnOfItems(rows.length);
    const headingWords = heading && headingNote(heading);
    if (trouble) return replace(preview, headingWords, fault(trouble));
    if (rows.length === 0) return replace(preview, headingWords, fault('There is no row in it.'));
    replace(
      preview,
      headingWords,
      faulty.length > 0 &&
        rowFaults(faulty, rows.length - faulty.length, (isLeftOut) => {
          isWithoutFaulty = isLeftOut;
        }),
      unused.length > 0 && h('p', { class: 'fine' }, `These columns are not used: ${unused.join(', ')}.`),
      nEmpty > 0 &&
        h(
          'p',
          { class: 'fine' },
          `${counted(nEmpty, 'row of empty cells is', 'rows of empty cells are')} left out. A cell of “""” makes an access of which everything is generated.`,
        ),
      many && h('p', { class: 'panel notice' }, many),
      h(
        'h3',
        {},
        faulty.length > 0
          ? `${counted(rows.length, 'row')}, of which ${count(rows.length - faulty.length)} can be sent`
          : counted(rows.length, 'access', 'accesses'),
        rows.length > SHOWN_MAX && `, the first ${SHOWN_MAX}`,
      ),
      table({
        caption: 'What would be created',
        isCompact: true,
        columns: [
          { name: 'Line', kind: 'number', cell: (it) => count(it.line) },
          { name: 'Username', cell: (it) => given(it.item.username) ?? generated() },
          { name: 'Password', cell: (it) => (it.item.password === undefined ? generated() : 'given') },
          { name: 'Device’s name', cell: (it) => given(it.item.deviceName) ?? h('span', { class: 'none' }, 'none') },
        ],
        rows: rows.slice(0, SHOWN_MAX),
      }),
    );
  }

  /**
   * A first line that is taken for what it isn't would be lost, or become an access.
   * @param {{line: number, isTaken: boolean}} heading
   */
  function headingNote({ line, isTaken }) {
    const words = isTaken ? `Line ${line} is taken for a heading.` : `Line ${line} is taken for data.`;
    if (way === 'file') return h('p', { class: 'fine' }, words);
    return h(
      'div',
      {},
      h('p', { class: 'fine' }, words, !isTaken && ' It has the name of a column in it.'),
      h(
        'p',
        {},
        h(
          'label',
          { class: 'choices' },
          h('input', {
            type: 'checkbox',
            id: 'heading',
            checked: isTaken,
            onchange: (/** @type {Event} */ event) => {
              hasHeading = /** @type {HTMLInputElement} */ (event.target).checked;
              rereadList();
            },
          }),
          `Line ${line} names the columns`,
        ),
      ),
    );
  }

  /** @param {string} chosen */
  function choose(chosen) {
    way = chosen;
    read = undefined;
    const ways = {
      number: () => [
        field({ label: 'How many', control: number, hint: 'Usernames, passwords and names of devices are generated.' }),
        warning,
      ],
      list: () => [
        field({
          label: 'The list',
          control: list,
          hint: 'One a line. If its first line names columns (username, password, deviceName), it is read as a table.',
        }),
        field({ label: 'Without a heading, each line is', control: each }),
        preview,
      ],
      file: () => [
        field({
          label: 'The file',
          control: file,
          hint: 'Its first line names its columns: username, password, deviceName, any of them. Commas, semicolons or tabs. A username or password that is left empty is generated.',
        }),
        preview,
      ],
    };
    replace(place, ways[/** @type {keyof typeof ways} */ (way)]());
    if (way === 'list') rereadList();
    else if (way === 'file' && file.files?.length) startReading();
    else replace(preview);
  }

  choose(way);
  const element = h(
    'div',
    { class: 'fields' },
    field({ label: 'Contract', control: choice }),
    choices({ name: 'way', legend: 'Which', choices: WAYS, chosen: way, choose }),
    place,
  );

  const ready = async () => {
    const contractId = choice.value;
    const batch = (/** @type {object} */ which) => ({
      address: 'batch',
      body: { contractId, ...which },
      note: { contractId },
    });
    if (way === 'number') return batch({ numberOfAccesses: Number(number.value) });
    if (way === 'list') readListNow();
    else await reading;
    if (!read || read.trouble || read.rows.length === 0) {
      if (!read) replace(preview, fault(way === 'list' ? 'Paste a list first.' : 'Choose a file first.'));
      (way === 'list' ? list : file).focus();
      return undefined;
    }
    const good = read.rows.filter((it) => it.faults.length === 0);
    if (good.length < read.rows.length && !isWithoutFaulty) {
      const tick = /** @type {HTMLElement | null} */ (preview.querySelector('#without-faulty'));
      (tick ?? (way === 'list' ? list : file)).focus();
      return undefined;
    }
    return batch({ accesses: good.map((it) => it.item) });
  };
  return { element, ready };
}

/** @param {File | undefined} file @returns {Promise<import('./access_rows.js').Read | undefined>} */
async function readFile(file) {
  if (!file) return undefined;
  if (file.size > FILE_BYTES_MAX)
    return refuse(`${file.name} has more than 32 MiB, and this page reads no more. Send it in several parts.`);
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (!bytes) return refuse(`${file.name} can’t be read. Perhaps it was moved or changed: choose it again.`);
  const decoded = decode(file.name, bytes);
  return 'text' in decoded ? readFileRows(decoded.text) : refuse(decoded.trouble);
}

/** @param {string | undefined} name */
const given = (name) => (name === undefined ? undefined : h('code', {}, name));

const generated = () => h('span', { class: 'none' }, 'generated');

/** @param {string} text */
const fault = (text) => h('p', { class: 'fault', role: 'alert' }, text);
