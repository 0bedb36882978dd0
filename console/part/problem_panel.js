// What went wrong, and what to do about it.

import { Problem } from '../api/problem.js';
import { h } from '../element.js';
import { counted } from './number.js';

/** What helps, by status, where the problem itself can't know. @type {Record<number, string>} */
const ADVICE = {
  0: 'Try again; if it stays so, ask whoever runs the server.',
  403: 'This sign-in does not cover it. Sign in as somebody else, or ask whoever issued your token.',
  404: 'It may never have been there, or belong to another tenant. Look at the address.',
  412: 'Somebody has changed it in the meantime. What you see now is how it is; decide again.',
  429: 'The tenant sends more requests than it may. Wait a moment, then try again.',
  500: 'This is a fault of the server. Tell whoever runs it, with the number below.',
  502: 'Something between this page and the server does not reach it. Wait a moment, then try again.',
  503: 'Wait a moment, then try again.',
};

/**
 * A panel that tells of a problem.
 * @param {unknown} cause
 * @param {{retry?: () => void}} [how]
 */
export function problemPanel(cause, { retry } = {}) {
  if (!(cause instanceof Problem)) {
    // A fault of this page: nothing is hidden, and nothing is pretended.
    console.error(cause);
    return h(
      'div',
      { class: 'panel problem', role: 'alert' },
      h('h2', {}, 'This page has a fault'),
      h('p', {}, String(cause)),
      h('p', {}, 'Reload it; if it stays so, the command line does the same.'),
      tryAgain(retry),
    );
  }
  const { status, title, detail, invalidParams, correlationId, retryAfter } = cause;
  const advice = cause.advice ?? ADVICE[status === 504 ? 502 : status];
  return h(
    'div',
    { class: 'panel problem', role: 'alert' },
    h('h2', {}, title),
    invalidParams.length > 0
      ? h(
          'ul',
          {},
          invalidParams.map(({ name, reason }) => h('li', {}, h('code', {}, name), ' ', quoting(reason))),
        )
      : detail && h('p', {}, sentence(detail)),
    advice && h('p', {}, advice, retryAfter > 0 && ` The server asks for ${counted(retryAfter, 'second')}.`),
    correlationId && h('p', { class: 'fine' }, 'Correlation ID: ', h('code', {}, correlationId)),
    tryAgain(retry),
  );
}

/** @param {(() => void) | undefined} retry */
const tryAgain = (retry) => retry && h('p', {}, h('button', { type: 'button', onclick: retry }, 'Try again'));

/**
 * A problem in one line, for lists.
 * @param {{title?: string, detail?: string}} problem
 */
export const inOneLine = ({ title, detail }) => (detail ? sentence(detail) : (title ?? 'Something went wrong'));

/** The API's texts begin in lower case, as they stand behind a name. @param {string} text */
export const sentence = (text) =>
  quoting(text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.'));

/** What they quote stands between backticks. @param {string} text */
export const quoting = (text) => text.split('`').map((it, n) => (n % 2 === 1 ? h('code', {}, it) : it));
