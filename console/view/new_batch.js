// A new batch: what it does, to which accesses, and what it would be before it is sent.

import { go } from '../address.js';
import { ask, path } from '../api/client.js';
import { contractsOf } from '../api/contract.js';
import { idempotencyKeys } from '../api/idempotency_key.js';
import { Problem } from '../api/problem.js';
import { changeForm } from '../batch/change_form.js';
import { creationForm } from '../batch/creation_form.js';
import { explainRefusal } from '../batch/limits.js';
import { rememberRequest } from '../batch/request.js';
import { readRetry } from '../batch/retry.js';
import { h, replace } from '../element.js';
import { copyButton } from '../part/copy_button.js';
import { confirm } from '../part/dialog.js';
import { choices, whileBusy } from '../part/form.js';
import { problemPanel } from '../part/problem_panel.js';
import { may } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'New batch';
export const scopes = ['access:write'];

const KINDS = /** @type {[string, string][]} */ ([
  ['create', 'Create accesses'],
  ['change', 'Change accesses'],
  ['end', 'End accesses with the month'],
]);

/** @param {Context} context */
export async function show({ tenant, query, link, signal }) {
  const failed = query.get('retry');
  const [contracts, retry] = await Promise.all([
    contractsOf(tenant),
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
      form = creationForm(contracts, { retry: same, contract: query.get('contract') ?? undefined });
    else form = changeForm(kind, same);
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
        'This is what failed in the batch before. Mend what was wrong, then send it. ',
        lostOf(retry),
      ),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          whileBusy(send, submit);
        },
      },
      choices({ name: 'kind', legend: 'What', choices: KINDS, chosen: kind, choose }),
      place,
      trouble,
      h('p', { class: 'buttons' }, send, h('a', { class: 'button', href: link(['batches']) }, 'Cancel')),
    ),
  );
  return h('div', {}, h('h1', {}, 'New batch'), main);
}

/**
 * For whoever sends batches, but may not follow them.
 * @param {string} id
 * @param {Context['link']} link
 */
function accepted(id, link) {
  return h(
    'div',
    { class: 'panel', role: 'status' },
    h('h2', {}, 'The batch is accepted'),
    h('p', {}, 'It is worked off now. Whoever may follow it needs its ID: ', h('code', {}, id), copyButton('ID', id)),
    h('p', { class: 'buttons' }, h('a', { class: 'button', href: link(['batches']) }, 'Done')),
  );
}

/**
 * What nobody can know any more of a batch that is sent again.
 * @param {import('../batch/retry.js').Retry} retry
 */
function lostOf({ kind, table, remembered }) {
  if (kind === 'create') {
    return table === undefined
      ? 'Nothing but their number is kept. Passwords that were chosen are not: new ones are generated.'
      : 'Passwords that were chosen are not kept: add them, or new ones are generated.';
  }
  if (kind === 'end' || remembered.status) return undefined;
  return 'The batch doesn’t tell what was asked of it, and this tab hasn’t sent it: choose again what is to be done. It may have set a password, too; only the command line and the API do that for many.';
}
