// The colour theme: the system's, unless the user chooses light or dark.

const KEY = 'gatehouse.theme';

/** @typedef {'auto' | 'light' | 'dark'} Theme */

/** @type {Theme[]} */
export const THEMES = ['auto', 'light', 'dark'];

/** @returns {Theme} */
export function chosenTheme() {
  const kept = /** @type {Theme | null} */ (localStorage.getItem(KEY));
  return kept && THEMES.includes(kept) ? kept : 'auto';
}

/** @param {Theme} theme */
export function chooseTheme(theme) {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme() {
  const theme = chosenTheme();
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
