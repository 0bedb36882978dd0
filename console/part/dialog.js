// Modal dialogs.

import { h } from '../element.js';

/**
 * Asks for confirmation, and names the consequences. Neither Enter nor Escape alone confirms.
 * @param {object} question
 * @param {import('../element.js').Child} question.title
 * @param {import('../element.js').Child} question.consequence
 * @param {string} question.yes the text of the button that confirms
 * @param {boolean} [question.isIrreversible]
 * @param {HTMLElement} [question.form] an input that belongs to the question
 * @param {() => boolean} [question.check] whether the input is valid; the dialog stays open until it is
 * @param {AbortSignal} signal of the view that asks: leaving the view declines
 * @returns {Promise<boolean>}
 */
export function confirm({ title, consequence, yes, isIrreversible = false, form, check }, signal) {
  return new Promise((resolve) => {
    const no = h('button', { type: 'button', onclick: () => dialog.close('no') }, 'Cancel');
    const dialog = h(
      'dialog',
      { class: 'question', 'aria-labelledby': 'dialog-title' },
      h(
        'form',
        {
          method: 'dialog',
          onsubmit: (/** @type {Event} */ event) => {
            if (check?.() === false) event.preventDefault();
          },
        },
        h('h2', { id: 'dialog-title' }, title),
        h('div', { class: 'consequence' }, consequence),
        form,
        h(
          'p',
          { class: 'buttons' },
          h('button', { type: 'submit', value: 'yes', class: isIrreversible ? 'grave' : 'main' }, yes),
          no,
        ),
      ),
    );
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    signal.addEventListener('abort', () => dialog.close('no'), { once: true });
    document.body.append(dialog);
    dialog.returnValue = 'no';
    dialog.showModal();
    no.focus();
  });
}

/**
 * Shows content that the user must not miss: only the button closes the dialog.
 * @param {import('../element.js').Child} content
 * @param {string} done the text of the button
 */
export function showUntilClosed(content, done) {
  const close = h('button', { type: 'button', class: 'main', onclick: () => dialog.close() }, done);
  const dialog = h('dialog', { closedby: 'none' }, content, h('p', { class: 'buttons' }, close));
  // Browsers that don't know `closedby` close a dialog at the second Escape.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') event.preventDefault();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Declines every open question. Dialogs that show content stay open. */
export function declineQuestions() {
  for (const dialog of document.querySelectorAll('dialog'))
    if (dialog.classList.contains('question')) dialog.close('no');
}
