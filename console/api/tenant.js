// The tenant's settings, for sessions that may read them.

import { may } from '../sign_in/session.js';
import { get } from './client.js';

/**
 * The keys of labels that the tenant's lists can be filtered by; `undefined` if the session may not read them.
 * @param {string} tenant
 * @returns {Promise<string[] | undefined>}
 */
export async function labelKeysOf(tenant) {
  if (!may('admin')) return undefined;
  // The keys are only suggested: without them, the server says which conditions it ignores.
  const answer = await get(`/-/admin/tenants/${encodeURIComponent(tenant)}`).catch(() => undefined);
  return answer && (answer.body.labelKeys ?? []);
}
