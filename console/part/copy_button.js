// The button that copies a text to the clipboard.

import { announce } from '../announcement.js';
import { h } from '../element.js';

/**
 * @param {string} name what the text is, for the label
 * @param {string} text
 */
export function copyButton(name, text) {
  const button = h(
    'button',
    { type: 'button', class: 'copy', 'aria-label': `Copy the ${name}`, onclick: () => copy() },
    'Copy',
  );
  const copy = async () => {
    const isCopied = await writeClipboard(text, button);
    button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C';
    announce(isCopied ? `The ${name} was copied` : `Copy the ${name} by hand`);
    button.addEventListener('blur', () => (button.textContent = 'Copy'), { once: true });
  };
  return button;
}

/**
 * Writes to the clipboard, or selects the text where the browser allows no clipboard: without https.
 * @param {string} text
 * @param {HTMLElement} button
 */
async function writeClipboard(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const shown = button.parentElement?.querySelector('code');
    if (shown) getSelection()?.selectAllChildren(shown);
    return false;
  }
}
