// A tenant beside the demo's whose platforms partly fail: one account is well, one has no token, and one has no platform.

import { Api } from './api.js';

/** @typedef {import('./server.js').Server} Server */

/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9';

/**
 * Sets the tenant up, at the demo's platforms.
 *
 * @param {Server} server
 */
export async function makeLame(server) {
  const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));
  const accounts = await operator.get('/-/admin/tenants/demo/accounts');
  const urlOf = (/** @type {string} */ platform) =>
    accounts.find((/** @type {any} */ it) => it.platform === platform).settings.baseUrl;
  await operator.ask('PUT', '/-/admin/tenants/lame', {});
  const account = (/** @type {string} */ name, /** @type {object} */ rest) =>
    operator.ask('PUT', `/-/admin/tenants/lame/accounts/${name}`, {
      connector: 'simulator',
      platformAccount: name,
      ...rest,
    });
  const settings = (/** @type {string} */ baseUrl, /** @type {string} */ paging) => ({ baseUrl, paging });
  const credentials = { token: 'demo-eu' };
  await account('fine', { platform: 'ALPHA', settings: settings(urlOf('ALPHA'), 'page'), credentials });
  await account('keyless', { platform: 'BETA', settings: settings(urlOf('BETA'), 'offset') });
  await account('gone', { platform: 'GAMMA', settings: settings(NOWHERE, 'cursor'), credentials });
}

/** @param {Server} server */
export function tokenForLame(server) {
  return server.makeToken(['lame'], 'access:read access:write product:read');
}
