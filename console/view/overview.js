// The overview: how many accesses there are and what they are like, what came and went, what is under way, and whether the
// platforms answer.

import { get, getPage, path } from '../api/client.js';
import { isOver, KIND_WORDS, listTasks, readAllProgress } from '../api/task.js';
import { progressBar } from '../batch/progress.js';
import { h } from '../element.js';
import { having } from '../filter/expression.js';
import { daysChart, dividedBar, plainBar } from '../part/chart.js';
import { poll } from '../part/loading.js';
import { count, counted } from '../part/number.js';
import { ACCESS_STATUSES, statusMark, statusWord } from '../part/status.js';
import { table } from '../part/table.js';
import { createdAt, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** So many contracts are shown; all of them are in their own view. */
const CONTRACTS_MAX = 12;

/** Seconds between two looks. */
const AGAIN = 5;

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Overview';
export const scopes = ['access:read', 'product:read'];

/** @param {Context} context */
export function show(context) {
  const { tenant, signal } = context;
  const figures = h('div', { class: 'grid' });
  const running = h('div', {});
  const accounts = h('div', {});
  if (may('access:read')) {
    poll(signal, figures, 'Counting accesses …', AGAIN, () => readFigures(context));
    poll(signal, running, 'Looking for batches …', AGAIN, () => readRunning(context));
  }
  if (may('product:read')) poll(signal, accounts, 'Looking at the accounts …', AGAIN, () => readAccounts(context));
  return h(
    'div',
    {},
    h('h1', {}, 'Overview'),
    may('access:read') && figures,
    h(
      'div',
      { class: 'grid' },
      may('access:read') &&
        h(
          'section',
          { class: 'panel', 'aria-labelledby': 'running' },
          h('h2', { id: 'running' }, 'Batches under way'),
          running,
        ),
      may('product:read') &&
        h(
          'section',
          { class: 'panel', 'aria-labelledby': 'platforms' },
          h('h2', { id: 'platforms' }, 'Platforms'),
          accounts,
        ),
    ),
    h('p', { class: 'fine' }, `Figures of ${tenant}, looked at every ${AGAIN} seconds.`),
  );
}

/** @param {Context} context */
async function readFigures({ tenant, signal, link }) {
  const { body } = await get(path(tenant, 'summary'), { signal });
  const draw = () => {
    if (body.total === 0) return welcome(link);
    return [
      h(
        'section',
        { class: 'panel', 'aria-labelledby': 'by-status' },
        h('h2', { id: 'by-status' }, counted(body.total, 'access', 'accesses')),
        statusTable(body.byStatus, body.total),
      ),
      h(
        'section',
        { class: 'panel wide', 'aria-labelledby': 'per-day' },
        h('h2', { id: 'per-day' }, 'Created and ended, last 90 days'),
        daysChart(body.perDay),
      ),
      h(
        'section',
        { class: 'panel whole', 'aria-labelledby': 'by-contract' },
        h('h2', { id: 'by-contract' }, 'By contract'),
        contractTable(body.byContract, link),
      ),
    ];
  };
  return { text: JSON.stringify(body), draw };
}

/** @param {Context['link']} link */
function welcome(link) {
  return h(
    'section',
    { class: 'panel empty whole' },
    h('h2', {}, 'No accesses yet'),
    h('p', {}, 'An access is a username and a password that let one device in, under one of your contracts.'),
    may('access:write') &&
      h(
        'p',
        { class: 'buttons' },
        h('a', { class: 'button main', href: link(['accesses', 'new']) }, 'Create an access'),
        h('a', { class: 'button', href: link(['batches', 'new']) }, 'Create many'),
      ),
  );
}

/** @param {Record<string, number>} byStatus @param {number} total */
function statusTable(byStatus, total) {
  return table({
    caption: 'Accesses by status',
    isCompact: true,
    columns: [
      { name: 'Status', cell: (it) => statusMark(it), isHeading: true },
      { name: 'Accesses', cell: (it) => count(byStatus[it] ?? 0), kind: 'number' },
      { name: 'Part', cell: (it) => dividedBar({ [it]: byStatus[it] ?? 0 }, total) },
    ],
    rows: ACCESS_STATUSES,
  });
}

/**
 * @param {{contractId: string, productOfferingId: string, byStatus: Record<string, number>}[]} byContract
 * @param {Context['link']} link
 */
function contractTable(byContract, link) {
  const size = (/** @type {{byStatus: Record<string, number>}} */ it) =>
    Object.values(it.byStatus).reduce((sum, n) => sum + n, 0);
  const largest = [...byContract].sort((a, b) => size(b) - size(a)).slice(0, CONTRACTS_MAX);
  const whole = Math.max(...largest.map(size), 0);
  return [
    table({
      caption: 'Accesses by contract and status',
      columns: [
        {
          name: 'Contract',
          isHeading: true,
          cell: (it) =>
            h('a', { href: link(['accesses'], { filter: having('contractId', it.contractId) }) }, it.contractId),
        },
        { name: 'All', cell: (it) => count(size(it)), kind: 'number' },
        ...ACCESS_STATUSES.map((status) => ({
          name: statusWord(status),
          kind: /** @type {const} */ ('number'),
          cell: (/** @type {{byStatus: Record<string, number>}} */ it) => count(it.byStatus[status] ?? 0),
        })),
        { name: 'Shares', cell: (it) => dividedBar(it.byStatus, whole) },
      ],
      rows: largest,
    }),
    byContract.length > largest.length &&
      h(
        'p',
        {},
        `The ${CONTRACTS_MAX} largest. `,
        h('a', { href: link(['contracts']) }, `All ${count(byContract.length)} contracts`),
      ),
  ];
}

/** @param {Context} context */
async function readRunning({ tenant, signal, link }) {
  const { tasks, total } = await listTasks(tenant, { page: 1, size: 100 }, signal);
  const running = tasks.filter((it) => !isOver(it));
  const open = running.slice(0, 10);
  const far = await readAllProgress(
    tenant,
    open.map((it) => it.id),
    signal,
  );
  const draw = () => {
    if (open.length === 0) {
      return h(
        'p',
        { class: 'waiting' },
        total === 0
          ? 'None, and there has been none yet. '
          : total > tasks.length
            ? `None among the newest ${count(tasks.length)}. `
            : 'None just now. ',
        total > 0 && h('a', { href: link(['batches']) }, 'What came of the others'),
      );
    }
    return [
      h(
        'ul',
        { class: 'tasks' },
        open.map((task) => {
          const progress = far.get(task.id);
          return h(
            'li',
            {},
            h('a', { href: link(['batches', task.id]) }, KIND_WORDS[task.kind]),
            ', accepted ',
            timeElement(createdAt(task.id)),
            progress && progressBar(progress),
          );
        }),
      ),
      running.length > open.length &&
        h('p', {}, h('a', { href: link(['batches']) }, `All batches: at least ${count(running.length)} are under way`)),
    ];
  };
  return { text: JSON.stringify([running, [...far], total]), draw };
}

/** @param {Context} context */
async function readAccounts({ tenant, signal, link }) {
  const { items, total } = await getPage(path(tenant, 'account'), { page: 1, size: 100, signal });
  const slowest = Math.max(...items.map((it) => it.latencyMilliseconds ?? 0), 1);
  const draw = () => {
    if (items.length === 0) {
      return h(
        'p',
        { class: 'waiting' },
        'There is no account at a platform yet. Whoever runs this server sets them up.',
      );
    }
    return [
      table({
        caption: 'Accounts at platforms, whether they answer, and how fast',
        columns: [
          {
            name: 'Account',
            cell: (it) =>
              h('a', { href: link(['connections'], { filter: having('relatedParty.name', it.name) }) }, it.name),
            isHeading: true,
          },
          { name: 'Platform', cell: (it) => it.platform },
          { name: 'Health', cell: (it) => statusMark(it.health, HEALTH[it.health]) },
          {
            name: 'Answers in',
            kind: 'number',
            cell: (it) => (it.latencyMilliseconds === undefined ? '—' : `${count(it.latencyMilliseconds)} ms`),
          },
          { name: 'Beside the others', cell: (it) => plainBar(it.latencyMilliseconds ?? 0, slowest) },
        ],
        rows: items,
      }),
      items.some((it) => it.health === 'UNKNOWN') &&
        h(
          'p',
          { class: 'fine' },
          'Not asked yet: platforms are asked when somebody looks at connections. ',
          h('a', { href: link(['connections']) }, 'Look now'),
        ),
      total > items.length && h('p', { class: 'fine' }, `The first ${items.length} of ${count(total)}.`),
    ];
  };
  return { text: JSON.stringify(items), draw };
}

/** @type {Record<string, string>} */
const HEALTH = { UP: 'Answers', DOWN: 'Fails', UNKNOWN: 'Not asked yet' };
