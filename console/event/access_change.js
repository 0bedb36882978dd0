// The changes of an access, read from its events. A request that changes the status and something else has two events with the
// same version: they are one change.

/** @typedef {import('../api/event.js').JournalEvent} JournalEvent */

/**
 * The fields of an access that its events have told so far; others are missing.
 * @typedef {object} Known
 * @property {string} [status]
 * @property {string} [startDateTime]
 * @property {string | null} [endDateTime] `null`: no end
 * @property {Record<string, string>} [labels]
 */

/**
 * @typedef {object} AccessChange
 * @property {number} version the access's version after the change
 * @property {string} time
 * @property {import('../api/event.js').Origin} [origin]
 * @property {boolean} isCreation
 * @property {string[]} changed
 * @property {Known} before
 * @property {Known} after
 */

/**
 * @param {JournalEvent[]} events of one access, the oldest first
 * @returns {AccessChange[]} the oldest first
 */
export function changesOf(events) {
  /** @type {AccessChange[]} */
  const changes = [];
  for (const event of events) {
    const { access } = event.event;
    if (!access) continue;
    const last = changes.at(-1);
    const version = event['x-version'] ?? 0;
    if (last && last.version === version) {
      last.changed = [...new Set([...last.changed, ...(event['x-changed'] ?? [])])];
      last.after = told(access, last.after, isPartial(event));
      continue;
    }
    const before = last?.after ?? {};
    changes.push({
      version,
      time: event.eventTime,
      origin: event['x-origin'],
      isCreation: event.eventType === 'AccessCreateEvent',
      changed: event['x-changed'] ?? [],
      before,
      after: told(access, before, isPartial(event)),
    });
  }
  return changes;
}

/** @param {JournalEvent} event */
const isPartial = (event) => /** @type {any} */ (event)['x-partial'] === true;

/**
 * @param {any} access
 * @param {Known} before
 * @param {boolean} isPartial whether the event has only the fields that the change has set
 * @returns {Known}
 */
function told({ status, startDateTime, endDateTime, labels }, before, isPartial) {
  if (!isPartial) return { status, startDateTime, endDateTime: endDateTime ?? null, labels: labels ?? {} };
  const set = { status, startDateTime, endDateTime, labels };
  return { ...before, ...Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined)) };
}

/**
 * A change in a few words: "Activated, labels changed".
 * @param {AccessChange} change
 */
export function changeWords(change) {
  const { isCreation, changed, origin } = change;
  if (isCreation) return 'Created';
  const has = (/** @type {string} */ name) => changed.includes(name);
  const words = [
    // A request that activates an access has no connection.
    origin?.kind === 'check' && has('firstConnection')
      ? 'first connection'
      : (has('status') || has('plannedTermination')) && statusWords(change),
    has('password') && 'new password',
    has('labels') && 'labels changed',
  ].filter(Boolean);
  if (words.length === 0) words.push(has('endDateTime') ? 'end changed' : 'changed');
  const text = words.join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {AccessChange} change */
function statusWords({ changed, origin, before, after }) {
  if (!changed.includes('status')) return 'planned end changed';
  switch (after.status) {
    case 'SUSPENDED':
      return 'suspended';
    case 'ACTIVE':
      return before.status === 'PENDING_TERMINATE' ? 'kept: its planned end was cancelled' : 'activated';
    case 'PENDING_TERMINATE':
      return 'end planned';
    case 'TERMINATED':
      return origin?.kind === 'expiry' ? 'ended' : 'terminated';
    default:
      return 'status changed';
  }
}

/**
 * The labels that differ, by key; `undefined` is a label that isn't set.
 * @param {Record<string, string>} before
 * @param {Record<string, string>} after
 * @returns {[string, string | undefined, string | undefined][]}
 */
export function labelChanges(before, after) {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys
    .filter((key) => before[key] !== after[key])
    .map((key) => /** @type {[string, string | undefined, string | undefined]} */ ([key, before[key], after[key]]));
}
