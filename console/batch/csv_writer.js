// Writing CSV (RFC 4180) like the API does: safe to open in a spreadsheet.

/** The beginning of a cell that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r\n]/;

/** Columns that are never guarded: a device must send these values unchanged. */
const CREDENTIALS = ['username', 'password'];

/**
 * Writes a table with a header; a missing value is an empty cell.
 * @param {string[]} columns
 * @param {Record<string, string | undefined>[]} rows
 */
export function toTable(columns, rows) {
  const lines = rows.map((row) => columns.map((name) => cell(guarded(name, row[name] ?? ''))).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

/** Quotes a cell if needed. @param {string} text */
export const cell = (text) => (text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Guards a formula with a `'` in front, which marks it as text. @param {string} name @param {string} text */
const guarded = (name, text) => (FORMULA.test(text) && !CREDENTIALS.includes(name) ? `'${text}` : text);
