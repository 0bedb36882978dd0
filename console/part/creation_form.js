// Which accesses a batch creates: so many, those of a pasted list, or those of a file; with what is wrong with them before
// anything is sent.

import { h, replace } from '../element.js';
import { readPasted, readTable } from '../rows.js';
import { contractChoice } from './contract_choice.js';
import { choices, field } from './form.js';
import { count, counted } from './number.js';
import { table } from './table.js';

/** So many rows are shown, and so many faults. */
const SHOWN_MAX = 8;
const FAULTS_MAX = 50;

/** A file that is larger is no list of accesses. */
const FILE_MAX = 64 * 1024 * 1024;

const WAYS = /** @type {[string, string][]} */ ([
  ['number', 'So many, all generated'],
  ['list', 'A pasted list'],
  ['file', 'A CSV file'],
]);

/**
 * @param {import('../contract.js').Contract[]} contracts
 * @param {{retry?: import('../retry.js').Retry, contract?: string}} given
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
  /** @type {import('../rows.js').Read | undefined} */
  let read;
  let isWithoutFaulty = false;

  const rereadList = () => {
    read =
      list.value.trim() === ''
        ? undefined
        : readPasted(list.value, /** @type {'deviceName' | 'username'} */ (each.value));
    drawPreview();
  };
  list.addEventListener('input', rereadList);
  each.addEventListener('change', rereadList);
  file.addEventListener('change', async () => {
    read = await readFile(file.files?.[0]);
    drawPreview();
  });

  function drawPreview() {
    isWithoutFaulty = false;
    if (!read) return replace(preview);
    const { rows, unused, trouble } = read;
    const faulty = rows.filter((it) => it.faults.length > 0);
    if (trouble) return replace(preview, fault(trouble));
    if (rows.length === 0) return replace(preview, fault('There is no row in it.'));
    replace(
      preview,
      faulty.length > 0 && faultPanel(faulty, rows.length),
      unused.length > 0 && h('p', { class: 'fine' }, `These columns are not used: ${unused.join(', ')}.`),
      h(
        'h3',
        {},
        `${counted(rows.length, 'access', 'accesses')}${rows.length > SHOWN_MAX ? `, the first ${SHOWN_MAX}` : ''}`,
      ),
      table({
        caption: 'What would be created',
        isCompact: true,
        columns: [
          { name: 'Line', kind: 'number', cell: (it) => count(it.line) },
          { name: 'Username', cell: (it) => it.item.username ?? generated() },
          { name: 'Password', cell: (it) => (it.item.password === undefined ? generated() : 'given') },
          { name: 'Device’s name', cell: (it) => it.item.deviceName ?? h('span', { class: 'none' }, 'none') },
        ],
        rows: rows.slice(0, SHOWN_MAX),
      }),
    );
  }

  /** @param {import('../rows.js').Row[]} faulty @param {number} total */
  function faultPanel(faulty, total) {
    const left = total - faulty.length;
    return h(
      'div',
      { class: 'panel problem', role: 'alert' },
      h('h3', {}, `${counted(faulty.length, 'row can’t be sent', 'rows can’t be sent')}`),
      h(
        'ul',
        { class: 'list' },
        faulty.slice(0, FAULTS_MAX).map(({ line, faults }) => h('li', {}, `Line ${line}: ${faults.join('; ')}.`)),
      ),
      faulty.length > FAULTS_MAX && h('p', {}, `And ${count(faulty.length - FAULTS_MAX)} more.`),
      left > 0 &&
        h(
          'label',
          { class: 'choices' },
          h('input', {
            type: 'checkbox',
            id: 'without-faulty',
            onchange: (/** @type {Event} */ event) => {
              isWithoutFaulty = /** @type {HTMLInputElement} */ (event.target).checked;
            },
          }),
          `Leave them out, and send the other ${left === 1 ? 'one' : count(left)}`,
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
          hint: 'Its first line names its columns: username, password, deviceName, any of them. Commas, semicolons or tabs. What is left empty is generated.',
        }),
        preview,
      ],
    };
    replace(place, ways[/** @type {keyof typeof ways} */ (way)]());
    if (way === 'list') rereadList();
    else if (way === 'file' && file.files?.length) file.dispatchEvent(new Event('change'));
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

  const ready = () => {
    const contractId = choice.value;
    const batch = (/** @type {object} */ which) => ({
      address: 'batch',
      body: { contractId, ...which },
      note: { contractId },
    });
    if (way === 'number') return batch({ numberOfAccesses: Number(number.value) });
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

/** @param {File | undefined} file @returns {Promise<import('../rows.js').Read | undefined>} */
async function readFile(file) {
  if (!file) return undefined;
  const refuse = (/** @type {string} */ trouble) => ({ rows: [], unused: [], trouble });
  if (file.size > FILE_MAX) return refuse(`${file.name} has more than 64 MiB, which is no list of accesses.`);
  try {
    return readTable(new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()));
  } catch {
    return refuse(`${file.name} is no text in UTF-8. Save it as “CSV UTF-8”.`);
  }
}

const generated = () => h('span', { class: 'none' }, 'generated');

/** @param {string} text */
const fault = (text) => h('p', { class: 'fault', role: 'alert' }, text);
