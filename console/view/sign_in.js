// Signing in: at an issuer, with a token, or to the demo.

import { h, replace } from '../element.js';
import { field, onSubmit, VERBATIM, whileBusy } from '../part/form.js';
import { loadAfter } from '../part/loading.js';
import { sentence } from '../part/problem_panel.js';
import { isPossible, leaveForIssuer } from '../sign_in/oidc.js';
import { begin, signInOptions, signInToDemo } from '../sign_in/session.js';

/** @typedef {import('./context.js').Context} Context */

export const title = () => 'Sign in';
/** @type {string[]} */
export const scopes = [];

/** @param {Context} context */
export function show({ signal, signInProblem }) {
  const messages = h('div', { 'aria-live': 'assertive' }, signInProblem && notice(signInProblem));
  const token = h('textarea', {
    id: 'token',
    rows: 4,
    required: true,
    ...VERBATIM,
  });
  const button = h('button', { type: 'submit', class: 'main' }, 'Sign in with the token');

  /** @param {() => Promise<unknown>} signIn */
  async function attempt(signIn) {
    replace(messages);
    try {
      await signIn();
      dispatchEvent(new Event('gatehouse:session'));
    } catch (cause) {
      replace(messages, notice(cause instanceof Error ? cause.message : String(cause)));
    }
  }

  return h(
    'div',
    { class: 'narrow' },
    h('h1', {}, 'Sign in'),
    messages,
    loadAfter(signal, 'Loading the sign-in options …', async () => {
      const { issuers, demo } = await signInOptions();
      return [
        demo &&
          h(
            'section',
            { class: 'panel' },
            h('h2', {}, 'The demo'),
            h('p', {}, 'This server has a demo tenant with simulated platforms.'),
            h(
              'p',
              { class: 'buttons' },
              h('button', { type: 'button', class: 'main', onclick: () => attempt(signInToDemo) }, 'Open the demo'),
            ),
          ),
        issuers.length > 0 &&
          h(
            'section',
            { class: 'panel' },
            h('h2', {}, 'With your account'),
            issuers.map((it) => issuerButton(it, messages)),
          ),
      ];
    }),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: onSubmit(() =>
          whileBusy(button, () => attempt(async () => begin(tokenIn(token.value), { from: 'token' }))),
        ),
      },
      h('h2', {}, 'With a token'),
      field({ label: 'Token', control: token, hint: 'The token stays in this tab until the tab is closed.' }),
      h(
        'p',
        { class: 'fine' },
        'The server’s operator creates a token with ',
        h('code', {}, 'gatehouse token --tenant NAME --scope "access:read product:read"'),
      ),
      h('p', { class: 'buttons' }, button),
    ),
  );
}

/** Extracts the token from a pasted text: a terminal may have broken it into lines. @param {string} text */
function tokenIn(text) {
  const token = text
    .trim()
    .replace(/^Bearer\s+/i, '')
    .replace(/\s+/g, '');
  if (!/^[\w.~+/=-]+$/.test(token))
    throw new Error('this is not a token: a token consists of letters, digits, “-”, “_” and “.”');
  return token;
}

/**
 * @param {import('../sign_in/oidc.js').Issuer} issuer
 * @param {Element} messages
 */
function issuerButton(issuer, messages) {
  const host = new URL(issuer.issuer).host;
  if (!issuer.authorizationEndpoint)
    return h('p', { class: 'waiting' }, `The server can’t reach ${host} at the moment. Try again later.`);
  if (!isPossible())
    return h(
      'p',
      {},
      `Signing in at ${host} needs a secure connection: open the console over https, or on the server’s own machine.`,
    );
  const leave = () => leaveForIssuer(issuer, location.hash).catch((cause) => replace(messages, notice(String(cause))));
  return h(
    'p',
    { class: 'buttons' },
    h('button', { type: 'button', class: 'main', onclick: leave }, `Sign in at ${host}`),
  );
}

/** @param {string} text */
const notice = (text) => h('p', { class: 'panel notice', role: 'alert' }, sentence(text));
