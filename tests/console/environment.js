// What `cargo xtask test --console` tells these tests: where the program is, what to drive it with, and where pictures go.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** @param {string} name */
function need(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; \`cargo xtask test --console\` sets it`);
  return value;
}

/** The program that is tested. */
export const binary = need('TEST_GATEHOUSE_BINARY');

/** The script of the test issuer, with its packages beside it. */
export const issuerScript = need('TEST_ISSUER');

/** Loads a module of the console that runs without a browser. @param {string} name its path below `console/` */
export const loadModule = (name) => import(pathToFileURL(join(need('TEST_CONSOLE'), name)).href);

/** The directory that screenshots go to. */
export const screenshots = need('TEST_SCREENSHOTS');

/** The browser. */
export const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
