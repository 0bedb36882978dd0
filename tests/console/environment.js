// The environment that `cargo xtask test --console` sets: paths of the binary, the browser and the screenshots.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** @param {string} name */
function need(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; \`cargo xtask test --console\` sets it`);
  return value;
}

/** The tested binary. */
export const binary = need('TEST_GATEHOUSE_BINARY');

/** The script of the test issuer, with its packages beside it. */
export const issuerScript = need('TEST_ISSUER');

/** Loads a module of the console that runs without a browser. @param {string} name its path below `console/` */
export const loadModule = (name) => import(pathToFileURL(join(need('TEST_CONSOLE'), name)).href);

/** The directory that screenshots go to. */
export const screenshots = need('TEST_SCREENSHOTS');

/** The browser. */
export const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
