// Tables that people have: pasted, or from a spreadsheet's file. They are read as spreadsheets write them, and what is wrong
// with a row is told before anything is sent.

/** @typedef {{username?: string, password?: string, deviceName?: string}} Item */
/** @typedef {{line: number, item: Item, faults: string[]}} Row */

/**
 * What came of a table.
 * @typedef {object} Read
 * @property {Row[]} rows
 * @property {string[]} unused columns that mean nothing here
 * @property {string} [trouble] why it is no table at all
 */

/** By what is left of a heading without case, spaces and signs. @type {Record<string, keyof Item>} */
const COLUMNS = {
  username: 'username',
  user: 'username',
  password: 'password',
  devicename: 'deviceName',
  device: 'deviceName',
  name: 'deviceName',
};

/**
 * Reads what was pasted: with a heading it is a table, else each line is one value.
 * @param {string} text
 * @param {'deviceName' | 'username'} each what a line is without a heading
 * @returns {Read}
 */
export function readPasted(text, each) {
  const lines = readCells(text);
  if (lines.length > 0 && hasHeading(lines[0].cells)) return readTable(text);
  const rows = text
    .split(/\r\n|\r|\n/)
    .map((it, n) => ({ line: n + 1, value: it.trim() }))
    .filter(({ value }) => value !== '')
    .map(({ line, value }) => ({ line, item: { [each]: value }, faults: [] }));
  return { rows: judge(rows), unused: [] };
}

/**
 * Reads a table whose first line names its columns.
 * @param {string} text
 * @returns {Read}
 */
export function readTable(text) {
  const [head, ...lines] = readCells(text);
  if (!head) return { rows: [], unused: [], trouble: 'There is nothing in it.' };
  if (!hasHeading(head.cells)) {
    const trouble =
      'Its first line must name its columns: username, password and deviceName, any of them, in any order.';
    return { rows: [], unused: [], trouble };
  }
  const names = head.cells.map(columnOf);
  const twice = names.find((it, n) => it && names.indexOf(it) < n);
  if (twice) return { rows: [], unused: [], trouble: `The column ${twice} is there twice.` };
  const unused = head.cells.filter((_, n) => !names[n]).map((it) => it.trim());
  const rows = lines.map(({ line, cells }) => {
    /** @type {Item} */
    const item = {};
    for (const [n, cell] of cells.entries()) {
      const name = names[n];
      if (name && cell !== '') item[name] = cell;
    }
    const faults =
      cells.length > names.length ? [`has ${cells.length} cells, where the table has ${names.length} columns`] : [];
    return { line, item, faults };
  });
  return { rows: judge(rows), unused };
}

/** @param {string[]} cells */
const hasHeading = (cells) => cells.some((it) => columnOf(it) !== undefined);

/** @param {string} heading */
const columnOf = (heading) => COLUMNS[heading.toLowerCase().replace(/[^a-z]/g, '')];

/**
 * Says of each row what no access could have.
 * @param {Row[]} rows
 */
function judge(rows) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (const { line, item, faults } of rows) {
    const { username, password, deviceName } = item;
    if (username !== undefined) {
      if ([...username].length > 128) faults.push('username has more than 128 characters');
      if (/\p{Cc}/u.test(username)) faults.push('username has a control character');
      if (username.includes(':')) faults.push('username has a “:”, which HTTP Basic puts between name and password');
      const before = seen.get(username);
      if (before !== undefined) faults.push(`username ${username} stands on line ${before} already`);
      else seen.set(username, line);
    }
    if (password !== undefined && new TextEncoder().encode(password).length > 72)
      faults.push('password has more than 72 bytes');
    if (deviceName !== undefined && [...deviceName].length > 128)
      faults.push('deviceName has more than 128 characters');
    if (deviceName?.includes('\0')) faults.push('deviceName has the character U+0000');
  }
  return rows;
}

/**
 * The cells of a table (RFC 4180), with commas, semicolons or tabs between, and the lines on which its rows begin. Lines
 * without anything are left out.
 * @param {string} text
 */
function readCells(text) {
  let rest = text.replace(/^\uFEFF/, '');
  let line = 1;
  const said = /^sep=(.)\r?\n/i.exec(rest);
  if (said) {
    rest = rest.slice(said[0].length);
    line = 2;
  }
  const separator = said?.[1] ?? likelySeparator(rest);
  /** @type {{line: number, cells: string[]}[]} */
  const rows = [];
  /** @type {string[]} */
  let cells = [];
  let [cell, isQuoted, isInside, isMeant, start] = ['', false, false, false, line];
  const endRow = () => {
    cells.push(isQuoted ? cell : cell.trim());
    // A row of nothing is a gap between rows, unless somebody wrote `""`: all of it is generated then.
    if (isMeant || cells.some((it) => it !== '')) rows.push({ line: start, cells });
    [cells, cell, isQuoted, isMeant] = [[], '', false, false];
    start = line;
  };
  for (let n = 0; n < rest.length; n += 1) {
    const sign = rest[n];
    const isEnd = sign === '\n' || (sign === '\r' && rest[n + 1] !== '\n');
    if (isEnd) line += 1;
    if (isInside) {
      if (sign === '"' && rest[n + 1] === '"') {
        cell += '"';
        n += 1;
      } else if (sign === '"') isInside = false;
      else cell += sign;
    } else if (sign === '"' && cell.trim() === '' && !isQuoted) {
      [cell, isQuoted, isInside, isMeant] = ['', true, true, true];
    } else if (sign === separator) {
      cells.push(isQuoted ? cell : cell.trim());
      [cell, isQuoted] = ['', false];
    } else if (isEnd) endRow();
    else if (sign !== '\r' && !(isQuoted && sign === ' ')) cell += sign;
  }
  if (cell !== '' || cells.length > 0 || isQuoted) endRow();
  return rows;
}

/** The sign that the first line has most of. @param {string} text */
function likelySeparator(text) {
  const first = text.split(/\r\n|\r|\n/).find((it) => it.trim() !== '') ?? '';
  const counts = [',', ';', '\t'].map((it) => ({ it, n: first.split(it).length }));
  return counts.sort((a, b) => b.n - a.n)[0].it;
}
