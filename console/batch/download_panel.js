// What a batch has made, as a file; with the passwords, as long as they are kept.

import { path, problemOf, readWhole, send } from '../api/client.js';
import { allItems } from '../api/task.js';
import { h, replace } from '../element.js';
import { saveFile } from '../part/credentials.js';
import { whileBusy } from '../part/form.js';
import { repeat } from '../part/loading.js';
import { problemPanel } from '../part/problem_panel.js';
import { relative, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';
import { toTable } from './csv_writer.js';

const CSV = 'text/csv';
const JSON_TYPE = 'application/json';

/** As the API's own table has them. */
const COLUMNS = [
  'id',
  'username',
  'password',
  'deviceName',
  'name',
  'status',
  'contractId',
  'productOfferingId',
  'startDateTime',
  'endDateTime',
];

/**
 * @param {import('../view/context.js').Context} context
 * @param {import('../api/task.js').Task} task
 */
export function batchDownload({ tenant, signal }, task) {
  const { id, passwordsUntil } = task;
  const trouble = h('div', { 'aria-live': 'polite' });
  const button = (/** @type {string} */ word, /** @type {string} */ type, /** @type {string} */ ending) => {
    const it = h('button', { type: 'button', onclick: () => whileBusy(it, () => download(type, ending)) }, word);
    return it;
  };
  const download = async (/** @type {string} */ type, /** @type {string} */ ending) => {
    replace(trouble);
    try {
      const file = task.state === 'TERMINATED' ? fromItems(tenant, id, type) : asItIs(tenant, id, type);
      saveFile(`${id}.${ending}`, await file, type);
    } catch (cause) {
      replace(trouble, problemPanel(cause));
    }
  };
  const buttons = h(
    'p',
    { class: 'buttons' },
    button('Download CSV', CSV, 'csv'),
    button('Download JSON', JSON_TYPE, 'json'),
  );
  const words = h('div', {});
  const section = h('section', { 'aria-labelledby': 'download-title' }, words, buttons, trouble);
  /** As time goes on. Whether it is worth looking again. */
  const tell = async () => {
    const hasPasswords = passwordsUntil !== undefined && new Date(passwordsUntil) > new Date();
    section.className = hasPasswords ? 'panel secret' : 'panel';
    replace(words, hasPasswords ? untilWhen(passwordsUntil) : withoutPasswords());
    return hasPasswords;
  };
  tell();
  repeat(signal, 10, tell);
  return section;
}

/** @param {string} until */
const untilWhen = (until) => [
  h('h2', { id: 'download-title' }, 'Credentials'),
  h(
    'p',
    { id: 'passwords-until' },
    'The passwords can be had here until ',
    timeElement(until),
    ` (${relative(until)}). Then they are destroyed; nobody can bring them back.`,
  ),
];

const withoutPasswords = () => [
  h('h2', { id: 'download-title' }, 'The accesses as a file'),
  h(
    'p',
    {},
    may('access:write')
      ? 'There are no passwords here: the batch set none, or their time is over.'
      : 'There are no passwords here: your token may read accesses, but only one with access:write sees passwords.',
  ),
];

/**
 * @param {string} tenant
 * @param {string} id
 * @param {string} type
 */
async function asItIs(tenant, id, type) {
  const answer = await send('GET', path(tenant, 'access', 'batch', id), { headers: { accept: type } });
  if (!answer.ok) throw await problemOf(answer);
  return readWhole(answer.blob());
}

/**
 * A batch that was stopped has no list of what it made, but its items are there.
 * @param {string} tenant
 * @param {string} id
 * @param {string} type
 */
async function fromItems(tenant, id, type) {
  const accesses = (await allItems(tenant, id, 'succeeded')).map((it) => it.access);
  return new Blob([type === CSV ? toTable(COLUMNS, accesses) : JSON.stringify(accesses)]);
}
