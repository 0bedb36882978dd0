// Addresses: every view has one, behind the `#`, so that it can be shared, kept and gone back to. What stands there is
// never sent to a server, and so in none of its logs.

/**
 * What an address leads to: `#/demo/accesses/01a1…?page=2`.
 * @typedef {object} Address
 * @property {string} tenant
 * @property {string[]} path
 * @property {URLSearchParams} query
 */

/**
 * The address that the browser shows, or another one.
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
 * Goes to a view; the way back leads to the one that is there now.
 * @param {string} to
 */
export function go(to) {
  location.hash = to;
}

/**
 * Puts an address in the place of the one that is there: the way back leads past it.
 * @param {string} to
 */
export function goInstead(to) {
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
