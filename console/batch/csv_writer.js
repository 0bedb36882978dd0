// Writing tables as text (RFC 4180), as the API writes them: safe to open in a spreadsheet.

/** What makes a spreadsheet take a cell for a formula, at its beginning. */
const FORMULA = /^[=+\-@\t\r\n]/;

/** A device must send these as they are, so nothing is put before them. */
const CREDENTIALS = ['username', 'password'];

/**
 * A table with a heading; what a row doesn't have is empty.
 * @param {string[]} columns
 * @param {Record<string, string | undefined>[]} rows
 */
export function toTable(columns, rows) {
  const lines = rows.map((row) => columns.map((name) => cell(shown(name, row[name] ?? ''))).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

/** A cell as it is read again. @param {string} text */
export const cell = (text) => (text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A `'` in front says that it is text. @param {string} name @param {string} text */
const shown = (name, text) => (FORMULA.test(text) && !CREDENTIALS.includes(name) ? `'${text}` : text);
