// Pages of events: of a tenant's journal, of one access, or of an audit. Events have numbers without gaps.

import { get, withPageSize } from './client.js';
import { Problem } from './problem.js';

/**
 * From where a change came.
 * @typedef {{kind: string, subject?: string, peer?: string, taskId?: string}} Origin
 */

/**
 * @typedef {object} JournalEvent
 * @property {string} eventId
 * @property {string} eventTime
 * @property {string} eventType
 * @property {string} [correlationId]
 * @property {number} x-number
 * @property {Origin} [x-origin]
 * @property {string[]} [x-changed]
 * @property {number} [x-version]
 * @property {Record<string, any>} [x-before]
 * @property {Record<string, any>} event
 */

/**
 * A page of events, the oldest first.
 * @typedef {object} EventPage
 * @property {JournalEvent[]} events
 * @property {number} seenTo the number up to which the server has looked
 * @property {boolean} hasNext whether there are events behind that number
 */

/**
 * @typedef {object} EventsWanted
 * @property {number | 'last'} [after] the number behind which the page begins; without it, the page begins with the oldest event
 * @property {number} size
 * @property {Record<string, string>} [conditions]
 * @property {AbortSignal} [signal]
 */

/** The title of the problem of a journal without a beginning. */
const UPGRADE = 'Upgrade under way';

/**
 * Reads a page of events.
 * @param {string} address
 * @param {EventsWanted} wanted
 * @returns {Promise<EventPage>}
 */
export function readEvents(address, { after, size, conditions = {}, signal }) {
  return withPageSize(size, async (pageSize) => {
    const query = new URLSearchParams({ ...conditions, pageSize: String(pageSize) });
    if (after !== undefined) query.set('after', String(after));
    try {
      const { body, headers } = await get(`${address}?${query}`, { signal });
      return { events: body, seenTo: Number(headers.get('x-event-number')), hasNext: headers.has('link') };
    } catch (cause) {
      throw cause instanceof Problem && cause.status === 503 && cause.title === UPGRADE ? notBegun(cause) : cause;
    }
  });
}

/** Explains that events are not recorded yet. @param {Problem} cause */
function notBegun({ correlationId }) {
  const detail =
    'The servers are being upgraded, and record no changes yet. They begin soon after the last server of the older version has stopped.';
  const problem = new Problem({ title: 'Nothing is recorded yet', detail, correlationId }, 503);
  return Object.assign(problem, { advice: 'Try again later.' });
}
