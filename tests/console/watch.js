// The watch records every failure of a page: errors and warnings in its console, requests that fail or leave the server, and
// violations of the content security policy. A test fails for each that it hasn't announced.

/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Request} Request */

/**
 * An error response: a status from 400 on, or no response.
 *
 * @typedef {number | 'no answer'} Outcome
 */

/** Chromium's message about an error response; the response itself says more. */
const BAD_ANSWER = 'Failed to load resource';

/** The error of a request that the page has aborted, which is no failure. */
const GIVEN_UP = 'net::ERR_ABORTED';

export class Watch {
  /** @type {Set<string>} */
  #origins;
  /** @type {string[]} */
  #complaints = [];
  /** @type {{ outcome: Outcome, path: string | RegExp, hasCome: boolean }[]} */
  #announced = [];
  /**
   * Chromium's messages about error responses, by URL.
   *
   * @type {Map<string, string>}
   */
  #toldOf = new Map();
  /**
   * The URLs of error responses that were recorded.
   *
   * @type {Set<string>}
   */
  #seen = new Set();

  /**
   * @param {BrowserContext} context
   * @param {string[]} origins The origins that the page may call.
   */
  constructor(context, origins) {
    this.#origins = new Set(origins);
    context.on('console', (message) => {
      const said = `${message.type()} in the console: ${message.text()}`;
      if (message.text().startsWith(BAD_ANSWER)) this.#toldOf.set(message.location().url, said);
      else if (['error', 'warning', 'assert'].includes(message.type())) this.#complaints.push(said);
    });
    context.on('weberror', (error) => {
      const { message, stack } = error.error();
      this.#complaints.push(`uncaught: ${stack ?? message}`);
    });
    context.on('request', (request) => this.#look(request));
    context.on('requestfailed', (request) => {
      const why = request.failure()?.errorText ?? 'for no reason that is known';
      if (why !== GIVEN_UP) this.#judge(request, 'no answer', why);
    });
    context.on('response', (response) => {
      const status = response.status();
      if (status >= 400) this.#judge(response.request(), status, response.statusText());
    });
  }

  /**
   * Announces an error response that the test causes. It has to come at least once.
   *
   * @param {Outcome} outcome
   * @param {string | RegExp} path Without the query.
   */
  announce(outcome, path) {
    this.#announced.push({ outcome, path, hasCome: false });
  }

  /** The failures so far, a line for each. */
  complaints() {
    const unseen = [...this.#toldOf].filter(([url]) => !this.#seen.has(url)).map(([url, said]) => `${said} (${url})`);
    const missing = this.#announced
      .filter(({ hasCome }) => !hasCome)
      .map(({ outcome, path }) => `${outcome} was announced for ${path}, and has not come`);
    return [...this.#complaints, ...unseen, ...missing];
  }

  /** @param {Request} request */
  #look(request) {
    const { protocol, origin } = new URL(request.url());
    const leaves = /^(https?|wss?):$/.test(protocol) && !this.#origins.has(origin);
    if (leaves) this.#complaints.push(`a request to another origin: ${request.method()} ${request.url()}`);
  }

  /**
   * @param {Request} request
   * @param {Outcome} outcome
   * @param {string} why
   */
  #judge(request, outcome, why) {
    this.#seen.add(request.url());
    const { pathname } = new URL(request.url());
    const fits = (/** @type {string | RegExp} */ path) =>
      typeof path === 'string' ? path === pathname : path.test(pathname);
    const announced = this.#announced.filter((it) => it.outcome === outcome && fits(it.path));
    for (const it of announced) it.hasCome = true;
    if (!announced.length) this.#complaints.push(`${outcome} ${why}: ${request.method()} ${request.url()}`);
  }
}
