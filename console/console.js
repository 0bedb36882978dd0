// Where the console begins: who is signed in, which view the address leads to, and what stands there until it is shown.

import { goInstead, here, link } from './address.js';
import { Problem } from './api.js';
import { h, replace } from './element.js';
import { announce, drawFrame, markView, setBusy } from './frame.js';
import { comeBack, isBack } from './oidc.js';
import { problemPanel } from './part/problem.js';
import { begin, isForAll, may, resume, session } from './session.js';
import { lastTenant, rememberTenant } from './tenant.js';
import { applyTheme } from './theme.js';
import { findView, signInView, tenantView } from './views.js';

/** @typedef {import('./views.js').Context} Context */
/** @typedef {import('./views.js').View} View */

/** Ends what the view before has under way. */
let current = new AbortController();

/** The view that is shown, to know whether the next is another. */
let shown = '';

/** What went wrong while signing in, to be told where somebody signs in. */
let signInTrouble = '';

applyTheme();
await signIn();
addEventListener('hashchange', show);
addEventListener('gatehouse:session', show);
await show();

async function signIn() {
  try {
    if (isBack()) {
      const grant = await comeBack();
      await begin(grant.accessToken, { from: 'issuer', grant });
    } else {
      await resume();
    }
  } catch (cause) {
    signInTrouble = cause instanceof Error ? cause.message : String(cause);
  }
}

/** Shows what the address leads to. */
async function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const address = here();
  const found = choose(address);
  if (!found) return;
  const { view, name, params } = found;
  const { tenant, query } = address;
  /** @type {Context} */
  const context = {
    tenant,
    params,
    query,
    signal,
    trouble: signInTrouble,
    link: (path, given) => link(tenant, path, given),
  };
  signInTrouble = '';

  const main = drawFrame(tenant);
  // Whoever turns a page stays where they are; whoever goes elsewhere begins at its heading.
  const isSame = shown === `${tenant}/${name}/${params.join('/')}`;
  const focused = isSame ? document.activeElement?.id : undefined;
  delete document.documentElement.dataset.ready;
  setBusy(true);
  let title = 'gatehouse';
  /** @type {Node} */
  let content;
  try {
    const loaded = await view();
    title = loaded.title(context);
    const missing = loaded.needs.length > 0 && !loaded.needs.some(may);
    content = missing ? notAllowed(title, loaded.needs) : await loaded.show(context);
  } catch (cause) {
    if (signal.aborted) return;
    if (cause instanceof Problem && cause.status === 401) return expire();
    content = h('div', {}, h('h1', {}, title), problemPanel(cause, { retry: show }));
  }
  if (signal.aborted) return;

  const isFirst = shown === '';
  shown = `${tenant}/${name}/${params.join('/')}`;
  replace(main, content);
  setBusy(false);
  markView(name);
  document.title = [title, tenant, 'gatehouse'].filter(Boolean).join(' · ');
  const heading = main.querySelector('h1');
  heading?.setAttribute('tabindex', '-1');
  const goOn = focused ? document.getElementById(focused) : undefined;
  if (goOn) goOn.focus();
  else if (!isFirst) heading?.focus();
  if (!isSame) scrollTo(0, 0);
  if (!isFirst) announce(title);
  document.documentElement.dataset.ready = name;
  performance.mark('gatehouse-ready');
}

/**
 * The view for an address, by who is signed in.
 * @param {import('./address.js').Address} address
 */
function choose({ tenant, path, query }) {
  const signedIn = session();
  if (!signedIn) return { view: signInView, name: 'sign-in', params: [] };
  if (!tenant || tenant === 'sign-in') {
    const first = lastTenant(signedIn);
    if (!first) return { view: tenantView, name: 'tenant', params: [] };
    goInstead(link(first, ['overview']));
    return undefined;
  }
  if (isForAll() || signedIn.tenants.includes(tenant)) rememberTenant(tenant);
  if (path.length === 0) {
    goInstead(link(tenant, ['overview'], Object.fromEntries(query)));
    return undefined;
  }
  return findView(path);
}

/** The session is over, and can't be renewed: whoever signs in again is where they were. */
function expire() {
  signInTrouble = 'Your sign-in has ended. Sign in again to go on where you were.';
  import('./session.js').then(({ end }) => {
    end();
    show();
  });
}

/** @param {string} title @param {string[]} needs */
function notAllowed(title, needs) {
  return h(
    'div',
    {},
    h('h1', {}, title),
    h(
      'div',
      { class: 'panel empty' },
      h('h2', {}, 'Not with this sign-in'),
      h(
        'p',
        {},
        'This view needs ',
        needs.map((it, n) => [n > 0 && ' or ', h('code', {}, it)]),
        ', which your token does not have.',
      ),
      h('p', {}, 'Ask whoever issued it, or sign in as somebody else.'),
    ),
  );
}
