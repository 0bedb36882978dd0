// Numbers and counted nouns as users read them.

const WHOLE = new Intl.NumberFormat();

/** @param {number} n */
export const count = (n) => WHOLE.format(n);

/**
 * A number with its noun: "1 access", "2 accesses".
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
