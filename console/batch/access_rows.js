// Accesses from a table, or from a list with one a line. What is wrong with a row is told before anything is sent, by the rules
// of the command line.

import { readTable, withoutMark } from './csv_reader.js';

/** @typedef {{username?: string, password?: string, deviceName?: string}} Item */
/** @typedef {{line: number, item: Item, faults: string[]}} Row */

/**
 * What came of a table.
 * @typedef {object} Read
 * @property {Row[]} rows
 * @property {string[]} unused columns that mean nothing here
 * @property {number} nEmpty rows of nothing but separators, which are left out
 * @property {{line: number, isTaken: boolean}} [heading] the line that names columns, or might; and whether it was taken so
 * @property {string} [trouble] why it is no table at all
 */

/** By what is left of a heading without case, spaces, `_` and `-`. @type {Map<string, keyof Item>} */
const COLUMNS = new Map([
  ['username', 'username'],
  ['user', 'username'],
  ['password', 'password'],
  ['devicename', 'deviceName'],
  ['device', 'deviceName'],
]);

/** A device's name that a spreadsheet would take for a formula has a `'` in front, in gatehouse's own tables. */
const GUARDED = /^'[=+\-@\t\r\n]/;

/**
 * Reads what was pasted: with a heading it is a table, else each line is one value.
 * @param {string} text
 * @param {'deviceName' | 'username'} each what a line is without a heading
 * @param {boolean} [hasHeading] whether the first line is one, if somebody has said so
 * @returns {Read}
 */
export function readPasted(text, each, hasHeading) {
  const found = readTable(text);
  const [head] = found.rows;
  const columns = head ? columnsOf(head.cells) : [];
  const mayBeHeading = columns.some(Boolean);
  if (mayBeHeading && (hasHeading ?? isHeading(columns))) return readBelow(found, columns);
  const rows = withoutMark(text)
    .split(/\r\n|\r|\n/)
    .map((it, n) => ({ line: n + 1, value: it.trim() }))
    .filter(({ value }) => value !== '')
    .map(({ line, value }) => ({ line, item: { [each]: value }, faults: [] }));
  const heading = mayBeHeading ? { line: head.line, isTaken: false } : undefined;
  return { rows: judge(rows), unused: [], nEmpty: 0, heading };
}

/**
 * Reads a file, the first line of which names its columns.
 * @param {string} text
 * @returns {Read}
 */
export function readFileRows(text) {
  const found = readTable(text);
  const [head] = found.rows;
  if (!head) return refuse(found.trouble ?? 'There is nothing in it.');
  const columns = columnsOf(head.cells);
  if (isHeading(columns)) return readBelow(found, columns);
  const strange = head.cells.find((_, n) => !columns[n]) ?? '';
  return refuse(
    `Its first line must name its columns: username, password and deviceName, any of them, in any order. “${strange.slice(0, 64)}” is none.`,
  );
}

/** @param {string} trouble @returns {Read} */
export const refuse = (trouble) => ({ rows: [], unused: [], nEmpty: 0, trouble });

/**
 * Which column each cell of a heading names.
 * @param {string[]} cells
 */
function columnsOf(cells) {
  const plain = cells.map((it) => it.trim().toLowerCase().replace(/[ _-]/g, ''));
  const columns = plain.map((it) => COLUMNS.get(it));
  // Gatehouse's own tables have it beside the device's name.
  const name = plain.indexOf('name');
  if (name >= 0 && !columns.includes('deviceName')) columns[name] = 'deviceName';
  return columns;
}

/**
 * Whether a line is a heading beyond doubt. One cell among others that happens to be called like a column makes none: the line
 * would be lost.
 * @param {(keyof Item | undefined)[]} columns
 */
function isHeading(columns) {
  const nKnown = columns.filter(Boolean).length;
  return nKnown === columns.length || nKnown > 1;
}

/**
 * The rows below a heading.
 * @param {import('./csv_reader.js').Table} table
 * @param {(keyof Item | undefined)[]} columns
 * @returns {Read}
 */
function readBelow({ rows: [head, ...rows], trouble }, columns) {
  const heading = { line: head.line, isTaken: true };
  const twice = columns.find((it, n) => it && columns.indexOf(it) < n);
  const why = trouble ?? (twice && `The column ${twice} is there twice.`);
  if (why) return { ...refuse(why), heading };
  // What is missing behind the last column that counts doesn't matter.
  const nNeeded = columns.findLastIndex(Boolean) + 1;
  const read = rows
    .filter((it) => !it.isEmpty)
    .map(({ line, cells, faults }) => {
      /** @type {Item} */
      const item = {};
      for (const [n, cell] of cells.entries()) {
        const name = columns[n];
        if (name && cell !== '') item[name] = cell;
      }
      const n = cells.length;
      const isUneven = n < nNeeded || n > columns.length;
      const cellFault = `has ${n} ${n === 1 ? 'cell' : 'cells'}, where the table has ${columns.length} columns`;
      return { line, item, faults: isUneven ? [...faults, cellFault] : faults };
    });
  const unused = head.cells.filter((_, n) => !columns[n]).map((it) => it.trim());
  return { rows: judge(read), unused, nEmpty: rows.length - read.length, heading };
}

/**
 * Says of each row what no access could have, or what hardly anybody means. A password is never repeated.
 * @param {Row[]} rows
 */
function judge(rows) {
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
        "deviceName begins with a “'” before a sign such as “=”, which gatehouse’s own tables have for spreadsheets: it is no part of the value, so take it away",
      );
    if (username !== undefined) {
      if (/\p{Cc}/u.test(username)) faults.push('username has a control character');
      const before = seen.get(username);
      if (before !== undefined) faults.push(`username ${username} stands on line ${before} already`);
      else seen.set(username, line);
    }
    if (password !== undefined && new TextEncoder().encode(password).length > 72)
      faults.push('password has more than 72 bytes');
    if (deviceName?.includes('\0')) faults.push('deviceName has the character U+0000');
  }
  return rows;
}
