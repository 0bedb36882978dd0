// Finding an access by the beginning of its username, name or ID.

import { go } from '../address.js';
import { get, path } from '../api/client.js';
import { Problem } from '../api/problem.js';
import { h } from '../element.js';
import { counted } from '../part/number.js';
import { statusMark } from '../part/status.js';
import { combobox } from './combobox.js';

/** The API's limit of a search text. */
const TEXT_MAX = 128;

/** The most accesses in a response. */
const FOUND_MAX = 50;

/** @param {import('../view/context.js').Context} context */
export function accessFinder({ tenant, signal, link }) {
  return combobox(
    {
      id: 'find-access',
      label: 'Find an access',
      placeholder: 'Find by username, name or ID',
      maxlength: TEXT_MAX,
      load: async (text, signal) => {
        const { body } = await get(`${path(tenant, 'search')}?q=${encodeURIComponent(text)}`, { signal });
        return body.map((/** @type {any} */ access) => ({
          href: link(['accesses', access.id]),
          content: contentOf(access),
          isExact: [access.username, access.name, access.id].some((it) => it.toLowerCase() === text.toLowerCase()),
        }));
      },
      inWords,
      explain: (cause) => (cause instanceof Problem ? cause.message : String(cause)),
      open: go,
    },
    signal,
  );
}

/** @param {{name: string, username: string, status: string}} access */
const contentOf = ({ name, username, status }) => [
  h('span', { class: 'name' }, h('bdi', {}, name), username !== name && [' ', h('code', {}, username)]),
  statusMark(status),
];

/** @param {{length: number}} found @param {string} text */
function inWords({ length }, text) {
  if (length === 0) return `No username, name or ID begins with “${text}”.`;
  if (length < FOUND_MAX) return `${counted(length, 'access', 'accesses')} found.`;
  return `The first ${FOUND_MAX} accesses. Type more to find others.`;
}
