// A program that runs beside the tests, and ends with them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * A running program, and all that it has said.
 *
 * @typedef {object} Program
 * @property {RegExpExecArray} ready What was waited for.
 * @property {() => string} output What it has said until now.
 * @property {() => Promise<void>} stop Asks it to end, and waits until it has.
 */

/** @type {Set<ChildProcess>} */
const running = new Set();

// Whatever ends the tests, nothing is left behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a program, and waits until its output has what shows that it is ready.
 *
 * @param {string} command
 * @param {string[]} options
 * @param {RegExp} pattern
 * @returns {Promise<Program>}
 */
export async function startProgram(command, options, pattern) {
  // Its input stays open as long as the tests run: the issuer ends when it is closed.
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

/** Somebody's own settings are not what is tested. */
function environment() {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'));
  // The tests' platforms are on this machine, also those that are not there.
  return { ...Object.fromEntries(others), GATEHOUSE_PLATFORMS__ALLOWED_NETWORKS: '127.0.0.1' };
}
