// Connections, which the API calls products, and their characteristics by name.

/**
 * @typedef {object} Product
 * @property {string} id
 * @property {string} status
 * @property {string} connectivityType
 * @property {{name: string, value: string}[]} productCharacteristic
 * @property {{name: string, characteristic?: {name: string, value: string}[]}[]} relatedParty
 * @property {{name: string, value: string}[]} [customProperty]
 */

/** @param {Product} product @param {string} name */
export const valuesOf = (product, name) =>
  (product.productCharacteristic ?? []).filter((it) => it.name === name).map((it) => it.value);

/** @param {Product} product */
export const platformOf = (product) => valuesOf(product, 'PLATFORM')[0] ?? product.id.split('-')[0];

/** @param {Product} product */
export const accountOf = (product) => product.relatedParty?.[0]?.name ?? '';

/** @type {Record<string, string>} */
export const TYPE_WORDS = { CELLULAR: 'SIM', SATELLITE: 'Satellite terminal' };

/**
 * The account and platform that an error is about.
 * @param {{relatedParty?: {name: string, characteristic?: {name: string, value: string}[]}[]}} error
 */
export function accountIn({ relatedParty }) {
  const [party] = relatedParty ?? [];
  if (!party) return undefined;
  const platform = party.characteristic?.find((it) => it.name === 'PLATFORM')?.value;
  return { name: party.name, platform };
}
