// One connection, as its platform shows it now.

import { get, path } from '../api/client.js';
import { TYPE_WORDS } from '../api/product.js';
import { h } from '../element.js';
import { having } from '../filter/expression.js';
import { copyButton } from '../part/copy_button.js';
import { statusMark } from '../part/status.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Connection';
export const scopes = ['product:read'];

/** Names that people read otherwise. @type {Record<string, string>} */
const WORDS = { PLATFORM: 'Platform', SERIAL_NUMBER: 'Serial number', PLATFORM_STATUS: 'The platform’s own word' };

/** Numbers that somebody may want elsewhere. */
const COPIED = ['ICCID', 'IMSI', 'MSISDN', 'IMEI', 'SERIAL_NUMBER'];

/** @param {Context} context */
export async function show({ tenant, params: [id], signal, link }) {
  const { body: product } = await get(path(tenant, 'product', id), { signal });
  const [party] = product.relatedParty;
  const account = party?.characteristic?.find((/** @type {any} */ it) => it.name === 'PLATFORM_ACCOUNT')?.value;
  return h(
    'div',
    {},
    h('h1', {}, product.id),
    h(
      'section',
      { class: 'panel', 'aria-label': 'The connection' },
      h(
        'dl',
        { class: 'facts' },
        h('dt', {}, 'Status'),
        h('dd', {}, statusMark(product.status)),
        h('dt', {}, 'Kind'),
        h('dd', {}, TYPE_WORDS[product.connectivityType] ?? product.connectivityType),
        product.productCharacteristic.map((/** @type {{name: string, value: string}} */ { name, value }) => [
          h('dt', {}, WORDS[name] ?? name),
          h('dd', {}, COPIED.includes(name) ? [h('code', {}, value), copyButton(WORDS[name] ?? name, value)] : value),
        ]),
        party && [
          h('dt', {}, 'Account'),
          h(
            'dd',
            {},
            h('a', { href: link(['connections'], { filter: having('relatedParty.name', party.name) }) }, party.name),
            account && ` (${account})`,
          ),
        ],
      ),
    ),
    h(
      'section',
      { class: 'panel', 'aria-labelledby': 'properties' },
      h('h2', { id: 'properties' }, 'Properties'),
      product.customProperty?.length
        ? h(
            'dl',
            { class: 'facts' },
            product.customProperty.map((/** @type {{name: string, value: string}} */ { name, value }) => [
              h('dt', {}, name),
              h('dd', {}, value),
            ]),
          )
        : h('p', { class: 'waiting' }, 'Nobody has written anything on it.'),
    ),
  );
}
