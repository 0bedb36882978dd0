// Identifiers as people have them: from labels, spreadsheets and mails, recognised by their form.

import { valuesOf } from '../api/product.js';

/** @typedef {'iccid' | 'imsi' | 'msisdn' | 'serial' | 'id'} Kind */

/**
 * @typedef {object} Sought
 * @property {string} given
 * @property {string} value as the API is asked for it
 * @property {Kind[]} likely
 * @property {Kind[]} perhaps what it may be as well, if it isn't found
 */

/** @type {Record<Kind, {word: string, list: string, form: RegExp, characteristic?: string}>} */
export const KINDS = {
  iccid: { word: 'ICCID', list: 'iccidList', form: /^89\d{14,18}$/, characteristic: 'ICCID' },
  imsi: { word: 'IMSI', list: 'imsiList', form: /^\d{6,15}$/, characteristic: 'IMSI' },
  msisdn: { word: 'MSISDN', list: 'msisdnList', form: /^\d{6,15}$/, characteristic: 'MSISDN' },
  serial: {
    word: 'serial number',
    list: 'terminalSNList',
    form: /^(\d{5,22}|SL-DF-[A-Za-z0-9-]{1,64})$/,
    characteristic: 'SERIAL_NUMBER',
  },
  id: { word: 'product ID', list: 'iotConnectionProductIdList', form: /^[A-Z0-9][A-Z0-9_]{0,31}-\P{Cc}+$/u },
};

/**
 * What somebody has pasted, one by one: with lines, spaces, commas or semicolons between; what has these in it stands in
 * quotes.
 * @param {string} text
 */
export const split = (text) => [...text.matchAll(/"([^"\n]+)"|[^\s,;"]+/g)].map(([plain, quoted]) => quoted ?? plain);

/** The same again as a text. @param {string[]} values */
export const join = (values) => values.map((it) => (/[\s,;]/.test(it) ? `"${it}"` : it)).join('\n');

/**
 * What a text is, by its form; nothing where it can't be an identifier.
 * @param {string} given
 * @returns {Sought | undefined}
 */
export function recognise(given) {
  // A plus, and the `F` that fills a card's last half byte, are no part of the number.
  const value = given.replace(/^\+(?=\d+$)/, '').replace(/^(89\d+)F$/i, '$1');
  const fits = (/** @type {Kind[]} */ kinds) => kinds.filter((it) => KINDS[it].form.test(value));
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
 * Whether a connection carries an identifier.
 * @param {import('../api/product.js').Product} product
 * @param {Kind} kind
 * @param {string} value
 */
export function isCarried(product, kind, value) {
  const { characteristic } = KINDS[kind];
  if (!characteristic) return product.id === value;
  return valuesOf(product, characteristic).some((it) => isSame(kind, it.replace(/^\+/, ''), value));
}

/**
 * Whether two texts are the same identifier: a card with its check digit and without is the same card.
 * @param {Kind} kind
 * @param {string} one
 * @param {string} other
 */
export function isSame(kind, one, other) {
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
