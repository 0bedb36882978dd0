// Reading the accesses of a creation from a table, or from a list with one access per line. Faults are found before anything is
// sent, by the rules of the command line.

import { keyFault, LABELS_MAX, valueFault } from '../label/rules.js';
import { readTable, withoutByteOrderMark } from './csv_reader.js';

/** @typedef {{username?: string, password?: string, deviceName?: string, labels?: Record<string, string>}} Item */
/** @typedef {'username' | 'password' | 'deviceName' | `label.${string}`} Column a field of an access, or a label */
/** @typedef {{line: number, item: Item, faults: string[]}} Row */

/**
 * The result of reading a table.
 * @typedef {object} Read
 * @property {Row[]} rows
 * @property {string[]} unused names of unknown columns
 * @property {number} nEmpty number of skipped rows that have only separators
 * @property {{line: number, isUsed: boolean}} [header] the line that names columns, or may do so; and whether it was read as the header
 * @property {string} [trouble] why the table can't be read
 */

/** Columns by their header, in lower case and without spaces, `_` and `-`. @type {Map<string, Column>} */
const COLUMNS = new Map([
  ['username', 'username'],
  ['user', 'username'],
  ['password', 'password'],
  ['devicename', 'deviceName'],
  ['device', 'deviceName'],
]);

/** The beginning of the name of a label's column. */
const LABEL = 'label.';

/** The guard that gatehouse's tables put before a device name that a spreadsheet would run as a formula. */
const GUARDED = /^'[=+\-@\t\r\n]/;

/**
 * Reads a pasted text: a table if it has a header, otherwise a list with one value per line.
 * @param {string} text
 * @param {'deviceName' | 'username'} each the meaning of a line without a header
 * @param {boolean} [hasHeader] the user's choice whether the first line is the header
 * @returns {Read}
 */
export function readPasted(text, each, hasHeader) {
  const found = readTable(text);
  const [head] = found.rows;
  const columns = head ? columnsOf(head.cells) : [];
  const mayBeHeader = columns.some(Boolean);
  if (mayBeHeader && (hasHeader ?? isHeader(columns))) return readTableRows(found, columns);
  const rows = withoutByteOrderMark(text)
    .split(/\r\n|\r|\n/)
    .map((it, n) => ({ line: n + 1, value: it.trim() }))
    .filter(({ value }) => value !== '')
    .map(({ line, value }) => ({ line, item: { [each]: value }, faults: [] }));
  const header = mayBeHeader ? { line: head.line, isUsed: false } : undefined;
  return { rows: withFaults(rows), unused: [], nEmpty: 0, header };
}

/**
 * Reads a file whose first line names the columns.
 * @param {string} text
 * @returns {Read}
 */
export function readFileRows(text) {
  const found = readTable(text);
  const [head] = found.rows;
  if (!head) return refuse(found.trouble ?? 'The file is empty.');
  const columns = columnsOf(head.cells);
  if (isHeader(columns)) return readTableRows(found, columns);
  const unknown = head.cells.find((_, n) => !columns[n]) ?? '';
  return refuse(
    `The first line must name the columns: username, password, deviceName and label.KEY, any of them, in any order. “${unknown.slice(0, 64)}” is not one of them.`,
  );
}

/** @param {string} trouble @returns {Read} */
export const refuse = (trouble) => ({ rows: [], unused: [], nEmpty: 0, trouble });

/**
 * The column that each cell of a header names.
 * @param {string[]} cells
 * @returns {(Column | undefined)[]}
 */
function columnsOf(cells) {
  const plain = cells.map((it) => it.trim().toLowerCase().replace(/[ _-]/g, ''));
  const columns = cells.map((cell, n) => labelColumn(cell.trim()) ?? COLUMNS.get(plain[n]));
  // gatehouse's tables have both columns; other tables call the device name `name`.
  const name = plain.indexOf('name');
  if (name >= 0 && !columns.includes('deviceName')) columns[name] = 'deviceName';
  return columns;
}

/** @param {string} name @returns {Column | undefined} */
function labelColumn(name) {
  const isLabel = name.startsWith(LABEL) && keyFault(name.slice(LABEL.length)) === undefined;
  return isLabel ? /** @type {Column} */ (name) : undefined;
}

/**
 * Whether a line is certainly a header. One known name among unknown ones is not enough: a line of data would be lost.
 * @param {(Column | undefined)[]} columns
 */
function isHeader(columns) {
  const nKnown = columns.filter(Boolean).length;
  return nKnown === columns.length || nKnown > 1;
}

/**
 * Reads the rows below a header.
 * @param {import('./csv_reader.js').Table} table
 * @param {(Column | undefined)[]} columns
 * @returns {Read}
 */
function readTableRows({ rows: [head, ...rows], trouble }, columns) {
  const header = { line: head.line, isUsed: true };
  const twice = columns.find((it, n) => it && columns.indexOf(it) < n);
  const why = trouble ?? (twice && `The column ${twice} occurs twice.`);
  if (why) return { ...refuse(why), header };
  // A row may end after the last known column.
  const nNeeded = columns.findLastIndex(Boolean) + 1;
  const read = rows
    .filter((it) => !it.isEmpty)
    .map(({ line, cells, faults }) => {
      /** @type {Item} */
      const item = {};
      for (const [n, cell] of cells.entries()) {
        const name = columns[n];
        if (name === undefined || cell === '') continue;
        if (isOfLabel(name)) item.labels = { ...item.labels, [name.slice(LABEL.length)]: cell };
        else item[name] = cell;
      }
      const n = cells.length;
      const hasWrongWidth = n < nNeeded || n > columns.length;
      const cellFault = `has ${n} ${n === 1 ? 'cell' : 'cells'}, where the table has ${columns.length} columns`;
      return { line, item, faults: hasWrongWidth ? [...faults, cellFault] : faults };
    });
  const unused = head.cells.filter((_, n) => !columns[n]).map((it) => it.trim());
  return { rows: withFaults(read), unused, nEmpty: rows.length - read.length, header };
}

/** @param {Column} name @returns {name is `label.${string}`} */
const isOfLabel = (name) => name.startsWith(LABEL);

/**
 * Adds the faults of each row: values that no access can have, or that are hardly intended. Faults never quote a password.
 * @param {Row[]} rows
 */
function withFaults(rows) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (const { line, item, faults } of rows) {
    const { username, password, deviceName } = item;
    for (const [name, value] of Object.entries({ username, deviceName })) {
      if (value === undefined) continue;
      if (value.trim() !== value) faults.push(`${name} “${value.slice(0, 64)}” begins or ends with a space`);
      if ([...value].length > 128) faults.push(`${name} has more than 128 characters`);
    }
    if (deviceName !== undefined && GUARDED.test(deviceName))
      faults.push(
        "deviceName begins with a “'” before a sign such as “=”. gatehouse’s tables have it to protect spreadsheets: it is not part of the value, so remove it",
      );
    if (username !== undefined) {
      if (/\p{Cc}/u.test(username)) faults.push('username has a control character');
      const before = seen.get(username);
      if (before !== undefined) faults.push(`username ${username} is already on line ${before}`);
      else seen.set(username, line);
    }
    if (password !== undefined && new TextEncoder().encode(password).length > 72)
      faults.push('password has more than 72 bytes');
    const labels = Object.entries(item.labels ?? {});
    for (const [key, value] of labels) {
      const fault = valueFault(value);
      if (fault) faults.push(`${LABEL}${key}: ${fault}`);
    }
    if (labels.length > LABELS_MAX) faults.push(`has ${labels.length} labels, more than ${LABELS_MAX}`);
    if (deviceName?.includes('\0')) faults.push('deviceName has the character U+0000');
  }
  return rows;
}
