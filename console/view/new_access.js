// Creating one access. Only this view shows its password.

import { announce } from '../announcement.js';
import { ask, path } from '../api/client.js';
import { contractsOf } from '../api/contract.js';
import { idempotencyKeys } from '../api/idempotency_key.js';
import { Problem } from '../api/problem.js';
import { labelKeysOf } from '../api/tenant.js';
import { focusOn, h, replace } from '../element.js';
import { labelRows } from '../label/rows.js';
import { contractChoice } from '../part/contract_choice.js';
import { credentialsPanel, showCredentialsDialog } from '../part/credentials.js';
import { field, onSubmit, showFaults, VERBATIM, whileBusy } from '../part/form.js';
import { problemPanel } from '../part/problem_panel.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Create an access';
export const scopes = ['access:write'];

/** The control of each field. */
const CONTROLS = { contractId: 'contract', username: 'username', password: 'password', deviceName: 'device-name' };

/** @param {Context} context */
export async function show({ tenant, query, link, signal }) {
  const [contracts, keys] = await Promise.all([contractsOf(tenant), labelKeysOf(tenant)]);
  const input = (/** @type {string} */ id, /** @type {object} */ more = {}) =>
    h('input', { id, name: id, ...VERBATIM, ...more });
  const contract = contractChoice(contracts, query.get('contract') ?? '');
  const [deviceName, username, password] = [
    input('device-name'),
    input('username'),
    input('password', { type: 'password', autocomplete: 'new-password' }),
  ];
  const rows = labelRows({
    legend: 'Labels (optional)',
    hint: 'Keys and values of your own, such as site and hamburg, to find accesses by. They can be changed later.',
    keys,
  });
  const send = h('button', { type: 'submit', class: 'main' }, 'Create');
  const trouble = h('div', { 'aria-live': 'polite' });
  const main = h('div', {});

  let keyFor = idempotencyKeys();

  async function create() {
    const given = {
      contractId: contract.value,
      deviceName: deviceName.value,
      username: username.value,
      password: password.value,
    };
    replace(trouble);
    showFaults(form, [], CONTROLS);
    const labels = rows.read();
    if (!labels) return;
    const filledIn = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    const body = { ...filledIn, ...(Object.keys(labels).length > 0 && { labels }) };
    try {
      const { body: access } = await ask('POST', path(tenant, 'access'), {
        body,
        headers: { 'idempotency-key': keyFor(body) },
      });
      if (signal.aborted) showCredentialsDialog(access);
      else showCreated(access);
    } catch (cause) {
      const faults = cause instanceof Problem ? cause.invalidParams : [];
      const left = showFaults(form, faults, CONTROLS);
      if (faults.length === 0 || left.length > 0) replace(trouble, problemPanel(cause));
    }
  }

  /** @param {any} access */
  function showCreated(access) {
    announce('The access was created. Its password is shown only once.');
    replace(
      main,
      h(
        'div',
        { class: 'panel' },
        h(
          'p',
          {},
          'The access ',
          h('strong', {}, access.name),
          ' was created under the contract ',
          h('strong', {}, access.contractId),
          '.',
        ),
        h(
          'p',
          { class: 'buttons' },
          may('access:read') && h('a', { class: 'button', href: link(['accesses', access.id]) }, 'Open the access'),
          h('button', { type: 'button', onclick: () => again(access.contractId) }, 'Create another'),
        ),
      ),
      credentialsPanel(access),
    );
    focusOn(main.querySelector('.copy'));
  }

  /** @param {string} contractId */
  function again(contractId) {
    keyFor = idempotencyKeys();
    form.reset();
    // The next access often has the same contract and labels.
    contract.value = contractId;
    rows.redraw();
    replace(main, form);
    deviceName.focus();
  }

  const form = h(
    'form',
    {
      class: 'panel fields',
      onsubmit: onSubmit(() => whileBusy(send, create)),
    },
    field({
      label: 'Contract',
      control: contract,
      hint: 'The contract determines the offering, the billing and the lifetime of the access. It can’t be changed later.',
    }),
    field({ label: 'Device name (optional)', control: deviceName, hint: 'For example pump-7.' }),
    field({
      label: 'Username (optional)',
      control: username,
      hint: 'Generated if left empty. It must be unique among the tenant’s accesses that are not terminated.',
    }),
    field({
      label: 'Password (optional)',
      control: password,
      hint: 'Generated if left empty. A generated password can’t be guessed, and is checked faster.',
    }),
    rows.element,
    trouble,
    h('p', { class: 'buttons' }, send, h('a', { class: 'button', href: link(['accesses']) }, 'Cancel')),
  );
  replace(main, form);
  return h('div', {}, h('h1', {}, 'Create an access'), main);
}
