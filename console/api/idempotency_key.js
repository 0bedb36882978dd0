// Idempotency keys: the server processes requests with the same key once, so a request whose response was lost can be retried.

/** Returns a function that gives each request body its key: a body keeps its key until another body is sent. */
export function idempotencyKeys() {
  /** @type {string | undefined} */
  let lastBody;
  let key = '';
  return (/** @type {object} */ body) => {
    const text = JSON.stringify(body);
    if (text !== lastBody) [lastBody, key] = [text, newKey()];
    return key;
  };
}

function newKey() {
  const random = crypto.getRandomValues(new Uint32Array(4));
  return `console-${Array.from(random, (it) => it.toString(36)).join('')}`;
}
