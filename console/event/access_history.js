// The history of an access: its changes, the newest first, each with its time and its origin.

import { path } from '../api/client.js';
import { readEvents } from '../api/event.js';
import { Problem } from '../api/problem.js';
import { h, redraw } from '../element.js';
import { fieldChanges, noValue } from '../part/field_changes.js';
import { loadAfter, repeat } from '../part/loading.js';
import { count } from '../part/number.js';
import { panel } from '../part/panel.js';
import { statusMark } from '../part/status.js';
import { table } from '../part/table.js';
import { timeElement } from '../part/time.js';
import { may } from '../sign_in/session.js';
import { changesOf, changeWords, labelChanges } from './access_change.js';
import { originWords } from './origin.js';

/** @typedef {import('./access_change.js').AccessChange} AccessChange */
/** @typedef {import('../part/field_changes.js').FieldChange} FieldChange */

const SCOPE = 'event:read';

const PAGE_SIZE = 1000;

/** Pages that are read at once; the user asks for more. */
const PAGES_MAX = 10;

/** Changes that are shown at first, and that a click adds. */
const SHOWN_FIRST = 10;
const SHOWN_MORE = 50;

/** Seconds between two looks for a change that the user has just made: its event follows within a fraction of a second. */
const FOLLOW_SECONDS = 0.3;

/** Looks for a change that the user has just made. */
const FOLLOW_MAX = 20;

/**
 * @typedef {object} AccessHistory
 * @property {HTMLElement} element
 * @property {(version: number) => void} follow reads the events of a change that the user has just made
 */

/**
 * @param {Pick<import('../view/context.js').Context, 'tenant' | 'signal' | 'link'> & {id: string}} what
 * @returns {AccessHistory}
 */
export function accessHistory({ tenant, id, signal, link }) {
  const title = 'History';
  if (!may(SCOPE)) {
    const why = ['The history needs the scope ', h('code', {}, SCOPE), ', which your token does not have.'];
    return { element: panel('history', title, h('p', { class: 'fine' }, why)), follow: () => {} };
  }
  const address = path(tenant, 'access', id, 'event');
  /** @type {import('../api/event.js').JournalEvent[]} */
  let events = [];
  let seenTo = 0;
  let hasNext = false;
  let nShown = SHOWN_FIRST;
  /** @type {Promise<void> | undefined} */
  let reading;

  /** Reads the events since the last reading. Concurrent callers share it. */
  function read() {
    reading ??= readNext().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readNext() {
    try {
      for (let n = 0; n < PAGES_MAX; n += 1) {
        const page = await readEvents(address, { after: seenTo, size: PAGE_SIZE, signal });
        events.push(...page.events);
        seenTo = page.seenTo;
        hasNext = page.hasNext;
        if (!hasNext) return;
      }
    } catch (cause) {
      // The store was restored from a backup: its numbers are others.
      if (cause instanceof Problem && cause.status === 409) [events, seenTo] = [[], 0];
      throw cause;
    }
  }

  const place = loadAfter(signal, 'Loading the history …', async () => {
    await read();
    return content();
  });
  const draw = () => redraw(place, content());

  /** @param {number} version */
  function follow(version) {
    let nLeft = FOLLOW_MAX;
    const look = async () => {
      if (nLeft === 0) return false;
      nLeft -= 1;
      await read();
      const isSeen = events.some((it) => (it['x-version'] ?? 0) >= version);
      if (isSeen && !signal.aborted) draw();
      return !isSeen;
    };
    repeat(signal, FOLLOW_SECONDS, look);
  }

  function content() {
    const changes = changesOf(events).reverse();
    if (changes.length === 0 && !hasNext) {
      return h(
        'p',
        {},
        'No changes are recorded: none has been made since the server began to record them, or they are too old to be kept.',
      );
    }
    const nLeft = changes.length - nShown;
    const isWhole = events[0]?.eventType === 'AccessCreateEvent';
    return [
      hasNext && readOnNotice(),
      h(
        'div',
        { class: 'events' },
        table({
          caption: 'Changes of the access, newest first',
          columns: [
            { name: 'Time', cell: (it) => timeElement(it.time, { isPrecise: true }) },
            { name: 'Change', isHeading: true, cell: (it) => changeWords(it) },
            { name: 'New values', cell: (it) => fieldChanges(fieldsOf(it)) },
            { name: 'By', cell: (it) => originWords(it.origin, { toBatch: (task) => link(['batches', task]) }) },
          ],
          rows: changes.slice(0, nShown),
        }),
      ),
      nLeft > 0 && h('p', { class: 'buttons' }, showMoreButton(nLeft)),
      nLeft <= 0 && !isWhole && h('p', { class: 'fine' }, 'Earlier changes are not recorded, or no longer kept.'),
    ];
  }

  /** @param {number} nLeft */
  function showMoreButton(nLeft) {
    const showMore = () => {
      nShown += SHOWN_MORE;
      draw();
    };
    return h('button', { type: 'button', onclick: showMore }, `Show older changes (${count(nLeft)})`);
  }

  function readOnNotice() {
    const readOn = async () => {
      // A failure leaves the button, which reads again.
      await read().catch(() => {});
      if (!signal.aborted) draw();
    };
    return h(
      'p',
      { class: 'with-button' },
      h('span', {}, 'This history is long, and its newest changes are not shown yet.'),
      h('button', { type: 'button', onclick: readOn }, 'Read on'),
    );
  }

  return { element: panel('history', title, place), follow };
}

/**
 * The fields that a change has set. A creation shows those that users look for.
 * @param {AccessChange} change
 * @returns {FieldChange[]}
 */
function fieldsOf({ isCreation, changed, before, after }) {
  const has = (/** @type {string} */ name) => isCreation || changed.includes(name);
  /** @type {FieldChange[]} */
  const fields = [];
  if (has('status') && after.status) {
    fields.push({
      name: 'Status',
      before: before.status && statusMark(before.status),
      after: statusMark(after.status),
    });
  }
  if (has('startDateTime') && after.startDateTime)
    fields.push({ name: 'Starts', after: timeElement(after.startDateTime) });
  if (has('endDateTime') && after.endDateTime !== undefined && !(isCreation && after.endDateTime === null)) {
    // The end of a pending access is not known: its first connection sets it.
    const isFirst = before.status === 'PENDING_ACTIVE' && before.endDateTime === null;
    fields.push({ name: 'Ends', before: isFirst ? undefined : end(before.endDateTime), after: end(after.endDateTime) });
  }
  if (has('labels')) fields.push(...labelFields(before.labels, after.labels ?? {}, isCreation));
  return fields;
}

/** @param {string | null | undefined} time `null`: no end; `undefined`: unknown */
const end = (time) => (time === undefined ? undefined : time === null ? noValue('no end') : timeElement(time));

/**
 * @param {Record<string, string> | undefined} before
 * @param {Record<string, string>} after
 * @param {boolean} isCreation
 * @returns {FieldChange[]}
 */
function labelFields(before, after, isCreation) {
  const value = (/** @type {string | undefined} */ text) => (text === undefined ? noValue() : h('bdi', {}, text));
  const changes = labelChanges(before ?? {}, after);
  if (changes.length === 0 && !before && !isCreation) return [{ name: 'Labels', after: noValue() }];
  return changes.map(([key, old, now]) => ({
    name: `Label ${key}`,
    before: before && value(old),
    after: value(now),
  }));
}
