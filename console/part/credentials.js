// Credentials that the server shows once. The page holds them nowhere else, and loses them when the user leaves the view.

import { h } from '../element.js';
import { copyButton } from './copy_button.js';
import { showUntilClosed } from './dialog.js';
import { facts, panel } from './panel.js';

/** @typedef {{id: string, username: string, password: string, name: string}} Credentials */

/**
 * A panel with credentials, to copy or to save as a file.
 * @param {Credentials} access
 * @param {{isUnsure?: boolean}} [how] whether the console can't tell if the server has set the password
 */
export function credentialsPanel({ id, username, password, name }, { isUnsure = false } = {}) {
  const fileName = `${name}.json`.replace(/[^\w.-]+/g, '-');
  const content = JSON.stringify({ id, username, password, name }, null, 2);
  const section = panel(
    'secret-title',
    isUnsure ? 'This password may or may not be set' : 'The password is shown only once',
    h(
      'p',
      {},
      isUnsure
        ? 'The server’s response was lost. Keep the password, and check whether the device can connect with it; if not, set a new one. '
        : 'The server stores only a hash of the password. ',
      'When you leave this page, the password can’t be shown again.',
    ),
    facts([
      ['Username', [h('code', { id: 'secret-username' }, username), copyButton('username', username)]],
      ['Password', [h('code', { id: 'secret-password' }, password), copyButton('password', password)]],
    ]),
    h(
      'p',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: () => saveFile(fileName, content) }, 'Save as a file'),
    ),
  );
  section.classList.add('secret');
  return section;
}

/** A panel for a generated password that the server may have set, in a response that was lost. */
export const lostPasswordPanel = () =>
  panel(
    'lost-title',
    'A new password may be set, but was not received',
    h('p', {}, 'The old password may still work, or the server may have set another one. Set a new password.'),
  );

/**
 * Shows credentials in a dialog, to a user who has left the view before the response came.
 * @param {Credentials} access
 * @param {{isUnsure?: boolean}} [how]
 */
export const showCredentialsDialog = (access, how) =>
  showUntilClosed(credentialsPanel(access, how), 'I have saved the password');

/**
 * Offers a file to the browser as a download.
 * @param {string} name
 * @param {BlobPart} content
 * @param {string} [type]
 */
export function saveFile(name, content, type = 'application/json') {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = h('a', { href: url, download: name, hidden: true });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  // By then, the browser has begun to read the file.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
