// Reading the access IDs of a change: one ID per line, or a table with a column of IDs. Everything else is a fault, so that no
// pasted line is skipped silently.

import { readTable } from './csv_reader.js';

/**
 * @typedef {object} Read
 * @property {string[]} ids without repetitions
 * @property {{line: number, faults: string[]}[]} faulty lines without a valid ID
 * @property {number[]} repeated lines whose ID an earlier line has
 * @property {string} [column] the column of the IDs, in a table
 * @property {string} [trouble] why the text can't be read
 */

/** Columns of IDs in the tables that gatehouse writes. */
const COLUMNS = ['id', 'accessid'];

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * @param {string} text
 * @returns {Read}
 */
export function readIds(text) {
  const { rows, trouble } = readTable(text);
  const head = rows[0]?.cells ?? [];
  const at = head.findIndex((it) => COLUMNS.includes(it.trim().toLowerCase()));
  const isTable = at >= 0;
  const refuse = (/** @type {string} */ why) => ({ ids: [], faulty: [], repeated: [], trouble: why });
  if (trouble) return refuse(trouble);
  if (!isTable && head.length > 1) {
    return refuse(
      'No column is called id or accessId. Name the column in the first line, or put each ID on its own line.',
    );
  }
  const [width, which] = isTable ? [head.length, at] : [1, 0];
  /** @type {Set<string>} */
  const ids = new Set();
  const [faulty, repeated] = [/** @type {Read['faulty']} */ ([]), /** @type {number[]} */ ([])];
  for (const { line, cells, faults } of rows.slice(isTable ? 1 : 0)) {
    const given = cells[which]?.trim() ?? '';
    const id = given.toLowerCase();
    if (faults.length > 0) faulty.push({ line, faults });
    else if (cells.length > width) faulty.push({ line, faults: [tooWide(cells.length, width)] });
    else if (given === '') faulty.push({ line, faults: ['has no ID'] });
    else if (!ID.test(id)) faulty.push({ line, faults: [`“${given.slice(0, 64)}” is not an access ID`] });
    else if (ids.has(id)) repeated.push(line);
    else ids.add(id);
  }
  return { ids: [...ids], faulty, repeated, column: isTable ? head[at].trim() : undefined };
}

/** @param {number} n @param {number} width */
const tooWide = (n, width) =>
  width === 1 ? `has ${n} cells, where one ID is expected` : `has ${n} cells, where the table has ${width} columns`;
