// The list of hubs: the tenant's subscriptions to its events, each with its state and how far it is.

import { listHubs } from '../api/hub.js';
import { h } from '../element.js';
import { parseQuery } from '../hub/query.js';
import { eventWords, failureWords, hubMark, progressWords } from '../hub/words.js';
import { poll } from '../part/loading.js';
import { count } from '../part/number.js';
import { emptyPanel } from '../part/panel.js';
import { table } from '../part/table.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../api/hub.js').Hub} Hub */

const POLL_SECONDS = 5;

export const title = () => 'Hubs';
export const scopes = ['event:write'];

/** @param {Context} context */
export async function show({ tenant, signal, link }) {
  const place = h('div', {});

  /** @param {Hub[]} hubs */
  const list = (hubs) =>
    h(
      'section',
      { class: 'panel', 'aria-label': 'Hubs' },
      table({
        caption: 'Hubs, oldest first',
        columns: [
          { name: 'Callback', isHeading: true, cell: (it) => h('a', { href: link(['hubs', it.id]) }, it.callback) },
          { name: 'Events', cell: (it) => eventWords(parseQuery(it.query), link) },
          { name: 'State', cell: (it) => [hubMark(it), h('div', { class: 'fine' }, failureWords(it))] },
          { name: 'Progress', cell: progressWords },
          { name: 'Waiting', kind: 'number', cell: (it) => count(it.waiting) },
          { name: 'Dead letters', kind: 'number', cell: (it) => count(it.deadLetters) },
        ],
        rows: hubs,
      }),
    );

  await poll(signal, place, 'Loading hubs …', POLL_SECONDS, async () => {
    const hubs = await listHubs(tenant, signal);
    return { text: JSON.stringify(hubs), draw: () => (hubs.length === 0 ? noHubs(link) : list(hubs)) };
  });
  return h('div', {}, h('div', { class: 'title' }, h('h1', {}, 'Hubs'), newHubButton(link)), place);
}

/** @param {Context['link']} link */
const noHubs = (link) =>
  emptyPanel(
    'No hubs yet',
    h(
      'p',
      {},
      'A hub subscribes another system to the tenant’s events: for each change of an access or a batch, the server sends a signed message to the system’s callback.',
    ),
    newHubButton(link),
  );

/** @param {Context['link']} link */
const newHubButton = (link) =>
  h('p', { class: 'buttons' }, h('a', { class: 'button main', href: link(['hubs', 'new']) }, 'New hub'));
