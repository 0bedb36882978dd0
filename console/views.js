// Every view, on one screen: which address leads to it, and where it is. A view is loaded when somebody goes there.

import { may } from './sign_in/session.js';

/**
 * What a view is given.
 * @typedef {object} Context
 * @property {string} tenant
 * @property {string[]} params what stands in the place of `:id`
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal is aborted when somebody goes elsewhere
 * @property {string} trouble what went wrong while signing in
 * @property {(path: string[], query?: Record<string, string | number | undefined>) => string} link
 */

/**
 * @typedef {object} View
 * @property {(context: Context) => string} title
 * @property {string[]} needs any of these scopes; none: everyone
 * @property {(context: Context) => Node | Promise<Node>} show
 */

/** @typedef {() => Promise<View>} Loader */

/** @type {[string, Loader][]} */
const VIEWS = [
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
];

/** @type {Loader} */
export const signInView = () => import('./view/sign_in.js');

/** @type {Loader} */
export const tenantView = () => import('./view/tenant.js');

/** What the frame leads to: a name, a word for it, and any of the scopes that it is for. */
const MENU = [
  { name: 'overview', word: 'Overview', needs: ['access:read', 'product:read'] },
  { name: 'accesses', word: 'Accesses', needs: ['access:read', 'access:write'] },
  { name: 'batches', word: 'Batches', needs: ['access:read', 'access:write'] },
  { name: 'connections', word: 'Connections', needs: ['product:read'] },
  { name: 'contracts', word: 'Contracts', needs: ['access:read'] },
  { name: 'check', word: 'Check', needs: ['access:verify'] },
];

/** What of it this sign-in is for. */
export const offered = () => MENU.filter(({ needs }) => needs.some(may));

/** Where this sign-in begins. */
export const firstView = () => offered()[0]?.name ?? 'overview';

/**
 * The view that a path leads to. Its name is the path, without what is particular.
 * @param {string[]} path
 * @returns {{view: Loader, name: string, params: string[]}}
 */
export function findView(path) {
  for (const [pattern, view] of VIEWS) {
    const parts = pattern.split('/');
    const fits = parts.length === path.length && parts.every((it, n) => it.startsWith(':') || it === path[n]);
    if (!fits) continue;
    const params = path.filter((_, n) => parts[n].startsWith(':'));
    return { view, name: pattern.replaceAll(':', ''), params };
  }
  return { view: () => import('./view/not_found.js'), name: 'nowhere', params: [] };
}
