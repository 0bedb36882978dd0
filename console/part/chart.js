// Charts: bars whose numbers stand beside them, and days over time. Every chart can be read without seeing it.

import { h, svg } from '../element.js';
import { count } from './number.js';
import { statusKind, statusWord } from './status.js';
import { table } from './table.js';
import { day } from './time.js';

/** @typedef {{date: string, created: number, ended: number}} Day */

/**
 * One bar that is divided, for a row of a table.
 * @param {Record<string, number>} parts by status
 * @param {number} whole what a full bar is
 */
export function dividedBar(parts, whole) {
  const shown = Object.entries(parts).filter(([, n]) => n > 0);
  let x = 0;
  return svg(
    'svg',
    { class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
    svg('rect', { class: 'ground', width: 100, height: 8 }),
    shown.map(([status, n]) => {
      const width = whole === 0 ? 0 : (n / whole) * 100;
      const part = svg(
        'rect',
        { class: statusKind(status), 'data-status': status, x, width, height: 8 },
        svg('title', {}, `${statusWord(status)}: ${count(n)}`),
      );
      x += width;
      return part;
    }),
  );
}

/**
 * A plain bar.
 * @param {number} n
 * @param {number} whole
 * @param {string} [kind]
 */
export function plainBar(n, whole, kind = 'new') {
  const width = whole === 0 ? 0 : Math.min(100, (n / whole) * 100);
  return svg(
    'svg',
    { class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
    svg('rect', { class: 'ground', width: 100, height: 8 }),
    svg('rect', { class: kind, width, height: 8 }),
  );
}

const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 44;
const BOTTOM = 24;

/**
 * What was created, upwards, and what ended, downwards, on each day.
 * @param {Day[]} days
 */
export function daysChart(days) {
  const created = days.reduce((sum, it) => sum + it.created, 0);
  const ended = days.reduce((sum, it) => sum + it.ended, 0);
  const up = niceMaximum(Math.max(...days.map((it) => it.created)));
  const down = ended === 0 ? 0 : niceMaximum(Math.max(...days.map((it) => it.ended)));
  const plot = HEIGHT - BOTTOM - 8;
  const zero = 8 + plot * (up / (up + down));
  const scale = plot / (up + down);
  const step = (WIDTH - LEFT) / days.length;
  const label = `Created and ended on each day from ${day(days[0].date)} to ${day(days[days.length - 1].date)}: ${count(created)} created, ${count(ended)} ended.`;
  const line = (/** @type {number} */ y, /** @type {number} */ n) => [
    svg('line', { class: n === 0 ? 'axis' : 'grid', x1: LEFT, x2: WIDTH, y1: y, y2: y }),
    svg('text', { class: 'tick', x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, short(n)),
  ];
  return h(
    'figure',
    { class: 'days' },
    h(
      'figcaption',
      { class: 'legend' },
      h('span', { class: 'key good' }, `Created: ${count(created)}`),
      h('span', { class: 'key over' }, `Ended: ${count(ended)}`),
    ),
    svg(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label },
      line(zero - up * scale, up),
      line(zero, 0),
      down > 0 && line(zero + down * scale, down),
      days.map((it, n) => {
        const x = LEFT + n * step;
        return svg(
          'g',
          { class: 'day' },
          svg('title', {}, `${day(it.date)}: ${count(it.created)} created, ${count(it.ended)} ended`),
          svg('rect', { class: 'touch', x, y: 0, width: step, height: HEIGHT - BOTTOM }),
          it.created > 0 &&
            svg('rect', {
              class: 'good',
              x: x + 1,
              width: Math.max(1, step - 2),
              y: zero - it.created * scale,
              height: it.created * scale,
            }),
          it.ended > 0 &&
            svg('rect', { class: 'over', x: x + 1, width: Math.max(1, step - 2), y: zero, height: it.ended * scale }),
        );
      }),
      [0, Math.floor(days.length / 2), days.length - 1].map((n, at) =>
        svg(
          'text',
          { class: 'tick', x: LEFT + (n + 0.5) * step, y: HEIGHT - 4, 'text-anchor': ['start', 'middle', 'end'][at] },
          day(days[n].date),
        ),
      ),
    ),
    h('details', { class: 'numbers' }, h('summary', {}, 'The numbers'), numbersOf(days)),
  );
}

/** @param {Day[]} days */
function numbersOf(days) {
  const busy = days.filter((it) => it.created > 0 || it.ended > 0).reverse();
  if (busy.length === 0) return h('p', {}, 'Nothing was created or ended on any of these days.');
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
      h('p', { class: 'fine' }, `On the other ${days.length - busy.length} of ${days.length} days, nothing was.`),
  ];
}

/** The next 1, 2 or 5 with noughts behind it. @param {number} n */
function niceMaximum(n) {
  if (n <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= n) ?? n;
}

const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** @param {number} n */
const short = (n) => SHORT.format(n);
