// A client of the API: it sets up what a test needs, and reads what the console should show.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

const JSON_TYPE = 'application/json';

/** Milliseconds between two polls. */
const BETWEEN = 50;

export class Api {
  /** @type {string} */
  #url;
  /** @type {string} */
  #token;

  /**
   * @param {string} url
   * @param {string} token
   */
  constructor(url, token) {
    this.#url = url;
    this.#token = token;
  }

  /**
   * Sends a request, whatever its status.
   *
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @param {string} [type]
   * @returns {Promise<{ status: number, headers: Headers, body: any }>}
   */
  async send(method, path, body, type = JSON_TYPE) {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': type };
    const answer = await fetch(this.#url + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text && JSON.parse(text) };
  }

  /**
   * Sends a request that has to succeed, and returns the response's body.
   *
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @param {string} [type]
   */
  async ask(method, path, body, type) {
    const answer = await this.send(method, path, body, type);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** @param {string} path */
  get(path) {
    return this.ask('GET', path);
  }

  /** @param {{ contractId?: string, username?: string, password?: string, deviceName?: string, labels?: object }} [given] */
  createAccess(given = {}) {
    return this.ask('POST', '/demo/access', { contractId: 'C-PAYG', ...given });
  }

  /**
   * @param {string} id
   * @param {object} change
   */
  changeAccess(id, change) {
    return this.ask('PATCH', `/demo/access/${id}`, change, 'application/merge-patch+json');
  }

  /**
   * Sends a batch, and returns its Task's ID.
   *
   * @param {object} batch
   * @returns {Promise<string>}
   */
  async begin(batch) {
    const { id } = await this.ask('POST', '/demo/access/batch', { contractId: 'C-PAYG', ...batch });
    return id;
  }

  /**
   * Creates accesses by a batch, and returns the finished Task.
   *
   * @param {object} batch
   */
  async createMany(batch) {
    return this.untilOver(await this.begin(batch));
  }

  /**
   * Starts a batch that runs longer than a test: chosen passwords are slow to hash.
   *
   * @param {string} word what its usernames begin with
   */
  beginSlowly(word) {
    const accesses = Array.from({ length: 5000 }, (_, n) => ({ username: `${word}-${n}`, password: `chosen ${n}` }));
    return this.begin({ accesses });
  }

  /** @param {string} id */
  async stop(id) {
    const { status } = await this.send('DELETE', `/demo/access/batch/${id}`);
    assert.ok(status === 200 || status === 409, `${status}`);
  }

  /** @param {string} id */
  async untilOver(id) {
    for (;;) {
      const task = await this.get(`/demo/access/batch/${id}`);
      if (!['ACKNOWLEDGED', 'IN_PROGRESS'].includes(task.state)) return task;
      await pause(BETWEEN);
    }
  }

  /**
   * Waits until the journal has as many events of an access: they follow its changes within a moment.
   *
   * @param {string} id
   * @param {number} n
   */
  async untilRecorded(id, n) {
    while ((await this.get(`/demo/access/${id}/event`)).length < n) await pause(BETWEEN);
  }

  /**
   * Whether a device may connect.
   *
   * @param {{ username: string, password: string }} credentials
   */
  async letsIn({ username, password }) {
    const { status } = await this.send('POST', '/demo/verify', { username, password });
    assert.ok(status === 200 || status === 401, `${status}`);
    return status === 200;
  }
}
