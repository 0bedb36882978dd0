// The numbers of accesses by the values of one label, whose key the user chooses.

import { get, path } from '../api/client.js';
import { h } from '../element.js';
import { havingLabel, writeFilter } from '../filter/expression.js';
import { plainBar } from '../part/chart.js';
import { poll } from '../part/loading.js';
import { count, counted } from '../part/number.js';
import { panel } from '../part/panel.js';
import { table } from '../part/table.js';

/** The number of values that the panel shows at first. */
const SHOWN_MAX = 12;

/** The most values in a response. */
const VALUES_MAX = 100;

/** @typedef {{value: string, total: number}} Figure */

/**
 * @param {import('../view/context.js').Context} context
 * @param {string[]} keys the keys that lists can be filtered by, at least one
 * @param {number} seconds between two polls
 */
export function labelFigures(context, keys, seconds) {
  const place = h('div', {});
  let polling = new AbortController();

  function show() {
    polling.abort();
    polling = new AbortController();
    const key = choice.value;
    const signal = AbortSignal.any([context.signal, polling.signal]);
    poll(signal, place, 'Loading figures …', seconds, () => readFigures(context, key, signal));
  }

  const choice = h(
    'select',
    { id: 'label-key', onchange: show },
    keys.map((it) => h('option', { value: it }, it)),
  );
  show();
  const section = panel(
    'by-label',
    'Accesses by label',
    h('p', {}, h('label', { for: 'label-key' }, 'Label '), choice),
    place,
  );
  section.classList.add('whole');
  return section;
}

/**
 * @param {import('../view/context.js').Context} context
 * @param {string} key
 * @param {AbortSignal} signal
 */
async function readFigures({ tenant, link }, key, signal) {
  const { body } = await get(`${path(tenant, 'summary')}?by=label.${encodeURIComponent(key)}`, { signal });
  /** @type {Figure[] | undefined} */
  const given = body.byLabel;
  const figures = given ?? [];
  const largest = figures[0]?.total ?? 0;
  const tableOf = (/** @type {string} */ caption, /** @type {Figure[]} */ rows) =>
    table({
      caption,
      isCompact: true,
      columns: [
        {
          name: key,
          isHeading: true,
          cell: ({ value }) => {
            const filter = writeFilter([[havingLabel(key, value)]]);
            return h('a', { href: link(['accesses'], { filter }) }, h('bdi', {}, value));
          },
        },
        { name: 'Accesses', kind: 'number', cell: ({ total }) => count(total) },
        { name: 'Compared', cell: ({ total }) => plainBar(total, largest) },
      ],
      rows,
    });
  const draw = () => {
    if (figures.length === 0) {
      const words = given ? 'No access has this label.' : 'The server is still counting the values of this label.';
      return h('p', { class: 'waiting' }, words);
    }
    const rest = figures.slice(SHOWN_MAX);
    return [
      tableOf(`Accesses by the label ${key}`, figures.slice(0, SHOWN_MAX)),
      rest.length > 0 &&
        h(
          'details',
          {},
          h('summary', {}, counted(rest.length, 'other value')),
          tableOf(`Accesses by other values of the label ${key}`, rest),
        ),
      figures.length === VALUES_MAX && h('p', { class: 'fine' }, `Only the ${VALUES_MAX} largest values are shown.`),
    ];
  };
  return { text: JSON.stringify([key, given]), draw };
}
