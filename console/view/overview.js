// The overview: the accesses by status and contract, their changes over time, the running batches, and the health of platforms.

import { get, getPage, path } from '../api/client.js';
import { isFinished, KIND_WORDS, listTasks, readAllProgress } from '../api/task.js';
import { labelKeysOf } from '../api/tenant.js';
import { progressBar } from '../batch/progress.js';
import { h, replace } from '../element.js';
import { having } from '../filter/expression.js';
import { daysChart, dividedBar, plainBar } from '../part/chart.js';
import { createButtons } from '../part/create_buttons.js';
import { poll } from '../part/loading.js';
import { count, counted } from '../part/number.js';
import { emptyPanel, panel } from '../part/panel.js';
import { ACCESS_STATUSES, statusMark, statusWord } from '../part/status.js';
import { table } from '../part/table.js';
import { createdAt, timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';

/** The number of contracts shown; the view of contracts lists all. */
const CONTRACTS_MAX = 12;

const POLL_SECONDS = 5;

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Overview';
export const scopes = ['access:read', 'product:read'];

/** @param {Context} context */
export function show(context) {
  const { tenant, signal } = context;
  const figures = h('div', { class: 'grid' });
  const running = h('div', {});
  const accounts = h('div', {});
  const byLabel = h('div', { class: 'grid' });
  if (may('access:read')) {
    poll(signal, figures, 'Loading accesses …', POLL_SECONDS, () => readFigures(context));
    poll(signal, running, 'Loading batches …', POLL_SECONDS, () => readRunning(context));
    showByLabel(context, byLabel);
  }
  if (may('product:read')) poll(signal, accounts, 'Loading accounts …', POLL_SECONDS, () => readAccounts(context));
  return h(
    'div',
    {},
    h('h1', {}, 'Overview'),
    may('access:read') && [figures, byLabel],
    h(
      'div',
      { class: 'grid' },
      may('access:read') && panel('running', 'Running batches', running),
      may('product:read') && panel('platforms', 'Platforms', accounts),
    ),
    h('p', { class: 'fine' }, `Figures of ${tenant}, refreshed every ${POLL_SECONDS} seconds.`),
  );
}

/** Shows the accesses by label, if the tenant has keys of labels. @param {Context} context @param {Element} place */
async function showByLabel(context, place) {
  const keys = await labelKeysOf(context.tenant);
  if (!keys?.length) return;
  // Most first views don't need the module.
  const { labelFigures } = await import('../label/figures.js');
  if (!context.signal.aborted) replace(place, labelFigures(context, keys, POLL_SECONDS));
}

/** @param {Context} context */
async function readFigures({ tenant, signal, link }) {
  const { body } = await get(path(tenant, 'summary'), { signal });
  const draw = () => {
    if (body.total === 0) return welcome(link);
    const perDay = panel('per-day', 'Accesses created and ended, last 90 days', daysChart(body.perDay));
    const byContract = panel('by-contract', 'Accesses by contract', contractTable(body.byContract, link));
    perDay.classList.add('wide');
    byContract.classList.add('whole');
    return [
      panel('by-status', counted(body.total, 'access', 'accesses'), statusTable(body.byStatus, body.total)),
      perDay,
      byContract,
    ];
  };
  return { text: JSON.stringify(body), draw };
}

/** @param {Context['link']} link */
function welcome(link) {
  const section = emptyPanel(
    'No accesses yet',
    h('p', {}, 'An access is a username and a password with which one device connects, under one of your contracts.'),
    createButtons(link),
  );
  section.classList.add('whole');
  return section;
}

/** @param {Record<string, number>} byStatus @param {number} total */
function statusTable(byStatus, total) {
  return table({
    caption: 'Accesses by status',
    isCompact: true,
    columns: [
      { name: 'Status', cell: (it) => statusMark(it), isHeading: true },
      { name: 'Accesses', cell: (it) => count(byStatus[it] ?? 0), kind: 'number' },
      { name: 'Share', cell: (it) => dividedBar({ [it]: byStatus[it] ?? 0 }, total) },
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
        { name: 'Total', cell: (it) => count(size(it)), kind: 'number' },
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
        `The ${CONTRACTS_MAX} largest contracts are shown. `,
        h('a', { href: link(['contracts']) }, `All ${count(byContract.length)} contracts`),
      ),
  ];
}

/** @param {Context} context */
async function readRunning({ tenant, signal, link }) {
  const { tasks, total } = await listTasks(tenant, { page: 1, size: 100 }, signal);
  const running = tasks.filter((it) => !isFinished(it));
  const open = running.slice(0, 10);
  const progressById = await readAllProgress(
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
          ? 'No batch was sent yet. '
          : total > tasks.length
            ? `None of the newest ${count(tasks.length)} batches is running. `
            : 'No batch is running. ',
        total > 0 && h('a', { href: link(['batches']) }, 'Finished batches'),
      );
    }
    return [
      h(
        'ul',
        { class: 'tasks' },
        open.map((task) => {
          const progress = progressById.get(task.id);
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
        h('p', {}, h('a', { href: link(['batches']) }, `All batches (at least ${count(running.length)} are running)`)),
    ];
  };
  return { text: JSON.stringify([running, [...progressById], total]), draw };
}

/** @param {Context} context */
async function readAccounts({ tenant, signal, link }) {
  const { items, total } = await getPage(path(tenant, 'account'), { page: 1, size: 100, signal });
  const slowest = Math.max(...items.map((it) => it.latencyMilliseconds ?? 0), 1);
  const draw = () => {
    if (items.length === 0) {
      const words = 'This tenant has no account at a platform yet. The server’s operator sets accounts up.';
      return h('p', { class: 'waiting' }, words);
    }
    return [
      table({
        caption: 'Accounts at platforms, with their health and latency',
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
            name: 'Latency',
            kind: 'number',
            cell: (it) => (it.latencyMilliseconds === undefined ? '—' : `${count(it.latencyMilliseconds)} ms`),
          },
          { name: 'Compared', cell: (it) => plainBar(it.latencyMilliseconds ?? 0, slowest) },
        ],
        rows: items,
      }),
      items.some((it) => it.health === 'UNKNOWN') &&
        h(
          'p',
          { class: 'fine' },
          'The server checks a platform when a user opens the connections. ',
          h('a', { href: link(['connections']) }, 'Open the connections'),
        ),
      total > items.length && h('p', { class: 'fine' }, `The first ${items.length} of ${count(total)} accounts.`),
    ];
  };
  return { text: JSON.stringify(items), draw };
}

/** @type {Record<string, string>} */
const HEALTH = { UP: 'Up', DOWN: 'Down', UNKNOWN: 'Not checked yet' };
