// Identifiers that users paste from labels, spreadsheets and mails, recognised by their format.

import { valuesOf } from '../api/product.js';

/** @typedef {'iccid' | 'imsi' | 'msisdn' | 'serial' | 'id'} Kind */

/**
 * @typedef {object} Identifier
 * @property {string} given
 * @property {string} value the normalised form that the API searches for
 * @property {Kind[]} likely
 * @property {Kind[]} perhaps further kinds, tried if the likely ones are not found
 */

/** @type {Record<Kind, {word: string, list: string, format: RegExp, characteristic?: string}>} */
export const KINDS = {
  iccid: { word: 'ICCID', list: 'iccidList', format: /^89\d{14,18}$/, characteristic: 'ICCID' },
  imsi: { word: 'IMSI', list: 'imsiList', format: /^\d{6,15}$/, characteristic: 'IMSI' },
  msisdn: { word: 'MSISDN', list: 'msisdnList', format: /^\d{6,15}$/, characteristic: 'MSISDN' },
  serial: {
    word: 'serial number',
    list: 'terminalSNList',
    format: /^(\d{5,22}|SL-DF-[A-Za-z0-9-]{1,64})$/,
    characteristic: 'SERIAL_NUMBER',
  },
  id: { word: 'product ID', list: 'iotConnectionProductIdList', format: /^[A-Z0-9][A-Z0-9_]{0,31}-\P{Cc}+$/u },
};

/**
 * Splits a pasted text at lines, spaces, commas and semicolons. Quotes protect an identifier that contains a separator.
 * @param {string} text
 */
export const split = (text) => [...text.matchAll(/"([^"\n]+)"|[^\s,;"]+/g)].map(([plain, quoted]) => quoted ?? plain);

/** Joins identifiers to a text that `split` reads. @param {string[]} values */
export const join = (values) => values.map((it) => (/[\s,;]/.test(it) ? `"${it}"` : it)).join('\n');

/**
 * Recognises the kinds of an identifier by its format; `undefined` if it matches none.
 * @param {string} given
 * @returns {Identifier | undefined}
 */
export function recognise(given) {
  // The plus, and the `F` that pads the last half byte of an ICCID, are not part of the number.
  const value = given.replace(/^\+(?=\d+$)/, '').replace(/^(89\d+)F$/i, '$1');
  const fits = (/** @type {Kind[]} */ kinds) => kinds.filter((it) => KINDS[it].format.test(value));
  /** @type {[Kind[], Kind[]]} */
  const [likely, perhaps] = given.startsWith('+')
    ? [fits(['msisdn']), []]
    : fits(['iccid']).length > 0
      ? [['iccid'], fits(['serial'])]
      : fits(['imsi']).length > 0
        ? [['imsi', 'msisdn'], fits(['serial'])]
        : fits(['serial']).length > 0
          ? [['serial'], []]
          : [fits(['id']), []];
  return likely.length > 0 ? { given, value, likely, perhaps } : undefined;
}

/**
 * Whether a connection has an identifier.
 * @param {import('../api/product.js').Product} product
 * @param {Kind} kind
 * @param {string} value
 */
export function hasIdentifier(product, kind, value) {
  const { characteristic } = KINDS[kind];
  if (!characteristic) return product.id === value;
  return valuesOf(product, characteristic).some((it) => isSameIdentifier(kind, it.replace(/^\+/, ''), value));
}

/**
 * Whether two texts are the same identifier: an ICCID with and without its check digit is the same card.
 * @param {Kind} kind
 * @param {string} one
 * @param {string} other
 */
export function isSameIdentifier(kind, one, other) {
  if (kind !== 'iccid') return one === other;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return (
    short === long ||
    (short.length === 19 && long.length === 20 && long.startsWith(short) && long[19] === luhnDigit(short))
  );
}

/** @param {string} digits */
function luhnDigit(digits) {
  let sum = 0;
  for (const [n, digit] of [...digits].reverse().entries()) {
    const doubled = Number(digit) * (n % 2 === 0 ? 2 : 1);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return String((10 - (sum % 10)) % 10);
}
