// The rules of labels, as the API checks them: faults are explained before anything is sent.

/** @typedef {Record<string, string>} Labels values by key */

/** The most labels of an access. */
export const LABELS_MAX = 32;

const KEY = /^[a-z0-9._-]{1,63}$/;
const VALUE_BYTES_MAX = 128;

/**
 * Why a text is not the key of a label; `undefined` if it is one.
 * @param {string} key
 */
export function keyFault(key) {
  if (key === '') return 'the key is missing';
  if (KEY.test(key)) return undefined;
  if (/^[a-z0-9._-]+$/.test(key)) return 'the key has more than 63 characters';
  return `the key “${key.slice(0, 64)}” has a character other than a–z, 0–9, “.”, “_” and “-”`;
}

/**
 * Why a text is not the value of a label; `undefined` if it is one.
 * @param {string} value
 */
export function valueFault(value) {
  if (value === '') return 'the value is missing';
  if (value.includes('\0')) return 'the value has the character U+0000';
  const nBytes = new TextEncoder().encode(value).length;
  return nBytes > VALUE_BYTES_MAX ? `the value has ${nBytes} bytes of UTF-8, more than ${VALUE_BYTES_MAX}` : undefined;
}

/**
 * The faults of rows that a user has filled in, by row: of the key, and of the value.
 * @param {{key: string, value: string}[]} rows
 * @returns {{key?: string, value?: string}[]}
 */
export function rowFaults(rows) {
  return rows.map(({ key, value }, n) => {
    const isRepeated = rows.findIndex((it) => it.key === key) < n;
    return {
      key: keyFault(key) ?? (isRepeated ? `the key “${key}” is there twice` : undefined),
      value: valueFault(value),
    };
  });
}

/**
 * The change from some labels to others: values to set, and `null` for labels to remove.
 * @param {Labels} before
 * @param {Labels} after
 * @returns {Record<string, string | null>}
 */
export function changeOf(before, after) {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const set = Object.entries(after).filter(([key, value]) => !Object.hasOwn(before, key) || before[key] !== value);
  return Object.fromEntries([...removed.map((key) => /** @type {const} */ ([key, null])), ...set]);
}
