// The pager of a list: links to other pages, a page number to enter, and the size of a page.

import { go } from '../address.js';
import { largestPage } from '../api/client.js';
import { h } from '../element.js';
import { onChosen, onSubmit } from './form.js';
import { count, counted } from './number.js';

const SIZES = [25, 50, 100, 250];

/** The last page number that the API accepts. */
const PAGE_MAX = 10_000_000;

/**
 * Reads the page and its size from an address.
 * @param {URLSearchParams} query
 * @param {number} [size]
 */
export function pageIn(query, size = 50) {
  const positive = (/** @type {string} */ name, /** @type {number} */ fallback) => {
    const n = Number(query.get(name));
    return Number.isInteger(n) && n > 0 ? n : fallback;
  };
  return { page: Math.min(positive('page', 1), PAGE_MAX), size: Math.min(positive('size', size), 1000) };
}

/**
 * @param {object} what
 * @param {string} [what.id] distinguishes two pagers of one view
 * @param {number} what.page
 * @param {number} what.size
 * @param {number} [what.total] number of rows in the list, if known
 * @param {boolean} [what.isLast] whether this is the last page, for a list without a known total
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
    { id: `${id}-size`, 'aria-label': 'Rows per page' },
    sizes.map((it) => h('option', { value: it, selected: it === size }, `${it} per page`)),
  );
  // The first row of this page stays visible.
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
        onsubmit: onSubmit(() => go(linkTo({ page: Number(number.value), size }))),
      },
      number,
      last !== undefined && h('span', {}, ` of ${count(last)}`),
    ),
    step(`${id}-next`, 'Next page', '›', page + 1, hasNext),
    last !== undefined && step(`${id}-last`, 'Last page', '»', last, page < last),
    choice,
  );
}

/**
 * The text of a page after the end of a list.
 * @param {{size: number, total: number, linkTo: (to: {page: number, size: number}) => string}} list
 */
export const pastTheEnd = ({ size, total, linkTo }) =>
  h(
    'p',
    {},
    'This page is empty: the list ends before it. ',
    h('a', { href: linkTo({ page: Math.ceil(total / size), size }) }, 'Go to the last page'),
  );
