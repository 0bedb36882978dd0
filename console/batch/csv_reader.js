// Tables that people made: CSV (RFC 4180) with commas, semicolons or tabs between the cells. The command line reads them alike;
// where it would guess what a “"” means, nothing is guessed here.

/**
 * A row, with the line that it begins on.
 * @typedef {object} TableRow
 * @property {number} line
 * @property {string[]} cells as they are: nothing is trimmed
 * @property {boolean} isEmpty whether it is nothing but separators
 * @property {string[]} faults
 */

/** @typedef {{rows: TableRow[], trouble?: string}} Table with what keeps the rest from being read */

/**
 * All rows of a table. Empty lines are none.
 * @param {string} text
 * @returns {Table}
 */
export function readTable(text) {
  const body = withoutMark(text);
  // Some spreadsheets say so in front.
  const said = /^sep=(.)(?:\r\n|\r|\n)/i.exec(body);
  const separator = said?.[1] ?? likelySeparator(body);
  let [at, line] = said ? [said[0].length, 2] : [0, 1];
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
        at = behindQuotes(body, at);
        if (at < 0) {
          const trouble = `On line ${line} a cell begins with “"”, and nothing closes it. Put a “"” at its end; inside of it, a “"” is written twice.`;
          return { rows, trouble };
        }
        const inside = body.slice(start + 1, at - 1);
        line += inside.match(/\r\n|\r|\n/g)?.length ?? 0;
        const end = at;
        toCellEnd();
        if (at > end) {
          const span = line > row.line ? `, and goes on to line ${line}` : '';
          row.faults.push(`has something behind the “"” that closes a cell${span}`);
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
    // Who writes `""` means a cell.
    row.isEmpty = !isQuoted && row.cells.every((it) => it === '');
    const isBlankLine = !isQuoted && row.cells.length === 1 && row.cells[0].trim() === '';
    if (!isBlankLine) rows.push(row);
    at += body.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
  }
  return { rows };
}

/** Spreadsheets mark UTF-8 with it. @param {string} text */
export const withoutMark = (text) => text.replace(/^\uFEFF/, '');

/**
 * Where the quotes end that begin here; before the text, if nothing closes them.
 * @param {string} text
 * @param {number} start
 */
function behindQuotes(text, start) {
  let at = text.indexOf('"', start + 1);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at < 0 ? -1 : at + 1;
}

/** What stands between the cells: the sign that the first line has most of. @param {string} text */
function likelySeparator(text) {
  const [first] = /^.*\S.*$/m.exec(text) ?? [''];
  const counts = [',', ';', '\t'].map((it) => ({ it, n: first.split(it).length }));
  return counts.sort((a, b) => b.n - a.n)[0].it;
}
