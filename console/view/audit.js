// The audit of the tenant: changes of its setup, its tokens, and refused requests.

import { auditPage } from '../audit/page.js';
import { h } from '../element.js';
import { isForAll } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Audit';
export const scopes = ['admin'];

/** @param {Context} context */
export async function show(context) {
  const { tenant, link } = context;
  const address = `/-/admin/tenants/${encodeURIComponent(tenant)}/audit`;
  const page = await auditPage(context, { address, route: ['audit'] });
  return h(
    'div',
    {},
    h(
      'div',
      { class: 'title' },
      h('h1', {}, 'Audit of ', h('bdi', {}, tenant)),
      isForAll() &&
        h(
          'p',
          { class: 'buttons' },
          h('a', { class: 'button', href: link(['audit', 'estate']) }, 'Audit of the estate'),
        ),
    ),
    page,
  );
}
