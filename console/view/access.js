// One access in detail, and what can be done with it.

import { announce } from '../announcement.js';
import { ask, get, path } from '../api/client.js';
import { Problem } from '../api/problem.js';
import { focusOn, h, replace } from '../element.js';
import { having } from '../filter/expression.js';
import { copyButton } from '../part/copy_button.js';
import { credentialsPanel, lostPasswordPanel, showCredentialsDialog } from '../part/credentials.js';
import { confirm } from '../part/dialog.js';
import { field } from '../part/form.js';
import { problemPanel } from '../part/problem_panel.js';
import { statusMark } from '../part/status.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../element.js').Child} Child */

export const title = () => 'Access';
export const scopes = ['access:read'];

/** @param {Context} context */
export async function show({ tenant, params: [id], signal, link }) {
  const address = path(tenant, 'access', id);
  const view = h('div', {});
  const outcome = h('div', { 'aria-live': 'polite' });
  /** Stays until the view is left: nothing that happens beside it takes a password away. */
  const secret = h('div', {});
  /** The version that is shown: nobody changes what they haven't seen. */
  let etag = '';

  async function read() {
    const { body, headers } = await get(address, { signal });
    etag = headers.get('etag') ?? '';
    draw(body);
  }

  /** @param {any} access */
  function draw(access) {
    replace(
      view,
      h('div', { class: 'title' }, h('h1', {}, access.name), may('access:write') && actions(access)),
      outcome,
      secret,
      h('section', { class: 'panel', 'aria-label': 'The access' }, facts(access)),
    );
  }

  /** @param {any} access */
  function facts({
    username,
    deviceName,
    status,
    contractId,
    productOfferingId,
    startDateTime,
    endDateTime,
    createdBy,
  }) {
    /** @type {[string, Child][]} */
    const rows = [
      ['Status', [statusMark(status), ' ', h('span', { class: 'fine' }, explained(status, endDateTime))]],
      ['Username', [h('code', {}, username), copyButton('username', username)]],
      ['Device name', deviceName ?? h('span', { class: 'none' }, 'none')],
      [
        'Contract',
        h(
          'a',
          {
            href: link(['accesses'], { filter: having('contractId', contractId) }),
            title: 'All accesses of this contract',
          },
          contractId,
        ),
      ],
      ['Offering', productOfferingId],
      ['Starts', timeElement(startDateTime, { isPrecise: true })],
      [
        'Ends',
        endDateTime
          ? timeElement(endDateTime, { isPrecise: true })
          : h('span', { class: 'none' }, status === 'PENDING_ACTIVE' ? 'not known before it connects' : 'without end'),
      ],
      ['Made by', createdBy ? h('a', { href: link(['batches', createdBy]) }, createdBy) : 'no batch: one by one'],
      ['ID', [h('code', {}, id), copyButton('ID', id)]],
    ];
    return h(
      'dl',
      { class: 'facts' },
      rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
    );
  }

  /** @param {any} access */
  function actions(access) {
    const { status } = access;
    if (status === 'TERMINATED')
      return h('p', { class: 'fine' }, 'Terminated for good: nothing can be changed any more.');
    const button = (/** @type {string} */ word, /** @type {() => void} */ onclick) =>
      h('button', { type: 'button', onclick }, word);
    const isPlanned = status === 'PENDING_TERMINATE' || (status === 'SUSPENDED' && access.endDateTime);
    return h(
      'p',
      { class: 'buttons' },
      button('New password', () => rotate(access)),
      status !== 'SUSPENDED' && button('Suspend', () => change(SUSPEND(access))),
      status !== 'ACTIVE' &&
        button(status === 'PENDING_TERMINATE' ? 'Keep' : 'Activate', () => change(ACTIVATE(access, isPlanned))),
      button('Terminate', () => change(TERMINATE(access))),
    );
  }

  /**
   * @param {{status: string, title: Child, consequence: Child[], yes: string, done: string, isIrreversible?: boolean}} what
   */
  async function change({ status, title, consequence, yes, done, isIrreversible }) {
    const question = { title, yes, isIrreversible, consequence: consequence.map((it) => h('p', {}, it)) };
    if (!(await confirm(question, signal))) return;
    const body = await patch({ status });
    if (!body) return;
    draw(body);
    announce(`${body.name} ${done}`);
    replace(outcome, h('p', { class: 'panel', role: 'status' }, h('bdi', {}, body.name), ' ', done));
    focusOn(view.querySelector('h1'));
  }

  /** @param {any} access */
  async function rotate(access) {
    const own = h('input', { id: 'own-password', type: 'password', autocomplete: 'new-password', maxlength: 72 });
    const question = {
      title: asking('A new password for', access.name),
      consequence: [
        h(
          'p',
          {},
          'From the next check on, the old password lets nobody in: a device that still has it can’t connect until it gets the new one.',
        ),
      ],
      form: field({ label: 'Password (optional)', control: own, hint: 'Generated if left empty. At most 72 bytes.' }),
      yes: 'Set the new password',
    };
    if (!(await confirm(question, signal))) return;
    const password = own.value;
    const body = await patch(password ? { password } : { rotatePassword: true }, () => {
      if (!password) return replace(secret, lostPasswordPanel());
      const given = { ...access, password };
      if (signal.aborted) showCredentialsDialog(given, { isUnsure: true });
      else replace(secret, credentialsPanel(given, { isUnsure: true }));
    });
    if (!body) return;
    if (signal.aborted) return showCredentialsDialog(body);
    draw(body);
    replace(secret, credentialsPanel(body));
    announce('The new password is set, and shown only now.');
    focusOn(secret.querySelector('.copy'));
  }

  /**
   * @param {object} body
   * @param {() => void} [unsure] what is to be done where nobody knows whether it happened
   */
  async function patch(body, unsure) {
    replace(outcome);
    try {
      const answer = await ask('PATCH', address, {
        body,
        type: 'application/merge-patch+json',
        headers: { 'if-match': etag },
      });
      etag = answer.headers.get('etag') ?? '';
      return answer.body;
    } catch (cause) {
      const isUnsure = cause instanceof Problem && cause.isUnsure;
      // How it is now is what is decided on next. Should that fail, too, the first trouble is the one to tell.
      if (isUnsure || (cause instanceof Problem && cause.status === 412)) await read().catch(() => {});
      replace(outcome, problemPanel(cause));
      if (isUnsure) unsure?.();
      return undefined;
    }
  }

  await read();
  return view;
}

/** @type {Record<string, string>} */
const EXPLAINED = {
  PENDING_ACTIVE: 'Its validity begins when its device connects for the first time.',
  ACTIVE: 'Its device may connect.',
  SUSPENDED: 'Its device is kept out until it is activated again.',
  PENDING_TERMINATE: 'Its device may connect until its end.',
  TERMINATED: 'Its device may never connect again.',
};

/** @param {string} status @param {string | undefined} endDateTime */
function explained(status, endDateTime) {
  const isEnding = status === 'SUSPENDED' && endDateTime;
  return isEnding ? 'Its device is kept out; it is activated again before its end, or never.' : EXPLAINED[status];
}

/** A question about a name, whose letters can't turn the rest around. @param {string} what @param {string} name */
const asking = (what, name) => [what, ' ', h('bdi', {}, name), '?'];

const SUSPEND = (/** @type {any} */ { name, endDateTime }) => ({
  status: 'SUSPENDED',
  title: asking('Suspend', name),
  consequence: [
    endDateTime
      ? 'From the next check on, its device can’t connect. Its end stays as it is: until then, it can be activated again.'
      : 'From the next check on, its device can’t connect. It can be activated again at any time.',
  ],
  yes: 'Suspend',
  done: 'is suspended: the next check refuses it.',
});

const CALLS_OFF = 'If an end was planned for it, that is called off.';

/** What a suspended access doesn't tell: whether it has ever connected. */
const BEGINS_NOW = 'If it is prepaid and has never connected, its validity begins now.';

const ACTIVATE = (/** @type {any} */ { name, status }, /** @type {boolean} */ isPlanned) => ({
  status: 'ACTIVE',
  title: asking(status === 'PENDING_TERMINATE' ? 'Keep' : 'Activate', name),
  consequence: [
    status === 'PENDING_ACTIVE'
      ? 'Its validity begins now, not with its first connection, and its end follows from that.'
      : status === 'PENDING_TERMINATE'
        ? 'The planned end is called off, and it lives on as its contract says.'
        : 'From the next check on, its device may connect again.',
    ...(status === 'SUSPENDED' ? [isPlanned ? CALLS_OFF : BEGINS_NOW] : []),
  ],
  yes: status === 'PENDING_TERMINATE' ? 'Keep' : 'Activate',
  done: 'is active.',
});

const TERMINATE = (/** @type {any} */ { name, username }) => ({
  status: 'TERMINATED',
  title: asking('Terminate', name),
  consequence: [
    'From the next check on, its device can never connect again. This can’t be undone.',
    ['The username ', h('bdi', {}, username), ' may then be given to another access.'],
  ],
  yes: 'Terminate for good',
  done: 'is terminated.',
  isIrreversible: true,
});
