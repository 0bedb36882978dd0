// Reading an audit from its end, though the API lists events from the oldest on: numbers have no gaps, so the page that ends at a
// number is behind a lower one. With conditions, events are missing between, and the stretch that is read grows until a page is
// full.

/** @typedef {import('../api/event.js').JournalEvent} JournalEvent */
/** @typedef {import('../api/event.js').EventPage} EventPage */

/**
 * Reads a page of the audit, the oldest first.
 * @typedef {(wanted: {after?: number | 'last', size: number}) => Promise<EventPage>} Read
 */

/**
 * Numbers that are kept: of the oldest event and of the last one. An empty audit has `first` behind `last`.
 * @typedef {{first: number, last: number}} Bounds
 */

/**
 * A page, the newest first.
 * @typedef {object} Stretch
 * @property {JournalEvent[]} events
 * @property {number} from the lowest number that the page has looked at
 * @property {number} to the highest one
 */

/** The server looks at so many events for a page with conditions. */
const SEEN_MAX = 20_000;

/** The largest page. */
const PAGE_MAX = 1000;

/** Requests for a page of a list: behind them, the user asks for more. */
const REQUESTS_MAX = 25;

/** Growth of the stretch that is read with one request. */
const GROWTH = 4;

/** Events have their number some moments after their time, and clocks of servers differ. */
const TIME_SLACK_MILLISECONDS = 3_600_000;

/**
 * Reads the numbers of the oldest and the last event.
 * @param {Read} read without conditions
 * @returns {Promise<Bounds>}
 */
export async function readBounds(read) {
  const [oldest, end] = await Promise.all([read({ size: 1 }), read({ after: 'last', size: 1 })]);
  const last = Math.max(end.seenTo, oldest.seenTo);
  return { first: oldest.events[0]?.['x-number'] ?? last + 1, last };
}

/**
 * Reads the newest events up to a number.
 * @param {Read} read
 * @param {Bounds} bounds
 * @param {{to: number, size: number, hasConditions: boolean}} wanted
 * @returns {Promise<Stretch>}
 */
export async function readUpTo(read, { first }, { to, size, hasConditions }) {
  /** @type {JournalEvent[]} */
  const events = [];
  let high = to;
  let width = hasConditions ? GROWTH * size : size;
  let pageMax = PAGE_MAX;
  for (let n = 0; n < REQUESTS_MAX && high >= first && events.length < size; n += 1) {
    const after = Math.max(first - 1, high - width);
    const page = await read({ after, size: Math.min(high - after, pageMax) });
    if (page.seenTo >= high) {
      events.push(...page.events.filter((it) => it['x-number'] <= high).reverse());
      high = after;
      width = hasConditions ? Math.min(SEEN_MAX, width * GROWTH) : Math.min(size, pageMax);
    } else if (hasConditions) {
      // More events meet the conditions than a page holds: a narrower stretch has fewer.
      width = Math.max(1, Math.floor((high - after) / (2 * GROWTH)));
    } else {
      // The server allows smaller pages only.
      pageMax = Math.max(1, page.events.length);
      width = pageMax;
    }
  }
  if (events.length > size) {
    events.length = size;
    high = events[size - 1]['x-number'] - 1;
  }
  return { events, from: high + 1, to };
}

/**
 * Reads the events that follow a number.
 * @param {Read} read
 * @param {Bounds} bounds
 * @param {{after: number, size: number}} wanted
 * @returns {Promise<Stretch>}
 */
export async function readBehind(read, { first, last }, { after, size }) {
  /** @type {JournalEvent[]} */
  const events = [];
  let seenTo = Math.max(first - 1, after);
  const from = seenTo + 1;
  for (let n = 0; n < REQUESTS_MAX && seenTo < last && events.length < size; n += 1) {
    const page = await read({ after: seenTo, size: size - events.length });
    events.push(...page.events);
    seenTo = page.seenTo;
  }
  return { events: events.reverse(), from, to: seenTo };
}

/**
 * Narrows the bounds to a time, so that a long audit isn't read for the events of a day. The bounds stay wide by some thousand
 * numbers: the server's conditions select the events.
 * @param {Read} read without conditions
 * @param {Bounds} bounds
 * @param {{from?: string, before?: string}} time
 * @returns {Promise<Bounds>}
 */
export async function boundsOfTime(read, bounds, { from, before }) {
  const start = from && Date.parse(from) - TIME_SLACK_MILLISECONDS;
  const end = before && Date.parse(before) + TIME_SLACK_MILLISECONDS;
  const [{ low }, { high }] = await Promise.all([
    start ? halve(read, bounds, start) : { low: bounds.first },
    end ? halve(read, bounds, end) : { high: bounds.last },
  ]);
  return { first: low, last: high };
}

/**
 * Two numbers between which the first event of a time is.
 * @param {Read} read
 * @param {Bounds} bounds
 * @param {number} time
 */
async function halve(read, { first, last }, time) {
  let [low, high] = [first, last];
  while (high - low > SEEN_MAX) {
    const middle = Math.floor((low + high) / 2);
    const { events } = await read({ after: middle - 1, size: 1 });
    if (events[0] && Date.parse(events[0].eventTime) < time) low = middle;
    else high = middle;
  }
  return { low, high };
}
