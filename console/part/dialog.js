// Dialogs: something is asked, and nothing else happens until it is answered. Escape says no.

import { h } from '../element.js';

/**
 * Asks before something that has consequences. It names them; whoever only presses Enter does nothing.
 * @param {object} question
 * @param {string} question.title
 * @param {import('../element.js').Child} question.consequence
 * @param {string} question.yes what the button says that does it
 * @param {boolean} [question.isGrave] whether it can't be undone
 * @param {HTMLElement} [question.form] what is asked beside
 * @returns {Promise<boolean>}
 */
export function confirm({ title, consequence, yes, isGrave = false, form }) {
  return new Promise((resolve) => {
    const no = h('button', { type: 'button', onclick: () => dialog.close('no') }, 'Cancel');
    const dialog = h(
      'dialog',
      { 'aria-labelledby': 'dialog-title' },
      h(
        'form',
        { method: 'dialog' },
        h('h2', { id: 'dialog-title' }, title),
        h('div', { class: 'consequence' }, consequence),
        form,
        h(
          'p',
          { class: 'buttons' },
          h('button', { type: 'submit', value: 'yes', class: isGrave ? 'grave' : 'main' }, yes),
          no,
        ),
      ),
    );
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.returnValue = 'no';
    dialog.showModal();
    if (!form) no.focus();
  });
}
