// The panel that downloads a batch's accesses as a file, with their passwords while the server stores them.

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

/** The columns of the API's table. */
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
export function downloadPanel({ tenant, signal }, task) {
  const { id, passwordsUntil } = task;
  const trouble = h('div', { 'aria-live': 'polite' });
  const button = (/** @type {string} */ word, /** @type {string} */ type, /** @type {string} */ ending) => {
    const it = h('button', { type: 'button', onclick: () => whileBusy(it, () => download(type, ending)) }, word);
    return it;
  };
  const download = async (/** @type {string} */ type, /** @type {string} */ ending) => {
    replace(trouble);
    try {
      const file = task.state === 'TERMINATED' ? fileOfItems(tenant, id, type) : fileOfTask(tenant, id, type);
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
  /** Redraws the panel; returns whether the passwords may still expire. */
  const draw = async () => {
    const hasPasswords = passwordsUntil !== undefined && new Date(passwordsUntil) > new Date();
    section.className = hasPasswords ? 'panel secret' : 'panel';
    replace(words, hasPasswords ? untilWhen(passwordsUntil) : withoutPasswords());
    return hasPasswords;
  };
  draw();
  repeat(signal, 10, draw);
  return section;
}

/** @param {string} until */
const untilWhen = (until) => [
  h('h2', { id: 'download-title' }, 'Credentials'),
  h(
    'p',
    { id: 'passwords-until' },
    'The passwords are available here until ',
    timeElement(until),
    ` (${relative(until)}). Then the server deletes them permanently.`,
  ),
];

const withoutPasswords = () => [
  h('h2', { id: 'download-title' }, 'Accesses as a file'),
  h(
    'p',
    {},
    may('access:write')
      ? 'The file has no passwords: the batch set none, or the server has deleted them.'
      : 'The file has no passwords: only a token with access:write may read them.',
  ),
];

/**
 * @param {string} tenant
 * @param {string} id
 * @param {string} type
 */
async function fileOfTask(tenant, id, type) {
  const answer = await send('GET', path(tenant, 'access', 'batch', id), { headers: { accept: type } });
  if (!answer.ok) throw await problemOf(answer);
  return readWhole(answer.blob());
}

/**
 * Makes the file from the items: a stopped batch has no list of its accesses.
 * @param {string} tenant
 * @param {string} id
 * @param {string} type
 */
async function fileOfItems(tenant, id, type) {
  const accesses = (await allItems(tenant, id, 'succeeded')).map((it) => it.access);
  return new Blob([type === CSV ? toTable(COLUMNS, accesses) : JSON.stringify(accesses)]);
}
