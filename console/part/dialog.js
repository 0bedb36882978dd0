// Dialogs: something is asked or told, and nothing else happens until that is over.

import { h } from '../element.js';

/**
 * Asks before something that has consequences. It names them; whoever only presses Enter or Escape does nothing.
 * @param {object} question
 * @param {import('../element.js').Child} question.title
 * @param {import('../element.js').Child} question.consequence
 * @param {string} question.yes what the button says that does it
 * @param {boolean} [question.isGrave] whether it can't be undone
 * @param {HTMLElement} [question.form] what is asked beside
 * @param {AbortSignal} signal of the view that asks: whoever leaves it has said no
 * @returns {Promise<boolean>}
 */
export function confirm({ title, consequence, yes, isGrave = false, form }, signal) {
  return new Promise((resolve) => {
    const no = h('button', { type: 'button', onclick: () => dialog.close('no') }, 'Cancel');
    const dialog = h(
      'dialog',
      { class: 'question', 'aria-labelledby': 'dialog-title' },
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
    signal.addEventListener('abort', () => dialog.close('no'), { once: true });
    document.body.append(dialog);
    dialog.returnValue = 'no';
    dialog.showModal();
    no.focus();
  });
}

/**
 * Shows something that must not be missed.
 * @param {import('../element.js').Child} content
 * @param {string} done what the button says that closes it
 */
export function insist(content, done) {
  const close = h('button', { type: 'button', class: 'main', onclick: () => dialog.close() }, done);
  const dialog = h('dialog', { closedby: 'none' }, content, h('p', { class: 'buttons' }, close));
  // A press of Escape isn't reading; browsers that don't know `closedby` let a second one through.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') event.preventDefault();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Whoever is asked something while all else ends has said no. What is told stays. */
export function dropQuestions() {
  for (const dialog of document.querySelectorAll('dialog'))
    if (dialog.classList.contains('question')) dialog.close('no');
}
