// The notice above a list that the server did not filter by some labels.

import { h } from '../element.js';

/**
 * The notice about the conditions that the server ignored; `undefined` if it ignored none.
 * @param {Headers} headers of the list
 * @param {string[]} [keys] the keys that the tenant's lists can be filtered by, if known
 */
export function ignoredNotice(headers, keys) {
  const ignored = (headers.get('x-ignored-params') ?? '').split(',').map((it) => it.trim());
  const names = ignored.filter(Boolean);
  if (names.length === 0) return undefined;
  return h(
    'div',
    { class: 'panel notice', role: 'alert' },
    h('h2', {}, names.length === 1 ? 'A condition was ignored' : 'Some conditions were ignored'),
    h(
      'p',
      {},
      'The list is not filtered by ',
      names.map((it, n) => [n > 0 && ', ', h('code', {}, it)]),
      '.',
    ),
    h('p', {}, keysInWords(keys)),
  );
}

/** @param {string[]} [keys] */
function keysInWords(keys) {
  const whose = 'The server’s operator chooses the keys of labels that the tenant’s lists can be filtered by';
  if (!keys) return `${whose}.`;
  if (keys.length === 0) return `${whose}: there are none yet.`;
  return [`${whose}: `, keys.map((it, n) => [n > 0 && ', ', h('code', {}, it)]), '.'];
}
