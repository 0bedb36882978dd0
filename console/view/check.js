// Checking a device's credentials, like a broker does when the device connects.

import { announce } from '../announcement.js';
import { ask, path } from '../api/client.js';
import { Problem, SignedOut } from '../api/problem.js';
import { h, replace } from '../element.js';
import { field, onSubmit, VERBATIM, whileBusy } from '../part/form.js';
import { facts } from '../part/panel.js';
import { problemPanel } from '../part/problem_panel.js';
import { statusMark } from '../part/status.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Check';
export const scopes = ['access:verify'];

/** @param {Context} context */
export function show({ tenant, link }) {
  const username = h('input', { id: 'username', required: true, ...VERBATIM });
  const password = h('input', { id: 'password', type: 'password', autocomplete: 'off', required: true });
  const button = h('button', { type: 'submit', class: 'main' }, 'Check');
  const outcome = h('div', { 'aria-live': 'polite' });

  async function check() {
    replace(outcome);
    try {
      const { body } = await ask('POST', path(tenant, 'verify'), {
        body: { username: username.value, password: password.value },
      });
      replace(outcome, passed(body));
      announce('The device may connect.');
    } catch (cause) {
      const isRefused = cause instanceof Problem && cause.status === 401 && !(cause instanceof SignedOut);
      replace(outcome, isRefused ? refused() : problemPanel(cause));
    }
  }

  /** @param {any} body */
  const passed = ({ accessId, name, status, contractId, endDateTime }) =>
    h(
      'section',
      { class: 'panel', 'aria-label': 'Outcome' },
      h('h2', {}, h('span', { class: 'status good' }, 'May connect')),
      facts([
        ['Access', may('access:read') ? h('a', { href: link(['accesses', accessId]) }, name) : name],
        ['Status', statusMark(status)],
        ['Contract', contractId],
        ['Ends', endDateTime ? timeElement(endDateTime, { isPrecise: true }) : 'no end date'],
      ]),
    );

  return h(
    'div',
    {},
    h('h1', {}, 'Check a device’s credentials'),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: onSubmit(() => whileBusy(button, check)),
      },
      h(
        'p',
        {},
        'This is the check that a broker makes when a device connects. For a prepaid access that has never connected, a correct password counts as its first connection: its validity begins.',
      ),
      field({ label: 'Username', control: username }),
      field({ label: 'Password', control: password }),
      h('p', { class: 'buttons' }, button),
    ),
    outcome,
  );
}

const refused = () =>
  h(
    'section',
    { class: 'panel problem', 'aria-label': 'Outcome' },
    h('h2', {}, h('span', { class: 'status bad' }, 'Refused')),
    h(
      'p',
      {},
      'The username or the password is wrong, or the access may not connect. The server doesn’t say which, so that usernames can’t be guessed.',
    ),
  );
