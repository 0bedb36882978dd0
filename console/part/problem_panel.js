// Problems as users read them: a panel with advice, or one line in a list.

import { Problem } from '../api/problem.js';
import { h } from '../element.js';
import { counted } from './number.js';

/** Advice by status, for problems without advice of their own. @type {Record<number, string>} */
const ADVICE = {
  0: 'Try again. If it fails again, ask the server’s operator.',
  403: 'Your sign-in does not cover this. Sign in as another user, or ask the issuer of your token.',
  404: 'It may never have existed, or belong to another tenant. Check the address.',
  412: 'Another user has changed it in the meantime. The page now shows the current state: decide again.',
  429: 'The tenant exceeds its rate limit. Wait a moment, then try again.',
  500: 'The server has an internal fault. Report it to the operator, with the correlation ID.',
  502: 'A proxy between this page and the server can’t reach the server. Wait a moment, then try again.',
  503: 'Wait a moment, then try again.',
};

/**
 * A panel that explains a problem.
 * @param {unknown} cause
 * @param {{retry?: () => void}} [how]
 */
export function problemPanel(cause, { retry } = {}) {
  const tryAgain = retry && h('p', {}, h('button', { type: 'button', onclick: retry }, 'Try again'));
  if (!(cause instanceof Problem)) {
    // Any other error is a fault of the console's code.
    console.error(cause);
    return h(
      'div',
      { class: 'panel problem', role: 'alert' },
      h('h2', {}, 'The console has a fault'),
      h('p', {}, String(cause)),
      h('p', {}, 'Reload the page. If the fault persists, use the command line.'),
      tryAgain,
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
          invalidParams.map(({ name, reason }) => h('li', {}, h('code', {}, name), ' ', withCode(reason))),
        )
      : detail && h('p', {}, sentence(detail)),
    advice && h('p', {}, advice, retryAfter > 0 && ` The server asks you to wait ${counted(retryAfter, 'second')}.`),
    correlationId && h('p', { class: 'fine' }, 'Correlation ID: ', h('code', {}, correlationId)),
    tryAgain,
  );
}

/**
 * A problem in one line, for lists.
 * @param {{title?: string, detail?: string}} problem
 */
export const inOneLine = ({ title, detail }) => (detail ? sentence(detail) : (title ?? 'Something went wrong'));

/** Turns a text of the API, which begins in lower case and has no full stop, into a sentence. @param {string} text */
export const sentence = (text) =>
  withCode(text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.'));

/** Shows the parts of a text that stand between backticks as code. @param {string} text */
export const withCode = (text) => text.split('`').map((it, n) => (n % 2 === 1 ? h('code', {}, it) : it));
