// The route table: the view of each address. A view's module is loaded when the user first opens the view.

/** @typedef {() => Promise<import('./view/context.js').View>} Loader */

/** @type {[string, Loader][]} */
const ROUTES = [
  ['overview', () => import('./view/overview.js')],
  ['accesses', () => import('./view/accesses.js')],
  ['accesses/new', () => import('./view/new_access.js')],
  ['accesses/:id', () => import('./view/access.js')],
  ['batches', () => import('./view/batches.js')],
  ['batches/new', () => import('./view/new_batch.js')],
  ['batches/:id', () => import('./view/batch.js')],
  ['connections', () => import('./view/connections.js')],
  ['connections/find', () => import('./view/find_connections.js')],
  ['connections/:id', () => import('./view/connection.js')],
  ['contracts', () => import('./view/contracts.js')],
  ['check', () => import('./view/check.js')],
  ['hubs', () => import('./view/hubs.js')],
  ['hubs/new', () => import('./view/new_hub.js')],
  ['hubs/:id', () => import('./view/hub.js')],
  ['audit', () => import('./view/audit.js')],
  ['audit/estate', () => import('./view/estate_audit.js')],
];

/** @type {Loader} */
export const signInView = () => import('./view/sign_in.js');

/** @type {Loader} */
export const tenantView = () => import('./view/tenant.js');

/**
 * Finds the view of a path. The view's name is its route without the colon of `:id`.
 * @param {string[]} path
 * @returns {{view: Loader, name: string, params: string[]}}
 */
export function findView(path) {
  for (const [route, view] of ROUTES) {
    const segments = route.split('/');
    const isParam = (/** @type {number} */ n) => segments[n].startsWith(':');
    if (segments.length !== path.length || !path.every((it, n) => isParam(n) || it === segments[n])) continue;
    return { view, name: route.replaceAll(':', ''), params: path.filter((_, n) => isParam(n)) };
  }
  return { view: () => import('./view/not_found.js'), name: 'not-found', params: [] };
}
