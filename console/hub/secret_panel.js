// The secret of a hub, which the server shows once. The page holds it nowhere else, and loses it when the user leaves the view.

import { h } from '../element.js';
import { copyButton } from '../part/copy_button.js';
import { showUntilClosed } from '../part/dialog.js';
import { facts, panel } from '../part/panel.js';

/** @typedef {import('../api/hub.js').IssuedHub} IssuedHub */

/** @param {IssuedHub} hub */
export function secretPanel({ callback, secret }) {
  const section = panel(
    'secret-title',
    'The secret is shown only once',
    h(
      'p',
      {},
      'Each message is signed with it, as Standard Webhooks has it: the subscriber checks the signature with the secret. ',
      'When you leave this page, the secret can’t be shown again; the hub can only get a new one.',
    ),
    facts([
      ['Callback', h('bdi', {}, callback)],
      ['Secret', [h('code', { id: 'secret' }, secret), copyButton('secret', secret)]],
    ]),
  );
  section.classList.add('secret');
  return section;
}

/** A panel for a secret that the server may have made, in a response that was lost. */
export const lostSecretPanel = () =>
  panel(
    'lost-title',
    'A new secret may be set, but was not received',
    h(
      'p',
      {},
      'If it is, messages are signed with it and with the former one. Make another new secret, and give it to the subscriber at once: from then on, messages are no longer signed with the former one.',
    ),
  );

/** Shows a secret in a dialog, to a user who has left the view before the response came. @param {IssuedHub} hub */
export const showSecretDialog = (hub) => showUntilClosed(secretPanel(hub), 'I have saved the secret');
