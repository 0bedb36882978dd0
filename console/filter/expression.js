// The filter language of lists: `&` joins conditions, `;` separates alternatives. An expression is parsed from the text that the
// user writes, and printed from the conditions that the user chooses.

/**
 * A field that a list can be filtered by.
 * @typedef {object} Field
 * @property {string} name
 * @property {string} word
 * @property {string[]} operators
 * @property {'time' | 'text'} kind
 */

/** @typedef {{name: string, operator: string, value: string}} Condition */

/** @typedef {Condition[][]} Expression alternatives, each with conditions that must all hold */

const EQUAL = ['='];
const ORDERED = ['>=', '<=', '>', '<', '='];

/** @param {string} name @param {string} word @param {Field['kind']} [kind] @returns {Field} */
const field = (name, word, kind = 'text') => ({ name, word, kind, operators: kind === 'time' ? ORDERED : EQUAL });

export const ACCESS_FIELDS = [
  field('contractId', 'Contract'),
  field('status', 'Status'),
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
    ({ name, operator, value }) => name + operator + value.replace(/^\s|\s$|[%&;\p{Cc}]/gu, encodeURIComponent),
  );
}

/**
 * The expression that one field has one value.
 * @param {string} name
 * @param {string} value
 */
export const having = (name, value) => writeFilter([[{ name, operator: '=', value }]]);

/**
 * Prints an expression for a request.
 * @param {Expression} expression
 */
export function toQuery(expression) {
  return join(expression, ({ name, operator, value }) => {
    const sign = operator.replace('<', '%3C').replace('>', '%3E');
    return encodeURIComponent(name) + sign + encodeURIComponent(value);
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
  const found = /^([^=<>]+?)\s*(>=|<=|=|>|<)\s*(.*)$/su.exec(plain);
  if (!found) {
    throw new BadFilter(
      plain === ''
        ? 'A condition is missing: there is nothing between two separators.'
        : `“${plain}” is not a condition. A condition has a field, an operator and a value: contractId=C-1`,
    );
  }
  const [, name, operator, written] = found;
  const field = fields.find((it) => it.name.toLowerCase() === name.toLowerCase());
  if (!field) {
    throw new BadFilter(`“${name}” is not a filter field. The fields are: ${fields.map((it) => it.name).join(', ')}`);
  }
  if (!field.operators.includes(operator)) {
    throw new BadFilter(`“${field.name}” does not support “${operator}”, only ${field.operators.join(' ')}`);
  }
  if (written === '') throw new BadFilter(`“${field.name}” has no value.`);
  const value = decode(written);
  if (field.kind === 'time' && Number.isNaN(readTime(value).getTime())) {
    throw new BadFilter(`“${value}” is not a time. Write 2026-11-01 or 2026-11-01T12:30:00Z`);
  }
  return { name: field.name, operator, value };
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
