// Going through the pages of a list, to any of them.

import { go } from '../address.js';
import { largestPage } from '../api/client.js';
import { h } from '../element.js';
import { onChosen } from './form.js';
import { count, counted } from './number.js';

const SIZES = [25, 50, 100, 250];

/** The API knows no page behind this one. */
const PAGE_MAX = 10_000_000;

/**
 * Which page an address asks for.
 * @param {URLSearchParams} query
 * @param {number} [size]
 */
export function pageIn(query, size = 50) {
  const whole = (/** @type {string} */ name, /** @type {number} */ otherwise) => {
    const n = Number(query.get(name));
    return Number.isInteger(n) && n > 0 ? n : otherwise;
  };
  return { page: Math.min(whole('page', 1), PAGE_MAX), size: Math.min(whole('size', size), 1000) };
}

/**
 * @param {object} what
 * @param {string} [what.id] tells it from another in the same view
 * @param {number} what.page
 * @param {number} what.size
 * @param {number} [what.total] how many there are, where that is known
 * @param {boolean} [what.isLast] whether nothing is behind, where the total isn't known
 * @param {[string, string]} what.noun
 * @param {(to: {page: number, size: number}) => string} what.linkTo
 */
export function pager({ id = 'page', page, size, total, isLast = false, noun, linkTo }) {
  const last = total === undefined ? undefined : Math.max(1, Math.min(PAGE_MAX, Math.ceil(total / size)));
  const hasNext = last === undefined ? !isLast : page < last;
  const step = (
    /** @type {string} */ id,
    /** @type {string} */ word,
    /** @type {string} */ sign,
    /** @type {number} */ to,
    /** @type {boolean} */ is,
  ) =>
    is
      ? h('a', { id, class: 'button', href: linkTo({ page: to, size }), 'aria-label': word, title: word }, sign)
      : h('span', { class: 'button off', 'aria-hidden': 'true' }, sign);
  const number = h('input', {
    id: `${id}-number`,
    type: 'number',
    min: 1,
    max: last ?? PAGE_MAX,
    required: true,
    value: page,
    'aria-label': last === undefined ? 'Page' : `Page, of ${count(last)}`,
  });
  const possible = SIZES.filter((it) => it <= largestPage());
  const sizes = possible.includes(size) ? possible : [...possible, size].sort((a, b) => a - b);
  const choice = h(
    'select',
    { id: `${id}-size`, 'aria-label': 'Rows on a page' },
    sizes.map((it) => h('option', { value: it, selected: it === size }, `${it} a page`)),
  );
  // The first row that is seen now stays on the page.
  onChosen(choice, (value) =>
    go(linkTo({ size: Number(value), page: Math.floor(((page - 1) * size) / Number(value)) + 1 })),
  );
  return h(
    'nav',
    { class: 'pager', 'aria-label': `Pages of ${noun[1]}` },
    total !== undefined && h('span', { class: 'total' }, counted(total, ...noun)),
    h('span', { class: 'grow' }),
    step(`${id}-first`, 'First page', '«', 1, page > 1),
    step(`${id}-previous`, 'Previous page', '‹', Math.min(page - 1, last ?? page), page > 1),
    h(
      'form',
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          go(linkTo({ page: Number(number.value), size }));
        },
      },
      number,
      last !== undefined && h('span', {}, ` of ${count(last)}`),
    ),
    step(`${id}-next`, 'Next page', '›', page + 1, hasNext),
    last !== undefined && step(`${id}-last`, 'Last page', '»', last, page < last),
    choice,
  );
}
