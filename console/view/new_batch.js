// A new batch: what it does, to which accesses, and what it would be before it is sent.

import { go } from '../address.js';
import { ask, path } from '../api.js';
import { keepNote } from '../batch_note.js';
import { contractsOf } from '../contract.js';
import { h, replace } from '../element.js';
import { newKey } from '../idempotency.js';
import { creationForm } from '../part/creation_form.js';
import { confirm } from '../part/dialog.js';
import { choices, field, whilePressed } from '../part/form.js';
import { counted } from '../part/number.js';
import { problemPanel } from '../part/problem.js';
import { readRetry } from '../retry.js';

/** @typedef {import('../views.js').Context} Context */

/**
 * What a form has ready to be sent.
 * @typedef {object} Ready
 * @property {string} address below the tenant's accesses
 * @property {object} body
 * @property {import('../batch_note.js').Note} note
 * @property {{title: string, consequence: string[], yes: string, isGrave?: boolean}} [question]
 */

/** @typedef {{element: HTMLElement, ready: () => Ready | undefined | Promise<Ready | undefined>}} Form */

export const title = () => 'New batch';
export const needs = ['access:write'];

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
  const place = h('div', {});
  const trouble = h('div', { 'aria-live': 'polite' });
  const send = h('button', { type: 'submit', class: 'main' }, 'Send the batch');
  /** @type {Form} */
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

  let key = newKey();
  let sent = '';

  async function submit() {
    replace(trouble);
    const ready = await form.ready();
    if (!ready) return;
    const { address, body, note, question } = ready;
    if (question && !(await confirm({ ...question, consequence: question.consequence.map((it) => h('p', {}, it)) })))
      return;
    // The same batch, sent again because its answer was lost, is the same Task.
    const text = JSON.stringify(body);
    if (sent !== '' && sent !== text) key = newKey();
    sent = text;
    try {
      const { body: task } = await ask('POST', path(tenant, 'access', address), {
        body,
        headers: { 'idempotency-key': key },
      });
      keepNote(task.id, note);
      go(link(['batches', task.id]));
    } catch (cause) {
      replace(trouble, problemPanel(cause));
    }
  }

  choose(kind);
  return h(
    'div',
    {},
    h('h1', {}, 'New batch'),
    retry &&
      h(
        'p',
        { class: 'panel' },
        'This is what failed in the batch before. Mend what was wrong, then send it.',
        retry.table !== undefined && ' Passwords that were chosen are not kept: add them, or new ones are generated.',
      ),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          whilePressed(send, submit);
        },
      },
      choices({ name: 'kind', legend: 'What', choices: KINDS, chosen: kind, choose }),
      place,
      trouble,
      h('p', { class: 'buttons' }, send, h('a', { class: 'button', href: link(['batches']) }, 'Cancel')),
    ),
  );
}

const CHANGES = /** @type {[string, string][]} */ ([
  ['SUSPENDED', 'Suspend: their devices are kept out'],
  ['ACTIVE', 'Activate: their devices may connect; a planned end is called off'],
  ['TERMINATED', 'Terminate at once, for good'],
]);

/**
 * @param {string} kind
 * @param {import('../retry.js').Retry | undefined} retry
 * @returns {Form}
 */
function changeForm(kind, retry) {
  const isEnd = kind === 'end';
  const chosen = retry?.note.status ?? 'SUSPENDED';
  const status = h(
    'select',
    { id: 'change' },
    CHANGES.map(([value, word]) => h('option', { value, selected: value === chosen }, word)),
  );
  const ids = h('textarea', {
    id: 'ids',
    rows: 8,
    required: true,
    spellcheck: 'false',
    value: retry?.ids?.join('\n') ?? '',
  });
  const fault = h('p', { class: 'fault', role: 'alert', hidden: true });
  const found = h('p', { class: 'fine', 'aria-live': 'polite' });
  const read = () => [
    ...new Set(ids.value.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? []),
  ];
  const tell = () => {
    found.textContent =
      ids.value.trim() === '' ? '' : `${counted(read().length, 'access ID is', 'access IDs are')} in it.`;
    fault.hidden = true;
  };
  ids.addEventListener('input', tell);
  tell();
  const element = h(
    'div',
    { class: 'fields' },
    !isEnd && field({ label: 'Change', control: status }),
    field({
      label: 'IDs of accesses',
      control: ids,
      hint: 'Paste them, or a whole table that has them, such as a batch’s CSV. Only accesses of pay-per-use contracts can be changed by a batch.',
    }),
    found,
    fault,
  );
  const ready = () => {
    const all = read();
    if (all.length === 0) {
      fault.textContent = 'There is no access ID in it. One looks like 01a1dd4d-f036-7005-9379-54b08ec1966e.';
      fault.hidden = false;
      ids.focus();
      return undefined;
    }
    const them = counted(all.length, 'access', 'accesses');
    const operation = isEnd
      ? { operationType: 'terminate', operationBody: {} }
      : { operationType: 'update', operationBody: { status: status.value } };
    return {
      address: 'batchUpdate',
      body: { ...operation, accessesIdList: all },
      note: isEnd ? {} : { status: status.value },
      question: isEnd ? endQuestion(them) : changeQuestion(status.value, them),
    };
  };
  return { element, ready };
}

/** @param {string} them */
const endQuestion = (them) => ({
  title: `End ${them} with the month?`,
  consequence: [
    'Their devices may connect until the first instant of the next month in the tenant’s time zone. Until then, activating an access calls its end off.',
  ],
  yes: `End ${them}`,
  isGrave: true,
});

/** @param {string} status @param {string} them */
function changeQuestion(status, them) {
  if (status === 'TERMINATED') {
    return {
      title: `Terminate ${them}?`,
      consequence: [
        'From the next check on, their devices can never connect again. This can’t be undone, and their usernames stay taken.',
      ],
      yes: `Terminate ${them} for good`,
      isGrave: true,
    };
  }
  if (status === 'SUSPENDED') {
    return {
      title: `Suspend ${them}?`,
      consequence: ['As the batch comes to them, their devices can’t connect any more. They can be activated again.'],
      yes: `Suspend ${them}`,
    };
  }
  return {
    title: `Activate ${them}?`,
    consequence: [
      'As the batch comes to them, their devices may connect again. Ends that were planned are called off.',
    ],
    yes: `Activate ${them}`,
  };
}
