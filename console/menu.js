// The menu: the views that the frame links to, each with the scopes that it is for.

import { may } from './sign_in/session.js';

/** A session sees an item if it has any of the item's scopes. */
const MENU = [
  { name: 'overview', word: 'Overview', scopes: ['access:read', 'product:read'] },
  { name: 'accesses', word: 'Accesses', scopes: ['access:read', 'access:write'] },
  { name: 'batches', word: 'Batches', scopes: ['access:read', 'access:write'] },
  { name: 'connections', word: 'Connections', scopes: ['product:read'] },
  { name: 'contracts', word: 'Contracts', scopes: ['access:read'] },
  { name: 'check', word: 'Check', scopes: ['access:verify'] },
  { name: 'hubs', word: 'Hubs', scopes: ['event:write'] },
  { name: 'audit', word: 'Audit', scopes: ['admin'] },
];

/** The items that the session may open. */
export const menuItems = () => MENU.filter(({ scopes }) => scopes.some(may));

/** The name of the view that the session starts at. */
export const firstView = () => menuItems()[0]?.name ?? 'overview';
