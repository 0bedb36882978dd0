// One connection, with the current data of its platform.

import { get, path } from '../api/client.js';
import { TYPE_WORDS } from '../api/product.js';
import { h } from '../element.js';
import { having } from '../filter/expression.js';
import { copyButton } from '../part/copy_button.js';
import { facts, panel } from '../part/panel.js';
import { statusMark } from '../part/status.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {{name: string, value: string}} Named */
/** @typedef {[string, import('../element.js').Child]} Fact */

export const title = () => 'Connection';
export const scopes = ['product:read'];

/** Labels of characteristics whose names are not readable. @type {Record<string, string>} */
const WORDS = { PLATFORM: 'Platform', SERIAL_NUMBER: 'Serial number', PLATFORM_STATUS: 'Platform status' };

/** Characteristics with a copy button. */
const COPIED = ['ICCID', 'IMSI', 'MSISDN', 'IMEI', 'SERIAL_NUMBER'];

/** @param {Context} context */
export async function show({ tenant, params: [id], signal, link }) {
  const { body: product } = await get(path(tenant, 'product', id), { signal });
  const [party] = product.relatedParty;
  return h(
    'div',
    {},
    h('h1', {}, product.id),
    h(
      'section',
      { class: 'panel', 'aria-label': 'The connection' },
      facts([
        ['Status', statusMark(product.status)],
        ['Kind', TYPE_WORDS[product.connectivityType] ?? product.connectivityType],
        ...product.productCharacteristic.map(characteristic),
        ...(party ? [accountOf(party, link)] : []),
      ]),
    ),
    panel(
      'properties',
      'Properties',
      product.customProperty?.length
        ? facts(product.customProperty.map((/** @type {Named} */ { name, value }) => [name, value]))
        : h('p', { class: 'waiting' }, 'The connection has no properties.'),
    ),
  );
}

/** @param {Named} characteristic @returns {Fact} */
function characteristic({ name, value }) {
  const word = WORDS[name] ?? name;
  return [word, COPIED.includes(name) ? [h('code', {}, value), copyButton(word, value)] : value];
}

/** @param {{name: string, characteristic?: Named[]}} party @param {Context['link']} link @returns {Fact} */
function accountOf({ name, characteristic }, link) {
  const account = characteristic?.find((it) => it.name === 'PLATFORM_ACCOUNT')?.value;
  const filter = having('relatedParty.name', name);
  return ['Account', [h('a', { href: link(['connections'], { filter }) }, name), account && ` (${account})`]];
}
