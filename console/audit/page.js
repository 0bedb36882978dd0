// The page of an audit: its conditions, its events with the newest first, and the links to newer and older ones.

import { go } from '../address.js';
import { readEvents } from '../api/event.js';
import { h } from '../element.js';
import { listOrFault } from '../filter/panel.js';
import { count } from '../part/number.js';
import { emptyPanel } from '../part/panel.js';
import { conditionsIn, conditionsPanel } from './conditions.js';
import { eventTable } from './event_table.js';
import { boundsOfTime, readBehind, readBounds, readUpTo } from './reading.js';

/** @typedef {import('../view/context.js').Context} Context */
/** @typedef {import('./conditions.js').Conditions} Conditions */

const SIZE = 50;

/** The place of a page in an address: up to a number, or behind one; without either, the newest events. */
const PLACES = /** @type {const} */ (['to', 'after']);

/** @typedef {{to?: number, after?: number}} Place */

/**
 * @param {Context} context
 * @param {object} what
 * @param {string} what.address of the API
 * @param {string[]} what.route of the view
 */
export async function auditPage({ query, signal, link }, { address, route }) {
  const conditions = conditionsIn(query);
  const place = placeIn(query);
  const linkTo = (/** @type {Conditions & Place} */ to) => link(route, to);
  const hasConditions = Object.keys(conditions).length > 0;
  const list = await listOrFault(Object.keys(conditions).join(), async () => {
    const all = (/** @type {any} */ wanted) => readEvents(address, { ...wanted, signal });
    const read = (/** @type {any} */ wanted) => readEvents(address, { ...wanted, conditions, signal });
    const kept = await readBounds(all);
    const bounds = await boundsOfTime(all, kept, conditions);
    const stretch = await readPage(read, bounds, place, hasConditions);
    return results(stretch, bounds, kept.last);
  });
  return [conditionsPanel(conditions, (next) => go(linkTo(next))), list];

  /**
   * @param {import('./reading.js').Stretch} stretch
   * @param {import('./reading.js').Bounds} bounds
   * @param {number} end the number of the last event
   */
  function results({ events, from, to }, { first, last }, end) {
    const toSubject = (/** @type {string} */ subject) => linkTo({ ...conditions, subject });
    const hasOlder = from > first;
    if (events.length === 0 && !hasOlder && to >= last) {
      return hasConditions
        ? emptyPanel('No event matches this filter', h('p', {}, h('a', { href: linkTo({}) }, 'Show all')))
        : emptyPanel('No events yet', h('p', {}, 'Changes, tokens and refused requests appear here.'));
    }
    return h(
      'section',
      { class: 'panel', 'aria-label': 'Events' },
      events.length > 0
        ? eventTable('Events, newest first', events, toSubject)
        : h('p', {}, `None of the events with the numbers ${count(from)} to ${count(to)} matches the filter.`),
      h(
        'nav',
        { class: 'pager', 'aria-label': 'Pages of events' },
        h('span', { class: 'total' }, hasConditions && 'Searched: ', lookedAt(from, to, end)),
        h('span', { class: 'grow' }),
        step('Newest events', '«', linkTo(conditions), to < last),
        step('Newer events', '‹', linkTo({ ...conditions, after: to }), to < last),
        step('Older events', '›', linkTo({ ...conditions, to: from - 1 }), hasOlder),
        step('Oldest events', '»', linkTo({ ...conditions, after: first - 1 }), hasOlder),
      ),
    );
  }
}

/** @param {number} from @param {number} to @param {number} end */
const lookedAt = (from, to, end) =>
  from === to ? `Number ${count(to)} of ${count(end)}` : `Numbers ${count(from)} to ${count(to)} of ${count(end)}`;

/** @param {string} word @param {string} sign @param {string} href @param {boolean} is */
const step = (word, sign, href, is) =>
  is
    ? h('a', { id: word.toLowerCase().replace(' ', '-'), class: 'button', href, 'aria-label': word, title: word }, sign)
    : h('span', { class: 'button off', 'aria-hidden': 'true' }, sign);

/**
 * @param {import('./reading.js').Read} read
 * @param {import('./reading.js').Bounds} bounds
 * @param {Place} place
 * @param {boolean} hasConditions
 */
async function readPage(read, bounds, { to, after }, hasConditions) {
  if (after !== undefined && after < bounds.last) {
    const stretch = await readBehind(read, bounds, { after, size: SIZE });
    // The page that reaches the end is the page of the newest events.
    if (stretch.to < bounds.last) return stretch;
  }
  // Events of an old address may be deleted: then its page is the oldest one.
  const end = Math.min(Math.max(to ?? bounds.last, bounds.first), bounds.last);
  return readUpTo(read, bounds, { to: end, size: SIZE, hasConditions });
}

/** @param {URLSearchParams} query @returns {Place} */
function placeIn(query) {
  const numbers = PLACES.map((name) => [name, query.get(name)]).filter(([, text]) => /^\d{1,15}$/.test(text ?? ''));
  return Object.fromEntries(numbers.map(([name, text]) => [name, Number(text)]));
}
