// Charts: bars beside their numbers, and a chart of days. Every chart has its numbers as text, too.

import { h, svg } from '../element.js';
import { count } from './number.js';
import { statusKind, statusWord } from './status.js';
import { table } from './table.js';
import { day } from './time.js';

/** @typedef {{date: string, created: number, ended: number}} Day */

/**
 * A bar with a part for each status, for a row of a table.
 * @param {Record<string, number>} byStatus
 * @param {number} whole the number that fills the bar
 */
export function dividedBar(byStatus, whole) {
  let x = 0;
  const parts = Object.entries(byStatus)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => {
      const width = whole === 0 ? 0 : (n / whole) * 100;
      const part = svg(
        'rect',
        { class: statusKind(status), 'data-status': status, x, width, height: 8 },
        svg('title', {}, `${statusWord(status)}: ${count(n)}`),
      );
      x += width;
      return part;
    });
  return bar(parts);
}

/**
 * A bar with one part.
 * @param {number} n
 * @param {number} whole the number that fills the bar
 * @param {string} [kind] the colour class
 */
export function plainBar(n, whole, kind = 'new') {
  const width = whole === 0 ? 0 : Math.min(100, (n / whole) * 100);
  return bar([svg('rect', { class: kind, width, height: 8 })]);
}

/** @param {SVGElement[]} parts */
const bar = (parts) =>
  svg(
    'svg',
    { class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
    svg('rect', { class: 'ground', width: 100, height: 8 }),
    parts,
  );

/** The width of a day in the units of the picture. */
const DAY = 8;

/**
 * The accesses created (upwards) and ended (downwards) on each day.
 * @param {Day[]} days
 */
export function daysChart(days) {
  const created = days.reduce((sum, it) => sum + it.created, 0);
  const ended = days.reduce((sum, it) => sum + it.ended, 0);
  const up = niceMaximum(Math.max(...days.map((it) => it.created)));
  const down = ended === 0 ? 0 : niceMaximum(Math.max(...days.map((it) => it.ended)));
  const [first, middle, last] = [0, Math.floor(days.length / 2), days.length - 1].map((n) => day(days[n].date));
  const label = `Created and ended on each day from ${first} to ${last}: ${count(created)} created, ${count(ended)} ended.`;
  const width = days.length * DAY;
  const line = (/** @type {number} */ y, /** @type {string} */ kind) =>
    svg('line', { class: kind, x1: 0, x2: width, y1: y, y2: y });
  return h(
    'figure',
    { class: 'days' },
    h(
      'figcaption',
      { class: 'legend' },
      h('span', { class: 'key good' }, `Created: ${count(created)}`),
      h('span', { class: 'key over' }, `Ended: ${count(ended)}`),
    ),
    h(
      'div',
      { class: 'plot' },
      ticks(up, down),
      // The units of the picture are accesses; the style stretches it to the available space.
      svg(
        'svg',
        { viewBox: `0 0 ${width} ${up + down}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        line(0, 'grid'),
        days.map((it, n) =>
          svg(
            'g',
            { class: 'day' },
            svg('title', {}, `${day(it.date)}: ${count(it.created)} created, ${count(it.ended)} ended`),
            svg('rect', { class: 'touch', x: n * DAY, y: 0, width: DAY, height: up + down }),
            it.created > 0 && dayBar('good', n, up - it.created, it.created),
            it.ended > 0 && dayBar('over', n, up, it.ended),
          ),
        ),
        line(up, 'axis'),
        down > 0 && line(up + down, 'grid'),
      ),
      h(
        'div',
        { class: 'dates', 'aria-hidden': 'true' },
        h('span', {}, first),
        h('span', {}, middle),
        h('span', {}, last),
      ),
    ),
    h('details', { class: 'numbers' }, h('summary', {}, 'Numbers as a table'), numbersOf(days)),
  );
}

/** @param {string} kind @param {number} n @param {number} y @param {number} height */
const dayBar = (kind, n, y, height) => svg('rect', { class: kind, x: n * DAY + 1, width: DAY - 2, y, height });

/** The numbers of the vertical axis. @param {number} up @param {number} down */
function ticks(up, down) {
  const part = (/** @type {number} */ share, /** @type {string[]} */ ...texts) => {
    const it = h(
      'div',
      {},
      texts.map((text) => h('span', {}, text)),
    );
    it.style.flexGrow = String(share);
    return it;
  };
  return h(
    'div',
    { class: 'ticks', 'aria-hidden': 'true' },
    part(up, short(up), '0'),
    down > 0 && part(down, '', short(down)),
  );
}

/** @param {Day[]} days */
function numbersOf(days) {
  const busy = days.filter((it) => it.created > 0 || it.ended > 0).reverse();
  if (busy.length === 0) return h('p', {}, 'No access was created or ended on these days.');
  return [
    table({
      caption: 'Created and ended on each day, newest first',
      isCompact: true,
      columns: [
        { name: 'Day (UTC)', cell: (it) => day(it.date), isHeading: true },
        { name: 'Created', cell: (it) => count(it.created), kind: 'number' },
        { name: 'Ended', cell: (it) => count(it.ended), kind: 'number' },
      ],
      rows: busy,
    }),
    busy.length < days.length &&
      h(
        'p',
        { class: 'fine' },
        `On the other ${days.length - busy.length} of ${days.length} days, no access was created or ended.`,
      ),
  ];
}

/** The next larger number of the form 1, 2 or 5 times a power of ten. @param {number} n */
function niceMaximum(n) {
  if (n <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= n) ?? n;
}

const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** @param {number} n */
const short = (n) => SHORT.format(n);
