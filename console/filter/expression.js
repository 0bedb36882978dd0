// The filter language of lists: `&` joins conditions, `;` separates alternatives. An expression is parsed from the text that the
// user writes, and printed from the conditions that the user chooses.

import { keyFault } from '../label/rules.js';
import { ACCESS_STATUSES, statusWord } from '../part/status.js';

/**
 * A field that a list can be filtered by.
 * @typedef {object} Field
 * @property {string} name
 * @property {string} word
 * @property {string[]} operators
 * @property {'time' | 'text' | 'choice' | 'label'} kind
 * @property {[string, string][]} [choices] the possible values of a choice, each with the word that users see
 */

/**
 * A condition on a field. On a label, it has the label's key, and the operator and value are empty if the access may have any value.
 * @typedef {{name: string, key?: string, operator: string, value: string}} Condition
 */

/** @typedef {Condition[][]} Expression alternatives, each with conditions that must all hold */

const EQUAL = ['='];
const ORDERED = ['>=', '<=', '>', '<', '='];

/** The operator of a condition that asks whether an access has a label, with any value. */
export const HAS = '';

/** @param {string} name @param {string} word @param {Field['kind']} [kind] @returns {Field} */
const field = (name, word, kind = 'text') => ({ name, word, kind, operators: kind === 'time' ? ORDERED : EQUAL });

/** @type {Field[]} */
export const ACCESS_FIELDS = [
  field('contractId', 'Contract'),
  { ...field('status', 'Status', 'choice'), choices: ACCESS_STATUSES.map((it) => [it, statusWord(it)]) },
  { ...field('label', 'Label', 'label'), operators: ['=', HAS] },
  field('productOfferingId', 'Offering'),
  field('createdBy', 'Batch'),
  field('username', 'Username'),
  field('name', 'Name'),
  field('createdAt', 'Created', 'time'),
  field('startDateTime', 'Starts', 'time'),
  field('endDateTime', 'Ends', 'time'),
];

export const PRODUCT_FIELDS = [
  field('platform', 'Platform'),
  field('relatedParty.name', 'Account'),
  field('customProperty.name', 'Property name'),
  field('customProperty.value', 'Property value'),
  field('ICCID', 'ICCID'),
  field('IMSI', 'IMSI'),
  field('MSISDN', 'MSISDN'),
  field('serialNumber', 'Serial number'),
];

/** An invalid expression; the message says what is wrong. */
export class BadFilter extends Error {}

/**
 * Parses an expression.
 * @param {string} text
 * @param {Field[]} fields
 * @returns {Expression}
 */
export function readFilter(text, fields) {
  if (text.trim() === '') return [];
  // An expression that was copied from a URL may be percent-encoded as a whole.
  const whole = text.trim().replace(/^filter=(.*(?:%3D|%3C|%3E).*)$/is, (_, encoded) => decode(encoded));
  return whole.split(';').map((alternative) => alternative.split('&').map((it) => readCondition(it, fields)));
}

/**
 * Prints an expression for users: only ambiguous characters are percent-encoded.
 * @param {Expression} expression
 */
export function writeFilter(expression) {
  return join(
    expression,
    (it) => nameOf(it) + it.operator + it.value.replace(/^\s|\s$|[%&;\p{Cc}]/gu, encodeURIComponent),
  );
}

/**
 * The expression that one field has one value.
 * @param {string} name
 * @param {string} value
 */
export const having = (name, value) => writeFilter([[{ name, operator: '=', value }]]);

/**
 * The condition that an access has a label.
 * @param {string} key
 * @param {string} value
 * @returns {Condition}
 */
export const havingLabel = (key, value) => ({ name: 'label', key, operator: '=', value });

/**
 * Adds a condition to every alternative that doesn't have it.
 * @param {Expression} expression
 * @param {Condition} condition
 */
export function narrow(expression, condition) {
  const added = writeFilter([[condition]]);
  const has = (/** @type {Condition[]} */ alternative) => alternative.some((it) => writeFilter([[it]]) === added);
  const alternatives = expression.length === 0 ? [[]] : expression;
  return alternatives.map((it) => (has(it) ? it : [...it, condition]));
}

/** Whether any condition is on a label. @param {Expression} expression */
export const namesLabels = (expression) => expression.flat().some((it) => it.key !== undefined);

/** The name of a condition's field, with the key of a label. @param {Condition} condition */
const nameOf = ({ name, key }) => (key === undefined ? name : `${name}.${key}`);

/**
 * Prints an expression for a request.
 * @param {Expression} expression
 */
export function toQuery(expression) {
  return join(expression, (condition) => {
    const sign = condition.operator.replace('<', '%3C').replace('>', '%3E');
    return encodeURIComponent(nameOf(condition)) + sign + encodeURIComponent(condition.value);
  });
}

/**
 * @param {Expression} expression
 * @param {(condition: Condition) => string} write
 */
function join(expression, write) {
  return expression.map((alternative) => alternative.map(write).join('&')).join(';');
}

/**
 * @param {string} text
 * @param {Field[]} fields
 * @returns {Condition}
 */
function readCondition(text, fields) {
  const plain = text
    .trim()
    .replace(/^filter=/, '')
    .replace(/^[^=<>%]+(%3[CDE])+/i, decode);
  const found = /^([^=<>]+?)\s*(?:(>=|<=|=|>|<)\s*(.*))?$/su.exec(plain);
  const [, given = '', operator = HAS, written = ''] = found ?? [];
  // Only a label can stand without an operator.
  if (!found || (operator === HAS && !isLabel(given))) {
    throw new BadFilter(
      plain === ''
        ? 'A condition is missing: there is nothing between two separators.'
        : `“${plain}” is not a condition. A condition has a field, an operator and a value: contractId=C-1`,
    );
  }
  const [name, key] = isLabel(given) ? ['label', given.slice('label.'.length)] : [given, undefined];
  const field = fields.find((it) => it.name.toLowerCase() === name.toLowerCase());
  if (!field) {
    const names = fields.map((it) => (it.kind === 'label' ? `${it.name}.KEY` : it.name));
    throw new BadFilter(`“${name}” is not a filter field. The fields are: ${names.join(', ')}`);
  }
  if (field.kind === 'label') {
    const why = keyFault(key ?? '');
    if (why) throw new BadFilter(`“${given}” names no label: ${why}. Write label.site=hamburg`);
  }
  if (!field.operators.includes(operator)) {
    const supported = field.operators.filter(Boolean).join(' ');
    throw new BadFilter(`“${key ? given : field.name}” does not support “${operator}”, only ${supported}`);
  }
  if (written === '' && operator !== HAS) throw new BadFilter(`“${key ? given : field.name}” has no value.`);
  const value = readValue(decode(written), field);
  return { name: field.name, ...(key !== undefined && { key }), operator, value };
}

/** @param {string} name */
const isLabel = (name) => /^label\./i.test(name);

/** Checks a value, and returns it as the API spells it. @param {string} value @param {Field} field */
function readValue(value, { name, kind, choices }) {
  if (kind === 'time' && Number.isNaN(readTime(value).getTime())) {
    throw new BadFilter(`“${value}” is not a time. Write 2026-11-01 or 2026-11-01T12:30:00Z`);
  }
  if (!choices) return value;
  const found = choices.find((it) => it.some((word) => word.toLowerCase() === value.toLowerCase()));
  if (found) return found[0];
  throw new BadFilter(`“${value}” is not a ${name}. Choose one of: ${choices.map(([it]) => it).join(', ')}`);
}

/**
 * Parses a time like the API does: without an offset, it is in UTC.
 * @param {string} text
 */
export function readTime(text) {
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}:\d{2}.*)?$/i.test(text)) return new Date(Number.NaN);
  const hasOffset = /([+-]\d{2}:\d{2}|z)$/i.test(text);
  return new Date(hasOffset || text.length === 10 ? text : `${text}Z`);
}

/** Decodes percent-escapes; a `%` that begins no escape stays. @param {string} text */
function decode(text) {
  return text.replace(/(%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
