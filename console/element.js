// Making elements: the one way in which anything comes onto the page. Texts are always texts, never markup.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */
/** @typedef {Record<string, any>} Attributes */

const SVG = 'http://www.w3.org/2000/svg';

/** What is set as a property: as an attribute it would only be where the element begins. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'indeterminate', 'selected']);

/**
 * An element with its attributes and what is in it. `onclick` and its like are listeners; what is false or not there is left
 * out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  // Options are there before one of them is chosen.
  append(element, children);
  decorate(element, attributes);
  return element;
}

/**
 * The same for pictures.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  append(element, children);
  decorate(element, attributes);
  return element;
}

/**
 * Puts something else into an element. Whoever was inside with the keyboard stays inside.
 * @param {Element} element
 * @param {...Child} children
 */
export function replace(element, ...children) {
  const wasInside = element.contains(document.activeElement);
  element.replaceChildren();
  append(element, children);
  if (wasInside) focusOn(element.querySelector(STOPS) ?? element);
}

/**
 * Puts the same anew: what was opened stays open, and the keyboard is where it was.
 * @param {Element} element
 * @param {...Child} children
 */
export function redraw(element, ...children) {
  const opened = [...element.querySelectorAll('details')].map((it) => it.open);
  const stops = () => [...element.querySelectorAll(STOPS)];
  const focused = document.activeElement;
  const at = focused ? stops().indexOf(focused) : -1;
  replace(element, ...children);
  for (const [n, it] of element.querySelectorAll('details').entries()) it.open = opened[n] ?? it.open;
  if (at < 0) return;
  // The same one, wherever it stands now; else what stands in its place.
  const name = nameOf(focused);
  focusOn(stops().find((it) => name && nameOf(it) === name) ?? stops()[at]);
}

/** What tells a stop from others. @param {Element | null} stop */
const nameOf = (stop) => stop?.id || stop?.getAttribute('href');

/** Where somebody with a keyboard goes on. */
const STOPS = 'h1, h2, a[href], button, input, select, textarea, summary';

/**
 * Gives something the keyboard, also what isn't made for it.
 * @param {Element | null | undefined} element
 */
export function focusOn(element) {
  if (!(element instanceof HTMLElement)) return;
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus();
}

/**
 * Adds something behind what is there.
 * @param {Element} element
 * @param {Child[]} children
 */
export function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function decorate(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}
