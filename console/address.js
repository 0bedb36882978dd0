// Addresses: every view has one behind the `#`, to share, to bookmark and to go back to. Browsers never send that part to a
// server, so it is in no server's log.

/**
 * A parsed address: `#/demo/accesses/01a1…?page=2`.
 * @typedef {object} Address
 * @property {string} tenant
 * @property {string[]} path
 * @property {URLSearchParams} query
 */

/**
 * Parses the browser's address, or another one.
 * @returns {Address}
 */
export function here(hash = location.hash) {
  const [path, query] = cut(hash.replace(/^#\/?/, ''), '?');
  const [tenant = '', ...rest] = path.split('/').map(decode);
  return { tenant, path: rest.filter((it) => it !== ''), query: new URLSearchParams(query) };
}

/**
 * The link to a view.
 * @param {string} tenant
 * @param {string[]} path
 * @param {Record<string, string | number | undefined>} [query]
 */
export function link(tenant, path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const pairs = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  const text = pairs.toString();
  return `#/${[tenant, ...path].map(encodeURIComponent).join('/')}${text && `?${text}`}`;
}

/**
 * Opens a view; the browser's back button returns to the current one.
 * @param {string} to
 */
export function go(to) {
  location.hash = to;
}

/**
 * Redirects to a view: the current address leaves the browser's history.
 * @param {string} to
 */
export function redirect(to) {
  history.replaceState(null, '', to);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** @param {string} text @param {string} at */
function cut(text, at) {
  const n = text.indexOf(at);
  return n < 0 ? [text, ''] : [text.slice(0, n), text.slice(n + 1)];
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
