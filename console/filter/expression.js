// The language of lists: conditions with `&` between, alternatives with `;` between. What people write and what they put
// together by choosing is the same expression, and each can be made of the other.

/**
 * What can be asked.
 * @typedef {object} Field
 * @property {string} name
 * @property {string} word
 * @property {string[]} operators
 * @property {'time' | 'text'} kind
 */

/** @typedef {{name: string, operator: string, value: string}} Condition */

/** @typedef {Condition[][]} Expression alternatives of conditions that go together */

const EQUAL = ['='];
const ORDERED = ['>=', '<=', '>', '<', '='];

/** @type {Field[]} */
export const ACCESS_FIELDS = [
  { name: 'contractId', word: 'Contract', operators: EQUAL, kind: 'text' },
  { name: 'productOfferingId', word: 'Offering', operators: EQUAL, kind: 'text' },
  { name: 'createdBy', word: 'Batch', operators: EQUAL, kind: 'text' },
  { name: 'username', word: 'Username', operators: EQUAL, kind: 'text' },
  { name: 'name', word: 'Name', operators: EQUAL, kind: 'text' },
  { name: 'createdAt', word: 'Created', operators: ORDERED, kind: 'time' },
  { name: 'startDateTime', word: 'Starts', operators: ORDERED, kind: 'time' },
  { name: 'endDateTime', word: 'Ends', operators: ORDERED, kind: 'time' },
];

/** @type {Field[]} */
export const PRODUCT_FIELDS = [
  { name: 'platform', word: 'Platform', operators: EQUAL, kind: 'text' },
  { name: 'relatedParty.name', word: 'Account', operators: EQUAL, kind: 'text' },
  { name: 'customProperty.name', word: 'Property', operators: EQUAL, kind: 'text' },
  { name: 'customProperty.value', word: 'Property’s value', operators: EQUAL, kind: 'text' },
  { name: 'ICCID', word: 'ICCID', operators: EQUAL, kind: 'text' },
  { name: 'IMSI', word: 'IMSI', operators: EQUAL, kind: 'text' },
  { name: 'MSISDN', word: 'MSISDN', operators: EQUAL, kind: 'text' },
  { name: 'serialNumber', word: 'Serial number', operators: EQUAL, kind: 'text' },
];

/** An expression that can't be read. It says what is wrong, and where. */
export class BadFilter extends Error {}

/**
 * Reads what somebody wrote.
 * @param {string} text
 * @param {Field[]} fields
 * @returns {Expression}
 */
export function readFilter(text, fields) {
  if (text.trim() === '') return [];
  // As it stands in an address, its signs may be encoded, and all of it as one.
  const whole = text.trim().replace(/^filter=(.*(?:%3D|%3C|%3E).*)$/is, (_, encoded) => decode(encoded));
  return whole.split(';').map((alternative) => alternative.split('&').map((it) => readCondition(it, fields)));
}

/**
 * Writes an expression as people read it: only what would be misunderstood is encoded.
 * @param {Expression} expression
 */
export function writeFilter(expression) {
  return join(
    expression,
    ({ name, operator, value }) => name + operator + value.replace(/^\s|\s$|[%&;\p{Cc}]/gu, encodeURIComponent),
  );
}

/**
 * What lists everything that has one value, as people read it.
 * @param {string} name
 * @param {string} value
 */
export const having = (name, value) => writeFilter([[{ name, operator: '=', value }]]);

/**
 * Writes an expression as it stands in a request.
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
        ? 'A condition is missing: there is nothing between two signs.'
        : `“${plain}” is no condition. One is a name, a sign and a value: contractId=C-1`,
    );
  }
  const [, name, operator, written] = found;
  const field = fields.find((it) => it.name.toLowerCase() === name.toLowerCase());
  if (!field) {
    throw new BadFilter(`“${name}” can't be asked for. These can: ${fields.map((it) => it.name).join(', ')}`);
  }
  if (!field.operators.includes(operator)) {
    throw new BadFilter(`“${field.name}” has no “${operator}”. It has ${field.operators.join(' ')}`);
  }
  if (written === '') throw new BadFilter(`“${field.name}” has no value.`);
  const value = decode(written);
  if (field.kind === 'time' && Number.isNaN(readTime(value).getTime())) {
    throw new BadFilter(`“${value}” is no time. One is 2026-11-01, or 2026-11-01T12:30:00Z`);
  }
  return { name: field.name, operator, value };
}

/**
 * A time as the API reads it: without an offset it is in UTC.
 * @param {string} text
 */
export function readTime(text) {
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}:\d{2}.*)?$/i.test(text)) return new Date(Number.NaN);
  const hasOffset = /([+-]\d{2}:\d{2}|z)$/i.test(text);
  return new Date(hasOffset || text.length === 10 ? text : `${text}Z`);
}

/** A `%` that begins no escape is itself. @param {string} text */
function decode(text) {
  return text.replace(/(%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
