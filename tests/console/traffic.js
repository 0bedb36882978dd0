// What a page costs until it can be used: how many requests, how many bytes on the wire, and how long it takes.

/** @typedef {import('playwright-core').Page} Page */

/**
 * Counts from now on. What is counted are bytes as they come over the wire, compressed and with their headers.
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
 * Lets every document of the page note when its first view is ready; the function that is returned tells it, in
 * milliseconds from the moment in which the browser was sent there.
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
