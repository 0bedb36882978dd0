// Announcements to screen readers, in a live region that stands beside the views and outlives each of them.

import { h } from './element.js';

/** The live region; the frame puts it on the page. */
export const liveRegion = h('div', { class: 'screen-reader-only', role: 'status', 'aria-live': 'polite' });

/**
 * Reads a text to users of a screen reader.
 * @param {string} text
 */
export function announce(text) {
  liveRegion.textContent = '';
  requestAnimationFrame(() => {
    liveRegion.textContent = text;
  });
}
