// A new batch: its operation, its accesses, and a preview before it is sent.

import { go } from '../address.js';
import { ask, path } from '../api/client.js';
import { contractsOf } from '../api/contract.js';
import { idempotencyKeys } from '../api/idempotency_key.js';
import { Problem } from '../api/problem.js';
import { labelKeysOf } from '../api/tenant.js';
import { changeForm } from '../batch/change_form.js';
import { creationForm } from '../batch/creation_form.js';
import { explainRefusal } from '../batch/limits.js';
import { rememberRequest } from '../batch/request.js';
import { readRetry } from '../batch/retry.js';
import { h, replace } from '../element.js';
import { copyButton } from '../part/copy_button.js';
import { confirm } from '../part/dialog.js';
import { choices, onSubmit, whileBusy } from '../part/form.js';
import { problemPanel } from '../part/problem_panel.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'New batch';
export const scopes = ['access:write'];

const KINDS = /** @type {[string, string][]} */ ([
  ['create', 'Create accesses'],
  ['change', 'Change accesses'],
  ['end', 'Terminate accesses at month end'],
]);

/** @param {Context} context */
export async function show({ tenant, query, link, signal }) {
  const failed = query.get('retry');
  const [contracts, labelKeys, retry] = await Promise.all([
    contractsOf(tenant),
    labelKeysOf(tenant),
    failed ? readRetry(tenant, failed, signal) : undefined,
  ]);
  let kind = retry?.kind ?? query.get('kind') ?? 'create';
  if (!KINDS.some(([it]) => it === kind)) kind = 'create';
  const main = h('div', {});
  const place = h('div', {});
  const trouble = h('div', { 'aria-live': 'polite' });
  const send = h('button', { type: 'submit', class: 'main' }, 'Send the batch');
  /** @type {import('../batch/request.js').BatchForm} */
  let form;

  /** @param {string} chosen */
  function choose(chosen) {
    kind = chosen;
    const same = retry?.kind === kind ? retry : undefined;
    if (kind === 'create')
      form = creationForm(contracts, { retry: same, contract: query.get('contract') ?? undefined, labelKeys });
    else form = changeForm(kind, { tenant, signal, retry: same, filter: query.get('filter') ?? undefined, labelKeys });
    replace(place, form.element);
    replace(trouble);
  }

  const keyFor = idempotencyKeys();

  async function submit() {
    replace(trouble);
    const request = await form.request();
    if (!request) return;
    const { address, body, remembered, question } = request;
    if (question) {
      const consequence = question.consequence.map((it) => h('p', {}, it));
      if (!(await confirm({ ...question, consequence }, signal))) return;
    }
    try {
      const { body: task } = await ask('POST', path(tenant, 'access', address), {
        body,
        headers: { 'idempotency-key': keyFor(body) },
      });
      rememberRequest(task.id, remembered);
      if (signal.aborted) return;
      if (may('access:read')) go(link(['batches', task.id]));
      else replace(main, accepted(task.id, link));
    } catch (cause) {
      const words =
        cause instanceof Problem && explainRefusal(cause, new TextEncoder().encode(JSON.stringify(body)).length);
      replace(trouble, problemPanel(cause), words && h('p', { class: 'panel notice' }, words));
    }
  }

  choose(kind);
  replace(
    main,
    retry &&
      h(
        'p',
        { class: 'panel' },
        'These items failed in the previous batch. Correct them, then send the batch. ',
        missingValues(retry),
      ),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: onSubmit(() => whileBusy(send, submit)),
      },
      choices({ name: 'kind', legend: 'Operation', choices: KINDS, chosen: kind, choose }),
      place,
      trouble,
      h('p', { class: 'buttons' }, send, h('a', { class: 'button', href: link(['batches']) }, 'Cancel')),
    ),
  );
  return h('div', {}, h('h1', {}, 'New batch'), main);
}

/**
 * The confirmation for a session that may send batches, but not read them.
 * @param {string} id
 * @param {Context['link']} link
 */
function accepted(id, link) {
  return h(
    'div',
    { class: 'panel', role: 'status' },
    h('h2', {}, 'The batch is accepted'),
    h(
      'p',
      {},
      'The batch is running. To follow it, a user with the scope access:read needs its ID: ',
      h('code', {}, id),
      copyButton('ID', id),
    ),
    h('p', { class: 'buttons' }, h('a', { class: 'button', href: link(['batches']) }, 'Done')),
  );
}

/**
 * Names the values of the previous batch that the retry lacks.
 * @param {import('../batch/retry.js').Retry} retry
 */
function missingValues({ kind, table, change }) {
  if (kind === 'create') {
    return table === undefined
      ? 'Only their number is stored. Chosen passwords are not: the server generates new ones.'
      : 'Chosen passwords are not stored: add them, or the server generates new ones.';
  }
  if (!change?.rotatesPassword) return undefined;
  return 'Chosen passwords are not stored: the server generates new ones.';
}
