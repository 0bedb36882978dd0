// A combobox: an input whose options load while the user types, and which opens the chosen one.

import { announce } from '../announcement.js';
import { h, replace } from '../element.js';
import { VERBATIM } from '../part/form.js';

/** @typedef {import('../element.js').Child} Child */

/**
 * @typedef {object} Option
 * @property {string} href
 * @property {Child} content
 * @property {boolean} isExact whether the option is exactly what the user has typed
 */

/** The pause after which the options of a text are loaded. */
const PAUSE_MS = 150;

/**
 * @param {object} what
 * @param {string} what.id
 * @param {string} what.label
 * @param {string} what.placeholder
 * @param {number} what.maxlength
 * @param {(text: string, signal: AbortSignal) => Promise<Option[]>} what.load the options of a text
 * @param {(options: Option[], text: string) => string} what.inWords says how many options there are
 * @param {(cause: unknown) => string} what.explain
 * @param {(href: string) => void} what.open
 * @param {AbortSignal} signal of the view
 */
export function combobox({ id, label, placeholder, maxlength, load, inWords, explain, open }, signal) {
  /** @type {Option[]} */
  let options = [];
  let active = -1;
  /** The text that the options are of. */
  let loadedFor = '';
  /** Whether Enter was pressed before the options of the text were loaded. */
  let isEntered = false;
  let loading = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;

  const list = h('ul', { id: `${id}-options`, role: 'listbox', 'aria-label': label });
  const words = h('p', { class: 'fine' });
  // A press on the list leaves the focus in the input.
  const keepFocus = (/** @type {Event} */ event) => event.preventDefault();
  const popup = h('div', { class: 'popup', hidden: true, onmousedown: keepFocus }, words, list);
  const input = h('input', {
    id,
    type: 'search',
    role: 'combobox',
    'aria-label': label,
    'aria-expanded': 'false',
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
    placeholder,
    maxlength,
    ...VERBATIM,
    oninput: () => {
      isEntered = false;
      clearTimeout(waiting);
      waiting = setTimeout(() => look(input.value.trim()), PAUSE_MS);
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => press(event),
    onfocus: () => {
      if (loadedFor !== '' && loadedFor === input.value.trim()) show(true);
    },
    onblur: () => show(false),
  });

  /** @param {string} text */
  async function look(text) {
    loading.abort();
    loading = new AbortController();
    const own = AbortSignal.any([signal, loading.signal]);
    if (text === '') {
      [options, loadedFor] = [[], ''];
      return show(false);
    }
    try {
      const found = await load(text, own);
      if (own.aborted) return;
      [options, loadedFor] = [found, text];
      words.textContent = inWords(options, text);
      announce(words.textContent);
    } catch (cause) {
      if (own.aborted) return;
      [options, loadedFor] = [[], ''];
      words.textContent = explain(cause);
      announce(words.textContent);
    }
    draw();
    show(document.activeElement === input);
    if (isEntered) enter();
  }

  function draw() {
    active = -1;
    replace(
      list,
      options.map(({ content }, n) =>
        h(
          'li',
          {
            id: `${id}-option-${n}`,
            role: 'option',
            'aria-selected': 'false',
            onclick: () => open(options[n].href),
          },
          content,
        ),
      ),
    );
    list.hidden = options.length === 0;
    input.removeAttribute('aria-activedescendant');
  }

  /** @param {boolean} isShown */
  function show(isShown) {
    popup.hidden = !isShown;
    input.setAttribute('aria-expanded', String(isShown && options.length > 0));
    if (!isShown) activate(-1);
  }

  /** Highlights an option; -1 highlights none. @param {number} n */
  function activate(n) {
    list.children[active]?.setAttribute('aria-selected', 'false');
    active = n;
    const option = list.children[n];
    if (!option) return input.removeAttribute('aria-activedescendant');
    option.setAttribute('aria-selected', 'true');
    option.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', option.id);
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    const { key } = event;
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault();
      if (options.length === 0) return;
      if (popup.hidden) show(true);
      const step = key === 'ArrowDown' ? 1 : -1;
      // Beyond the last option comes the input itself, then the first option.
      const n = options.length + 1;
      activate(((active + 1 + step + n) % n) - 1);
    } else if (key === 'Escape' && !popup.hidden) {
      // The list closes, and the text stays.
      event.preventDefault();
      show(false);
    } else if (key === 'Enter') {
      event.preventDefault();
      const text = input.value.trim();
      if (text !== '' && text === loadedFor) return enter();
      isEntered = true;
      clearTimeout(waiting);
      look(text);
    }
  }

  /** Opens the highlighted option, or else the only one or the exact one; otherwise highlights the first. */
  function enter() {
    isEntered = false;
    const chosen =
      options[active] ?? options.find((it) => it.isExact) ?? (options.length === 1 ? options[0] : undefined);
    if (chosen) return open(chosen.href);
    if (options.length === 0) return;
    show(true);
    activate(0);
  }

  return h('div', { class: 'combobox', role: 'search' }, input, popup);
}
