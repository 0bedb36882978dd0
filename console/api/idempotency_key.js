// Names for requests: one whose answer was lost is sent again under the same name, and done once.

export function newKey() {
  const random = crypto.getRandomValues(new Uint32Array(4));
  return `console-${Array.from(random, (it) => it.toString(36)).join('')}`;
}
