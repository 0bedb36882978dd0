// A tenant with failing accounts: one account is up, one has no token, and the platform of one doesn't exist.

import { Api } from './api.js';

/** @typedef {import('./server.js').Server} Server */

/** An address without a listener. */
const NOWHERE = 'http://127.0.0.1:9';

/**
 * Creates the tenant at the demo's platforms.
 *
 * @param {Server} server
 */
export async function makeFailingTenant(server) {
  const operator = new Api(server.url, await server.makeToken(['*'], 'admin'));
  const accounts = await operator.get('/-/admin/tenants/demo/accounts');
  const urlOf = (/** @type {string} */ platform) =>
    accounts.find((/** @type {any} */ it) => it.platform === platform).settings.baseUrl;
  await operator.ask('PUT', '/-/admin/tenants/failing', {});
  const account = (/** @type {string} */ name, /** @type {object} */ rest) =>
    operator.ask('PUT', `/-/admin/tenants/failing/accounts/${name}`, {
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
export function tokenForFailingTenant(server) {
  return server.makeToken(['failing'], 'access:read access:write product:read');
}
