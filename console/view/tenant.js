// Choosing a tenant, for a session that covers all tenants.

import { go, link } from '../address.js';
import { h } from '../element.js';
import { firstView } from '../menu.js';
import { field, onSubmit, VERBATIM } from '../part/form.js';
import { tenants } from '../sign_in/tenant.js';

export const title = () => 'Choose a tenant';
/** @type {string[]} */
export const scopes = [];

export async function show() {
  const names = await tenants();
  const name = h('input', {
    id: 'tenant-name',
    required: true,
    list: 'tenants',
    ...VERBATIM,
    pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]{0,62}',
  });
  return h(
    'div',
    {},
    h('h1', {}, 'Choose a tenant'),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: onSubmit(() => go(link(name.value, [firstView()]))),
      },
      field({ label: 'Tenant', control: name, hint: 'Your sign-in covers all tenants.' }),
      h(
        'datalist',
        { id: 'tenants' },
        names.map((it) => h('option', { value: it })),
      ),
      names.length > 0 &&
        h(
          'ul',
          { class: 'tokens' },
          names.slice(0, 50).map((it) => h('li', {}, h('a', { href: link(it, [firstView()]) }, it))),
        ),
      h('p', { class: 'buttons' }, h('button', { type: 'submit', class: 'main' }, 'Open')),
    ),
  );
}
