// The real server for the tests of a file: the demo, or a server with an issuer.

import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';

import { Api } from './api.js';
import { binary, issuerScript } from './environment.js';
import { startProgram } from './program.js';

/**
 * A server that runs until the tests of the file have finished.
 *
 * @typedef {object} Server
 * @property {string} url The server's address.
 * @property {string} token A token with all scopes for the demo tenant; empty without a demo.
 * @property {Api} api A client of the API with that token.
 * @property {(tenants: string[], scope: string) => Promise<string>} makeToken
 * @property {() => string} log The log so far.
 * @property {() => Promise<void>} stop Stops the server early.
 */

/**
 * An OpenID Connect issuer that runs as long as its server.
 *
 * @typedef {object} Issuer
 * @property {string} url
 * @property {(what: string) => Promise<any>} tell Calls one of the script's commands under /test/.
 */

/** The estate of the server with an issuer, whose users belong to this tenant. */
const ESTATE = `
tenants:
  - name: acme
    timeZone: Europe/Berlin
    contracts:
      - { id: C-PAYG, productOfferingId: PO-IOT-PAYG, billingModel: PAY_PER_USE }
      - { id: C-PRE, productOfferingId: PO-IOT-YEAR, billingModel: PREPAID, validityPeriod: P365D, maxAccesses: 3 }
`;

/**
 * Starts a server with the demo's tenant and simulated platforms.
 *
 * @param {string} settings Settings that differ from the defaults.
 * @returns {Promise<Server>}
 */
export async function startDemo(settings = '') {
  const said = /^listening on (\S+)$.*GATEHOUSE_TOKEN=(\S+)\n/ms;
  const directory = await makeDirectory();
  const config = join(directory, 'gatehouse.toml');
  await writeFile(config, settings);
  return serve(['--demo', '--config', config], said, directory);
}

/**
 * Starts an issuer, and a server that accepts its tokens.
 *
 * @returns {Promise<{ server: Server, issuer: Issuer }>}
 */
export async function startWithIssuer() {
  const issuer = await startIssuer();
  const directory = await makeDirectory();
  const settings = `
[[auth.issuers]]
issuer = "${issuer.url}"
audience = "fleet"
tenants_claim = "fleet.tenants"
console_client_id = "gatehouse-console"
`;
  const [config, estate] = [join(directory, 'gatehouse.toml'), join(directory, 'estate.yaml')];
  await Promise.all([writeFile(config, settings), writeFile(estate, ESTATE)]);
  const server = await serve(['--config', config, '--estate', estate], /^listening on (\S+)\n/m, directory);
  return { server, issuer };
}

/**
 * @param {string[]} options
 * @param {RegExp} said
 * @param {string} directory
 * @returns {Promise<Server>}
 */
async function serve(options, said, directory) {
  const data = ['--data-dir', join(directory, 'data')];
  const always = ['serve', '--listen', '127.0.0.1:0', ...data];
  const program = await startProgram(binary, [...always, ...options], said);
  after(program.stop);
  const [, url, token = ''] = program.ready;
  const makeToken = async (/** @type {string[]} */ tenants, /** @type {string} */ scope) => {
    const given = tenants.flatMap((it) => ['--tenant', it]);
    const { stdout } = await promisify(execFile)(binary, ['token', ...data, ...given, '--scope', scope]);
    return stdout.trim();
  };
  return { url, token, api: new Api(url, token), makeToken, log: program.output, stop: program.stop };
}

/** @returns {Promise<Issuer>} */
async function startIssuer() {
  const program = await startProgram(process.execPath, [issuerScript], /^issuer (\S+)\n/m);
  after(program.stop);
  const [, url] = program.ready;
  const tell = async (/** @type {string} */ what) => {
    const answer = await fetch(`${url}/test/${what}`);
    if (!answer.ok) throw new Error(`the issuer says ${answer.status} to ${what}: ${await answer.text()}`);
    return answer.json();
  };
  return { url, tell };
}

/** A temporary directory for one server. */
async function makeDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-console-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
