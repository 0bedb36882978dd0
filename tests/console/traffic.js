// The cost of a page: requests, bytes on the wire, and time.

/** @typedef {import('playwright-core').Page} Page */

/**
 * Counts requests and their bytes on the wire, compressed and with headers.
 *
 * @param {Page} page
 */
export async function countTraffic(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const traffic = { nRequests: 0, nBytes: 0 };
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    traffic.nRequests += 1;
    traffic.nBytes += encodedDataLength;
  });
  return traffic;
}

/**
 * Measures the time until a document's first view is ready. Returns a function that reads it, in milliseconds since the
 * navigation.
 *
 * @param {Page} page
 */
export async function timeFirstView(page) {
  await page.addInitScript(() => {
    const note = () => {
      if (!document.documentElement?.dataset.ready) return;
      performance.mark('first-view');
      observer.disconnect();
    };
    const observer = new MutationObserver(note);
    observer.observe(document, { attributes: true, subtree: true, attributeFilter: ['data-ready'] });
  });
  return () => page.evaluate(() => performance.getEntriesByName('first-view')[0].startTime);
}
