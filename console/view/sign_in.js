// Signing in: at an issuer of the operator's, with a token that somebody has, or to the demo.

import { h, replace } from '../element.js';
import { field, whileBusy } from '../part/form.js';
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
  const told = h('div', { 'aria-live': 'assertive' }, signInProblem && notice(signInProblem));
  const token = h('textarea', {
    id: 'token',
    rows: 4,
    required: true,
    spellcheck: 'false',
    autocapitalize: 'off',
    autocomplete: 'off',
  });
  const button = h('button', { type: 'submit', class: 'main' }, 'Sign in with the token');

  /** @param {() => Promise<unknown>} way */
  async function attempt(way) {
    replace(told);
    try {
      await way();
      dispatchEvent(new Event('gatehouse:session'));
    } catch (cause) {
      replace(told, notice(cause instanceof Error ? cause.message : String(cause)));
    }
  }

  return h(
    'div',
    { class: 'narrow' },
    h('h1', {}, 'Sign in'),
    told,
    loadAfter(signal, 'Asking how to sign in …', async () => {
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
            issuers.map((it) => issuerButton(it, told)),
          ),
      ];
    }),
    h(
      'form',
      {
        class: 'panel fields',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          whileBusy(button, () => attempt(async () => begin(tokenIn(token.value), { from: 'token' })));
        },
      },
      h('h2', {}, 'With a token'),
      field({ label: 'Token', control: token, hint: 'It stays in this tab, and is forgotten when the tab is closed.' }),
      h(
        'p',
        { class: 'fine' },
        'Whoever runs the server makes one: ',
        h('code', {}, 'gatehouse token --tenant NAME --scope "access:read product:read"'),
      ),
      h('p', { class: 'buttons' }, button),
    ),
  );
}

/** The token in what somebody has pasted: a terminal may have broken it into lines. @param {string} text */
function tokenIn(text) {
  const token = text
    .trim()
    .replace(/^Bearer\s+/i, '')
    .replace(/\s+/g, '');
  if (!/^[\w.~+/=-]+$/.test(token)) throw new Error('this is no token: one has letters, digits, “-”, “_” and “.” only');
  return token;
}

/**
 * @param {import('../sign_in/oidc.js').Issuer} issuer
 * @param {Element} told
 */
function issuerButton(issuer, told) {
  const host = new URL(issuer.issuer).host;
  if (!issuer.authorizationEndpoint)
    return h('p', { class: 'waiting' }, `${host} can’t be reached by the server just now. Try again in a while.`);
  if (!isPossible())
    return h(
      'p',
      {},
      `Signing in at ${host} needs a safe connection: open the console by https, or on the server’s own machine.`,
    );
  const leave = () => leaveForIssuer(issuer, location.hash).catch((cause) => replace(told, notice(String(cause))));
  return h(
    'p',
    { class: 'buttons' },
    h('button', { type: 'button', class: 'main', onclick: leave }, `Sign in at ${host}`),
  );
}

/** @param {string} text */
const notice = (text) => h('p', { class: 'panel notice', role: 'alert' }, sentence(text));
