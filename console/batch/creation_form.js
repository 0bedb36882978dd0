// The form of a batch that creates accesses: a number of them, a pasted list, or a file. Faulty rows are shown before anything is
// sent.

import { h, replace } from '../element.js';
import { labelRows } from '../label/rows.js';
import { contractChoice } from '../part/contract_choice.js';
import { checkbox, choices, field } from '../part/form.js';
import { count, counted } from '../part/number.js';
import { table } from '../part/table.js';
import { readFileRows, readPasted, refuse } from './access_rows.js';
import { onInputDebounced } from './debounced_input.js';
import { decode, FILE_BYTES_MAX } from './file_text.js';
import { warnOfItems } from './limits.js';
import { markRefused } from './retry_table.js';
import { rowFaults } from './row_faults.js';

/** The number of rows in the preview. */
const SHOWN_MAX = 8;

const SOURCES = /** @type {[string, string][]} */ ([
  ['number', 'A number, all generated'],
  ['list', 'A pasted list'],
  ['file', 'A CSV file'],
]);

/**
 * @param {import('../api/contract.js').Contract[]} contracts
 * @param {{retry?: import('./retry.js').Retry, contract?: string, labelKeys?: string[]}} given
 * @returns {import('./request.js').BatchForm}
 */
export function creationForm(contracts, { retry, contract, labelKeys }) {
  const choice = contractChoice(contracts, retry?.remembered.contractId ?? contract);
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
    h('option', { value: 'deviceName' }, 'a device name'),
    h('option', { value: 'username' }, 'a username'),
  );
  const file = h('input', { id: 'file', type: 'file', accept: '.csv,.tsv,.txt,text/csv' });
  const labelsOfAll = labelRows({
    legend: 'Labels (optional)',
    hint: 'Every access of the batch gets these labels.',
    labels: retry?.remembered.labels,
    keys: labelKeys,
  });
  const preview = h('div', { 'aria-live': 'polite' });
  const place = h('div', { class: 'fields' });
  let source = retry?.table === undefined ? 'number' : 'list';
  /** @type {import('./access_rows.js').Read | undefined} */
  let read;
  let isWithoutFaulty = false;
  let firstLine = '';
  /** @type {boolean | undefined} the user's choice whether that line is the header */
  let hasHeader;
  /** @type {Promise<void>} resolves when the chosen file is read */
  let reading = Promise.resolve();

  const rereadList = () => {
    // A debounced read may come after the user has chosen another source; choosing the list again reads it again.
    if (source !== 'list') return;
    const [first] = list.value.trimStart().split('\n', 1);
    if (first !== firstLine) [firstLine, hasHeader] = [first, undefined];
    const kind = /** @type {'deviceName' | 'username'} */ (each.value);
    read = list.value.trim() === '' ? undefined : readPasted(list.value, kind, hasHeader);
    if (read && retry?.refused) markRefused(read.rows, retry.refused);
    drawPreview();
  };
  const readListNow = onInputDebounced(list, rereadList);
  each.addEventListener('change', rereadList);

  async function rereadFile() {
    const chosen = file.files?.[0];
    read = undefined;
    replace(preview);
    const found = await readFile(chosen);
    // The user may have chosen another file or source in the meantime.
    if (source !== 'file' || file.files?.[0] !== chosen) return;
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
    const { rows, unused, nEmpty, header, trouble } = read;
    const faulty = rows.filter((it) => it.faults.length > 0);
    const many = warnOfItems(rows.length);
    const headerWords = header && headerNote(header);
    if (trouble) return replace(preview, headerWords, fault(trouble));
    if (rows.length === 0) return replace(preview, headerWords, fault('There are no rows.'));
    replace(
      preview,
      headerWords,
      faulty.length > 0 &&
        rowFaults(faulty, rows.length - faulty.length, (isSkipped) => {
          isWithoutFaulty = isSkipped;
        }),
      unused.length > 0 && h('p', { class: 'fine' }, `These columns are not used: ${unused.join(', ')}.`),
      nEmpty > 0 &&
        h(
          'p',
          { class: 'fine' },
          `${counted(nEmpty, 'empty row is', 'empty rows are')} skipped. A row with a cell “""” creates an access with generated credentials.`,
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
        caption: 'Preview of the accesses',
        isCompact: true,
        columns: [
          { name: 'Line', kind: 'number', cell: (it) => count(it.line) },
          { name: 'Username', cell: (it) => given(it.item.username) ?? generated() },
          { name: 'Password', cell: (it) => (it.item.password === undefined ? generated() : 'given') },
          { name: 'Device name', cell: (it) => given(it.item.deviceName) ?? h('span', { class: 'none' }, 'none') },
          ...(rows.some((it) => it.item.labels) ? [labelColumn] : []),
        ],
        rows: rows.slice(0, SHOWN_MAX),
      }),
    );
  }

  /**
   * Says how the first line is read, so that the user can correct it: as the header or as data.
   * @param {{line: number, isUsed: boolean}} header
   */
  function headerNote({ line, isUsed }) {
    const words = `Line ${line} is read as ${isUsed ? 'the header' : 'data'}.`;
    if (source === 'file') return h('p', { class: 'fine' }, words);
    const change = (/** @type {boolean} */ isChecked) => {
      hasHeader = isChecked;
      rereadList();
    };
    return h(
      'div',
      {},
      h('p', { class: 'fine' }, words, !isUsed && ' It contains the name of a column.'),
      h('p', {}, checkbox({ id: 'header', label: `Line ${line} names the columns`, isChecked: isUsed, change })),
    );
  }

  /** @param {string} chosen */
  function choose(chosen) {
    source = chosen;
    read = undefined;
    const sources = {
      number: () => [
        field({
          label: 'How many',
          control: number,
          hint: 'The server generates the usernames, passwords and device names.',
        }),
        warning,
      ],
      list: () => [
        field({
          label: 'The list',
          control: list,
          hint: 'One access per line. If the first line names columns (username, password, deviceName, label.KEY), the text is read as a table.',
        }),
        field({ label: 'Without a header, each line is', control: each }),
        preview,
      ],
      file: () => [
        field({
          label: 'The file',
          control: file,
          hint: 'The first line names the columns: username, password, deviceName and label.KEY, any of them. Commas, semicolons or tabs separate the cells. The server generates usernames and passwords that are empty.',
        }),
        preview,
      ],
    };
    replace(place, sources[/** @type {keyof typeof sources} */ (source)]());
    if (source === 'list') rereadList();
    else if (source === 'file' && file.files?.length) startReading();
    else replace(preview);
  }

  choose(source);
  const element = h(
    'div',
    { class: 'fields' },
    field({ label: 'Contract', control: choice }),
    choices({ name: 'source', legend: 'Accesses', choices: SOURCES, chosen: source, choose }),
    place,
    labelsOfAll.element,
  );

  const request = async () => {
    const contractId = choice.value;
    const labels = labelsOfAll.read();
    if (!labels) return undefined;
    const labelled = Object.keys(labels).length > 0 ? { labels } : {};
    const batch = (/** @type {object} */ which) => ({
      address: 'batch',
      body: { contractId, ...which },
      remembered: { contractId, ...labelled },
    });
    if (source === 'number') return batch({ numberOfAccesses: Number(number.value), ...labelled });
    if (source === 'list') readListNow();
    else await reading;
    if (!read || read.trouble || read.rows.length === 0) {
      if (!read) replace(preview, fault(source === 'list' ? 'Paste a list first.' : 'Choose a file first.'));
      (source === 'list' ? list : file).focus();
      return undefined;
    }
    const good = read.rows.filter((it) => it.faults.length === 0);
    if (good.length < read.rows.length && !isWithoutFaulty) {
      const tick = /** @type {HTMLElement | null} */ (preview.querySelector('#without-faulty'));
      (tick ?? (source === 'list' ? list : file)).focus();
      return undefined;
    }
    return batch({ accesses: good.map((it) => ({ ...it.item, ...labelled })) });
  };
  return { element, request };
}

/** @param {File | undefined} file @returns {Promise<import('./access_rows.js').Read | undefined>} */
async function readFile(file) {
  if (!file) return undefined;
  if (file.size > FILE_BYTES_MAX)
    return refuse(`${file.name} is larger than 32 MiB, the limit of this page. Split it into several files.`);
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (!bytes) return refuse(`${file.name} can’t be read. It may have been moved or changed: choose it again.`);
  const decoded = decode(file.name, bytes);
  return 'text' in decoded ? readFileRows(decoded.text) : refuse(decoded.trouble);
}

/** @param {string | undefined} name */
const given = (name) => (name === undefined ? undefined : h('code', {}, name));

/** @type {{name: string, cell: (row: import('./access_rows.js').Row) => string}} */
const labelColumn = {
  name: 'Labels',
  cell: (it) =>
    Object.entries(it.item.labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(', '),
};

const generated = () => h('span', { class: 'none' }, 'generated');

/** @param {string} text */
const fault = (text) => h('p', { class: 'fault', role: 'alert' }, text);
