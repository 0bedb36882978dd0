// Creating elements. Everything on the page is created here, and a text never becomes markup.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */
/** @typedef {Record<string, any>} Attributes */

const SVG = 'http://www.w3.org/2000/svg';

/** Attributes that are set as properties: the attribute would only set the initial value. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'indeterminate', 'selected']);

/**
 * Creates an element with attributes and children. Functions such as `onclick` become listeners; `false`, `null` and `undefined`
 * are skipped.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  // Children first: a select needs its options before its value.
  append(element, children);
  decorate(element, attributes);
  return element;
}

/**
 * Creates an SVG element, like `h` does for HTML.
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
 * Replaces the children of an element. A focus inside the element stays inside.
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
 * Replaces the children of an element by a newer version: open details stay open, and the focus stays on the same control.
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
  // The control with the same key, or else the control at the same position.
  const key = keyOf(focused);
  focusOn(stops().find((it) => key && keyOf(it) === key) ?? stops()[at]);
}

/** A key that identifies a focus stop across versions. @param {Element | null} stop */
const keyOf = (stop) => stop?.id || stop?.getAttribute('href');

/** Elements that take the focus. */
const STOPS = 'h1, h2, a[href], button, input, select, textarea, summary';

/**
 * Focuses an element, also one that is not focusable by itself, such as a heading.
 * @param {Element | null | undefined} element
 */
export function focusOn(element) {
  if (!(element instanceof HTMLElement)) return;
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus();
}

/**
 * Appends children to an element.
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
