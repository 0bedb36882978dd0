// Text that comes from a file, whatever program has written it.

import { BODY_BYTES_USUAL } from './limits.js';

/** The command line reads no more, either. */
export const FILE_BYTES_MAX = BODY_BYTES_USUAL;

/**
 * The text of a file, or why it has none.
 * @param {string} name what the file is called
 * @param {ArrayBuffer} bytes
 * @returns {{text: string} | {trouble: string}}
 */
export function decode(name, bytes) {
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  // Spreadsheets write UTF-16 as “Unicode text”, with a mark in front.
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // Without its mark, UTF-16 looks like text with nothing between its letters.
    if (!text.includes('\0')) return { text };
    return { trouble: `${name} is no text in UTF-8: it has the character U+0000. Save it as “CSV UTF-8”.` };
  } catch {
    if (encoding !== 'utf-8') return { trouble: `${name} begins as UTF-16, but isn’t. Save it as “CSV UTF-8”.` };
    return { trouble: `${name} is no text in UTF-8: see line ${lineOfFault(bytes)}. Save it as “CSV UTF-8”.` };
  }
}

/** @param {ArrayBuffer} bytes */
function lineOfFault(bytes) {
  const [good] = new TextDecoder().decode(bytes).split('\uFFFD', 1);
  return good.split(/\r\n|\r|\n/).length;
}
