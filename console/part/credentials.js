// What is shown once: credentials, to be copied or kept as a file. They are nowhere else on this page, and gone with it.

import { announce } from '../announcement.js';
import { h } from '../element.js';
import { insist } from './dialog.js';

/** @typedef {{id: string, username: string, password: string, name: string}} Credentials */

/**
 * @param {Credentials} access
 * @param {{isUnsure?: boolean}} [how] whether nobody knows if the password is set
 */
export function credentials({ id, username, password, name }, { isUnsure = false } = {}) {
  return h(
    'section',
    { class: 'panel secret', 'aria-labelledby': 'secret-title' },
    h('h2', { id: 'secret-title' }, isUnsure ? 'This password may be set, or not' : 'The password is shown only now'),
    h(
      'p',
      {},
      isUnsure
        ? 'The answer was lost. Keep it, and check whether it lets the device in; if not, set a new one. '
        : 'The server keeps nothing that it could be read from. ',
      'When you leave this view, it is gone.',
    ),
    h(
      'dl',
      { class: 'facts' },
      h('dt', {}, 'Username'),
      h('dd', {}, h('code', { id: 'secret-username' }, username), copyButton('username', username)),
      h('dt', {}, 'Password'),
      h('dd', {}, h('code', { id: 'secret-password' }, password), copyButton('password', password)),
    ),
    h(
      'p',
      { class: 'buttons' },
      h(
        'button',
        {
          type: 'button',
          onclick: () =>
            save(`${name}.json`.replace(/[^\w.-]+/g, '-'), JSON.stringify({ id, username, password, name }, null, 2)),
        },
        'Keep as a file',
      ),
    ),
  );
}

/** What is told where the server may have drawn a password, and the answer that held it was lost. */
export const perhapsLost = () =>
  h(
    'section',
    { class: 'panel', 'aria-labelledby': 'lost-title' },
    h('h2', { id: 'lost-title' }, 'A new password may be set, and was lost'),
    h('p', {}, 'The old password may still work, or the server may have set one that was not shown. Set a new one.'),
  );

/**
 * Shows credentials to somebody who has left the view that they belong to before the answer came.
 * @param {Credentials} access
 * @param {{isUnsure?: boolean}} [how]
 */
export const showAnyway = (access, how) => insist(credentials(access, how), 'I have it');

/**
 * @param {string} what
 * @param {string} text
 */
export function copyButton(what, text) {
  const button = h(
    'button',
    { type: 'button', class: 'copy', 'aria-label': `Copy the ${what}`, onclick: () => copy() },
    'Copy',
  );
  const copy = async () => {
    const isDone = await toClipboard(text, button);
    button.textContent = isDone ? 'Copied' : 'Press Ctrl+C';
    announce(isDone ? `The ${what} is in the clipboard` : `Copy the ${what} by hand`);
    button.addEventListener('blur', () => (button.textContent = 'Copy'), { once: true });
  };
  return button;
}

/**
 * Without https the browser gives no clipboard; then the text is at least marked.
 * @param {string} text
 * @param {HTMLElement} button
 */
async function toClipboard(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const shown = button.parentElement?.querySelector('code');
    if (shown) getSelection()?.selectAllChildren(shown);
    return false;
  }
}

/**
 * Gives a file to the browser, to be kept wherever it keeps files.
 * @param {string} name
 * @param {BlobPart} content
 * @param {string} [type]
 */
export function save(name, content, type = 'application/json') {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = h('a', { href: url, download: name, hidden: true });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
