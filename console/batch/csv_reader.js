// Reading CSV (RFC 4180) with commas, semicolons or tabs, by the rules of the command line. Where the command line would guess
// the meaning of a “"”, this reader reports a fault.

/**
 * A row, with the number of its first line.
 * @typedef {object} TableRow
 * @property {number} line
 * @property {string[]} cells untrimmed
 * @property {boolean} isEmpty whether the row has only separators
 * @property {string[]} faults
 */

/** @typedef {{rows: TableRow[], trouble?: string}} Table with the reason why the rest can't be read */

/**
 * Reads the rows of a table; blank lines are skipped.
 * @param {string} text
 * @returns {Table}
 */
export function readTable(text) {
  const body = withoutByteOrderMark(text);
  // Some spreadsheets name the separator in the first line.
  const named = /^sep=(.)(?:\r\n|\r|\n)/i.exec(body);
  const separator = named?.[1] ?? likelySeparator(body);
  let [at, line] = named ? [named[0].length, 2] : [0, 1];
  /** @type {TableRow[]} */
  const rows = [];

  const toCellEnd = () => {
    while (at < body.length && body[at] !== separator && body[at] !== '\n' && body[at] !== '\r') at += 1;
  };

  while (at < body.length) {
    /** @type {TableRow} */
    const row = { line, cells: [], isEmpty: true, faults: [] };
    let isQuoted = false;
    for (;;) {
      const start = at;
      if (body[at] === '"') {
        at = afterQuotes(body, at);
        if (at < 0) {
          const trouble = `The cell that begins with “"” on line ${line} is never closed. End it with “"”; inside a cell, write “"” twice.`;
          return { rows, trouble };
        }
        const inside = body.slice(start + 1, at - 1);
        line += inside.match(/\r\n|\r|\n/g)?.length ?? 0;
        const end = at;
        toCellEnd();
        if (at > end) {
          const span = line > row.line ? `, and continues to line ${line}` : '';
          row.faults.push(`has text after the “"” that closes a cell${span}`);
        }
        row.cells.push(inside.replaceAll('""', '"'));
        isQuoted = true;
      } else {
        toCellEnd();
        row.cells.push(body.slice(start, at));
      }
      if (at >= body.length || body[at] !== separator) break;
      at += 1;
    }
    // A quoted empty cell is deliberate.
    row.isEmpty = !isQuoted && row.cells.every((it) => it === '');
    const isBlankLine = !isQuoted && row.cells.length === 1 && row.cells[0].trim() === '';
    if (!isBlankLine) rows.push(row);
    at += body.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
  }
  return { rows };
}

/** Removes the byte order mark, which spreadsheets write in UTF-8. @param {string} text */
export const withoutByteOrderMark = (text) => text.replace(/^\uFEFF/, '');

/**
 * The position after the closing quote; -1 if there is none.
 * @param {string} text
 * @param {number} start
 */
function afterQuotes(text, start) {
  let at = text.indexOf('"', start + 1);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at < 0 ? -1 : at + 1;
}

/** The most frequent separator of the first line. @param {string} text */
function likelySeparator(text) {
  const [first] = /^.*\S.*$/m.exec(text) ?? [''];
  const counts = [',', ';', '\t'].map((it) => ({ it, n: first.split(it).length }));
  return counts.sort((a, b) => b.n - a.n)[0].it;
}
