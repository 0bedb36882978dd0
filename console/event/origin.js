// The origin of a change in words: a request with its subject, a batch, the access's end, a first connection, the server.

import { h } from '../element.js';
import { createdAt, timeElement } from '../part/time.js';

/** @typedef {import('../element.js').Child} Child */
/** @typedef {import('../api/event.js').Origin} Origin */

/**
 * @param {Origin | undefined} origin
 * @param {object} links
 * @param {(taskId: string) => string} [links.toBatch]
 * @param {(subject: string) => string} [links.toSubject] the list of a subject's events
 * @returns {Child}
 */
export function originWords(origin, { toBatch, toSubject } = {}) {
  if (!origin) return h('span', { class: 'none' }, 'not recorded');
  const { kind, subject, peer, taskId } = origin;
  const from = peer && h('span', { class: 'fine' }, ' from ', h('code', {}, peer));
  const name = subject
    ? toSubject
      ? h('a', { href: toSubject(subject), title: 'Only events that this subject caused' }, h('bdi', {}, subject))
      : h('bdi', {}, subject)
    : 'a token without a subject';
  switch (kind) {
    case 'request':
      return [name, from];
    case 'task':
      return taskId && toBatch
        ? h('a', { href: toBatch(taskId) }, 'Batch of ', timeElement(createdAt(taskId)))
        : 'A batch';
    case 'expiry':
      return 'Its end was reached';
    case 'check':
      return ['Its device connected', h('span', { class: 'fine' }, ', checked by ', name), from];
    case 'server':
      return 'The server';
    case 'command':
      return 'A command on the server’s machine';
    default:
      return kind;
  }
}
