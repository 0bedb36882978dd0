// Creating a hub. Only this view shows its first secret.

import { announce } from '../announcement.js';
import { contractsOf } from '../api/contract.js';
import { createHub } from '../api/hub.js';
import { Problem } from '../api/problem.js';
import { focusOn, h, replace } from '../element.js';
import { faultsByCondition, writeQuery } from '../hub/query.js';
import { queryFields } from '../hub/query_fields.js';
import { secretPanel, showSecretDialog } from '../hub/secret_panel.js';
import { field, onSubmit, showFaults, VERBATIM, whileBusy } from '../part/form.js';
import { problemPanel } from '../part/problem_panel.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'New hub';
export const scopes = ['event:write'];

/** The control of each field. */
const CONTROLS = { callback: 'callback', accessId: 'access', contractId: 'contract', batch: 'batch' };

/** @param {Context} context */
export async function show({ tenant, link, signal }) {
  const contracts = await contractsOf(tenant);
  const callback = h('input', { id: 'callback', name: 'callback', inputmode: 'url', required: true, ...VERBATIM });
  const query = queryFields(contracts);
  const send = h('button', { type: 'submit', class: 'main' }, 'Create');
  const trouble = h('div', { 'aria-live': 'polite' });
  const main = h('div', {});

  async function create() {
    replace(trouble);
    showFaults(form, [], CONTROLS);
    try {
      const body = { callback: callback.value.trim(), query: writeQuery(query.read()) };
      const hub = await createHub(tenant, body);
      if (signal.aborted) showSecretDialog(hub);
      else showCreated(hub);
    } catch (cause) {
      const faults = cause instanceof Problem ? faultsByCondition(cause.invalidParams) : [];
      const left = showFaults(form, faults, CONTROLS);
      if (faults.length === 0 || left.length > 0) replace(trouble, problemPanel(cause));
    }
  }

  /** @param {import('../api/hub.js').IssuedHub} hub */
  function showCreated(hub) {
    announce('The hub was created. Its secret is shown only once.');
    replace(
      main,
      h(
        'div',
        { class: 'panel' },
        h('p', {}, 'The hub was created. Its subscriber gets the events from now on.'),
        h(
          'p',
          { class: 'buttons' },
          h('a', { class: 'button', href: link(['hubs', hub.id]) }, 'Open the hub'),
          h('a', { class: 'button', href: link(['hubs']) }, 'All hubs'),
        ),
      ),
      secretPanel(hub),
    );
    focusOn(main.querySelector('.copy'));
  }

  const form = h(
    'form',
    { class: 'panel fields', onsubmit: onSubmit(() => whileBusy(send, create)) },
    field({
      label: 'Callback',
      control: callback,
      hint: 'The subscriber’s address, to which the server sends the events: https, for example https://crm.example.com/events. It can’t be changed later, nor can the other fields.',
    }),
    query.elements,
    trouble,
    h('p', { class: 'buttons' }, send, h('a', { class: 'button', href: link(['hubs']) }, 'Cancel')),
  );
  replace(main, form);
  return h('div', {}, h('h1', {}, 'New hub'), main);
}
