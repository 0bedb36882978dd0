// Which accesses a batch changes: IDs, one a line, or those of a table that has a column of them. Whatever else is there is a
// fault: nothing that somebody pasted goes missing without a word.

import { readTable } from './csv_reader.js';

/**
 * @typedef {object} Read
 * @property {string[]} ids each of them once
 * @property {{line: number, faults: string[]}[]} faulty lines that have none
 * @property {number[]} repeated lines whose ID stands above already
 * @property {string} [column] where they were, if it is a table
 * @property {string} [trouble] why none can be read
 */

/** The columns that hold IDs, in tables that gatehouse writes. */
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
      'None of its columns is called id or accessId. Name that column in the first line, or put each ID on a line of its own.',
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
    else if (!ID.test(id)) faulty.push({ line, faults: [`“${given.slice(0, 64)}” is no access ID`] });
    else if (ids.has(id)) repeated.push(line);
    else ids.add(id);
  }
  return { ids: [...ids], faulty, repeated, column: isTable ? head[at].trim() : undefined };
}

/** @param {number} n @param {number} width */
const tooWide = (n, width) =>
  width === 1 ? `has ${n} cells, where one ID is expected` : `has ${n} cells, where the table has ${width} columns`;
