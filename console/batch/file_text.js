// Decoding a file to text.

import { BODY_BYTES_DEFAULT } from './limits.js';

/** The file size limit, like that of the command line. */
export const FILE_BYTES_MAX = BODY_BYTES_DEFAULT;

/**
 * Decodes a file, or says why that fails.
 * @param {string} name the file's name
 * @param {ArrayBuffer} bytes
 * @returns {{text: string} | {trouble: string}}
 */
export function decode(name, bytes) {
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  // Spreadsheets write “Unicode text” as UTF-16 with a byte order mark.
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // UTF-16 without its mark decodes as UTF-8 with U+0000 between the letters.
    if (!text.includes('\0')) return { text };
    return { trouble: `${name} is not UTF-8 text: it has the character U+0000. Save it as “CSV UTF-8”.` };
  } catch {
    if (encoding !== 'utf-8')
      return { trouble: `${name} begins like UTF-16, but is not valid UTF-16. Save it as “CSV UTF-8”.` };
    return { trouble: `${name} is not UTF-8 text: see line ${lineOfFault(bytes)}. Save it as “CSV UTF-8”.` };
  }
}

/** @param {ArrayBuffer} bytes */
function lineOfFault(bytes) {
  const [good] = new TextDecoder().decode(bytes).split('\uFFFD', 1);
  return good.split(/\r\n|\r|\n/).length;
}
