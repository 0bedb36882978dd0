// One access in detail, with the actions that change it.

import { announce } from '../announcement.js';
import { ask, get, path } from '../api/client.js';
import { Problem } from '../api/problem.js';
import { labelKeysOf } from '../api/tenant.js';
import { focusOn, h, replace } from '../element.js';
import { accessHistory } from '../event/access_history.js';
import { having, havingLabel, writeFilter } from '../filter/expression.js';
import { labelChips } from '../label/chips.js';
import { askForLabels } from '../label/question.js';
import { copyButton } from '../part/copy_button.js';
import { credentialsPanel, lostPasswordPanel, showCredentialsDialog } from '../part/credentials.js';
import { confirm } from '../part/dialog.js';
import { field } from '../part/form.js';
import { facts } from '../part/panel.js';
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
  /** Holds a new password until the user leaves the view: no other action removes it. */
  const secret = h('div', {});
  /** The version on the page: a change of a newer version is refused. */
  let etag = '';
  /** @type {import('../event/access_history.js').AccessHistory | undefined} */
  let history;
  const readingKeys = labelKeysOf(tenant);
  /** @type {string[] | undefined} */
  let labelKeys;

  async function read() {
    const [{ body, headers }, keys] = await Promise.all([get(address, { signal }), readingKeys]);
    labelKeys = keys;
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
      h('section', { class: 'panel', 'aria-label': 'The access' }, factsOf(access)),
      historyElement(),
    );
  }

  /** The history with the version on the page. */
  function historyElement() {
    if (history) history.follow(versionIn(etag));
    else history = accessHistory({ tenant, id, signal, link });
    return history.element;
  }

  /** @param {any} access */
  function factsOf(access) {
    const { username, deviceName, status, contractId, productOfferingId, startDateTime, endDateTime, createdBy } =
      access;
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
      ['Labels', labelsOf(access)],
      ['Starts', timeElement(startDateTime, { isPrecise: true })],
      [
        'Ends',
        endDateTime
          ? timeElement(endDateTime, { isPrecise: true })
          : h(
              'span',
              { class: 'none' },
              status === 'PENDING_ACTIVE' ? 'set when the device first connects' : 'no end date',
            ),
      ],
      [
        'Created by',
        createdBy ? h('a', { href: link(['batches', createdBy]) }, createdBy) : 'no batch (created individually)',
      ],
      ['ID', [h('code', {}, id), copyButton('ID', id)]],
    ];
    return facts(rows);
  }

  /** @param {any} access */
  function labelsOf(access) {
    const { labels, status } = access;
    const linkTo = (/** @type {string} */ key, /** @type {string} */ value) =>
      link(['accesses'], { filter: writeFilter([[havingLabel(key, value)]]) });
    const mayChange = may('access:write') && status !== 'TERMINATED';
    const words = labels ? 'Change the labels' : 'Add labels';
    return h(
      'div',
      { class: 'with-button' },
      labels ? labelChips(labels, { keys: labelKeys, linkTo }) : h('span', { class: 'none' }, 'none'),
      mayChange && h('button', { type: 'button', class: 'quiet', onclick: () => changeLabels(access) }, words),
    );
  }

  /** @param {any} access */
  function actions(access) {
    const { status } = access;
    if (status === 'TERMINATED')
      return h('p', { class: 'fine' }, 'Permanently terminated: the access can’t be changed.');
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
    if (body) showDone(body, done);
  }

  /** @param {any} access */
  async function changeLabels(access) {
    const labels = await askForLabels(access, labelKeys, signal);
    if (!labels) return;
    const body = await patch({ labels });
    if (body) showDone(body, 'has new labels.');
  }

  /** @param {any} body @param {string} done */
  function showDone(body, done) {
    draw(body);
    announce(`${body.name} ${done}`);
    replace(outcome, h('p', { class: 'panel', role: 'status' }, h('bdi', {}, body.name), ' ', done));
    focusOn(view.querySelector('h1'));
  }

  /** @param {any} access */
  async function rotate(access) {
    const own = h('input', { id: 'own-password', type: 'password', autocomplete: 'new-password', maxlength: 72 });
    const question = {
      title: asking('Set a new password for', access.name),
      consequence: [
        h(
          'p',
          {},
          'From the next check on, the old password is refused: a device that still uses it can’t connect until it gets the new one.',
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
    announce('The new password is set, and shown only once.');
    focusOn(secret.querySelector('.copy'));
  }

  /**
   * @param {object} body
   * @param {() => void} [unsure] called if the outcome is unknown
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
      // The user decides on the current state next. If that can't be read either, the first problem is the one to show.
      if (isUnsure || (cause instanceof Problem && cause.status === 412)) await read().catch(() => {});
      replace(outcome, problemPanel(cause));
      if (isUnsure) unsure?.();
      return undefined;
    }
  }

  await read();
  return view;
}

/** The version of an access that its `ETag` tells. @param {string} etag */
const versionIn = (etag) => Number(/\d+/.exec(etag)?.[0] ?? 0);

/** @type {Record<string, string>} */
const EXPLAINED = {
  PENDING_ACTIVE: 'Its validity begins when its device connects for the first time.',
  ACTIVE: 'Its device may connect.',
  SUSPENDED: 'Its device can’t connect until the access is activated again.',
  PENDING_TERMINATE: 'Its device may connect until the access ends.',
  TERMINATED: 'Its device may never connect again.',
};

/** @param {string} status @param {string | undefined} endDateTime */
function explained(status, endDateTime) {
  const isEnding = status === 'SUSPENDED' && endDateTime;
  return isEnding
    ? 'Its device can’t connect. The access can only be activated again before its end.'
    : EXPLAINED[status];
}

/** A question about a name. The `bdi` keeps right-to-left letters of the name from reordering the text. @param {string} what @param {string} name */
const asking = (what, name) => [what, ' ', h('bdi', {}, name), '?'];

const SUSPEND = (/** @type {any} */ { name, endDateTime }) => ({
  status: 'SUSPENDED',
  title: asking('Suspend', name),
  consequence: [
    endDateTime
      ? 'From the next check on, its device can’t connect. Its end does not change: until then, the access can be activated again.'
      : 'From the next check on, its device can’t connect. The access can be activated again at any time.',
  ],
  yes: 'Suspend',
  done: 'is suspended: the next check refuses its device.',
});

const CANCELS_END = 'A planned end is cancelled.';

/** The API doesn't tell whether the device of a suspended access has ever connected. */
const BEGINS_NOW = 'If the access is prepaid and its device has never connected, its validity begins now.';

const ACTIVATE = (/** @type {any} */ { name, status }, /** @type {boolean} */ isPlanned) => ({
  status: 'ACTIVE',
  title: asking(status === 'PENDING_TERMINATE' ? 'Keep' : 'Activate', name),
  consequence: [
    status === 'PENDING_ACTIVE'
      ? 'Its validity begins now, not with its first connection, and its end follows from that.'
      : status === 'PENDING_TERMINATE'
        ? 'The planned end is cancelled, and the access continues as its contract says.'
        : 'From the next check on, its device may connect again.',
    ...(status === 'SUSPENDED' ? [isPlanned ? CANCELS_END : BEGINS_NOW] : []),
  ],
  yes: status === 'PENDING_TERMINATE' ? 'Keep' : 'Activate',
  done: 'is active.',
});

const TERMINATE = (/** @type {any} */ { name, username }) => ({
  status: 'TERMINATED',
  title: asking('Terminate', name),
  consequence: [
    'From the next check on, its device can never connect again. This can’t be undone.',
    ['The username ', h('bdi', {}, username), ' may then be used by another access.'],
  ],
  yes: 'Terminate permanently',
  done: 'is terminated.',
  isIrreversible: true,
});
