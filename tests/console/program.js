// A child process that runs during the tests.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * A running program and its output.
 *
 * @typedef {object} Program
 * @property {RegExpExecArray} ready The output that showed that the program is ready.
 * @property {() => string} output The output so far.
 * @property {() => Promise<void>} stop Terminates the program, and waits for its end.
 */

/** @type {Set<ChildProcess>} */
const running = new Set();

// No child process outlives the tests.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a program, and waits until its output shows that it is ready.
 *
 * @param {string} command
 * @param {string[]} options
 * @param {RegExp} pattern
 * @returns {Promise<Program>}
 */
export async function startProgram(command, options, pattern) {
  // The issuer ends when its input closes, so the pipe stays open.
  const child = spawn(command, options, { env: environment(), stdio: 'pipe' });
  running.add(child);
  let output = '';
  const ended = once(child, 'exit').finally(() => running.delete(child));

  /** @type {RegExpExecArray} */
  const ready = await new Promise((resolve, reject) => {
    const listen = (/** @type {Buffer} */ bytes) => {
      output += bytes.toString();
      const found = pattern.exec(output);
      if (found) resolve(found);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    ended.then(
      ([code]) => reject(new Error(`${command} ended with ${code} before it was ready:\n${output}`)),
      (cause) => reject(new Error(`${command} can't be run`, { cause })),
    );
  });
  return {
    ready,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The environment without the developer's own settings. */
function environment() {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'));
  // All platforms of the tests have loopback addresses.
  return { ...Object.fromEntries(others), GATEHOUSE_PLATFORMS__ALLOWED_NETWORKS: '127.0.0.1' };
}
