// The audit of the estate: tenants that were made and deleted, tokens of operators, and requests that were refused without a
// tenant.

import { auditPage } from '../audit/page.js';
import { h } from '../element.js';
import { emptyPanel } from '../part/panel.js';
import { isForAll } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Audit of the estate';
export const scopes = ['admin'];

/** @param {Context} context */
export async function show(context) {
  const { tenant, link } = context;
  const ofTenant = h('a', { class: 'button', href: link(['audit']) }, h('span', {}, 'Audit of ', h('bdi', {}, tenant)));
  return h(
    'div',
    {},
    h('div', { class: 'title' }, h('h1', {}, title()), h('p', { class: 'buttons' }, ofTenant)),
    isForAll() ? await auditPage(context, { address: '/-/admin/audit', route: ['audit', 'estate'] }) : notPermitted(),
  );
}

const notPermitted = () =>
  emptyPanel(
    'Not permitted',
    h(
      'p',
      {},
      'The audit of the estate needs a token with the scope ',
      h('code', {}, 'admin'),
      ' for all tenants (',
      h('code', {}, '*'),
      '). Yours is for certain tenants only.',
    ),
  );
