// The progress of a Task.

import { h, replace } from '../element.js';
import { count } from '../part/number.js';

/** @typedef {import('../api/task.js').Progress} Progress */

/**
 * @param {Progress} progress
 */
export function progressBar({ total, succeeded, failed }) {
  const done = succeeded + failed;
  return h(
    'div',
    { class: 'progress' },
    h('progress', { max: total || 1, value: done, 'aria-label': 'Items done' }),
    h(
      'span',
      {},
      `${count(done)} of ${count(total)}`,
      failed > 0 && h('span', { class: 'status bad' }, `${count(failed)} failed`),
    ),
  );
}

/**
 * Shows the progress in an element, and keeps the bar that is already there.
 * @param {Element} place
 * @param {Progress} progress
 */
export function showProgress(place, progress) {
  const bar = place.querySelector('progress');
  if (!bar) return replace(place, progressBar(progress));
  const next = progressBar(progress);
  bar.max = progress.total || 1;
  bar.value = progress.succeeded + progress.failed;
  bar.nextElementSibling?.replaceWith(/** @type {Element} */ (next.lastElementChild));
}
