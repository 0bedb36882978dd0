// The console's entry point: it resumes the session, finds the view of the address, and shows it inside the frame.

import { here, link, redirect } from './address.js';
import { announce } from './announcement.js';
import { SignedOut, unreachable } from './api/problem.js';
import { focusOn, h, replace } from './element.js';
import { drawFrame, markView, setBusy } from './frame.js';
import { firstView } from './menu.js';
import { declineQuestions } from './part/dialog.js';
import { emptyPanel } from './part/panel.js';
import { problemPanel } from './part/problem_panel.js';
import { finishSignIn, isIssuerResponse } from './sign_in/oidc.js';
import { begin, expire, isSame, may, resume, session } from './sign_in/session.js';
import { lastTenant, rememberTenant } from './sign_in/tenant.js';
import { applyTheme } from './theme.js';
import { findView, signInView, tenantView } from './views.js';

/** @typedef {import('./view/context.js').Context} Context */

/** Aborts the requests of the current view. */
let current = new AbortController();

/**
 * The view on the page. Two addresses with the same key differ only in their query.
 * @typedef {{key: string, name: string, title: string, tenant: string}} Shown
 */

/** @type {Shown | undefined} */
let shown;

/** Why the last sign-in failed; the sign-in view shows it. */
let signInProblem = '';

/**
 * The view that was open when the session expired. The next session of the same user restores it.
 * @type {{address: string, session: import('./sign_in/session.js').Session, view: Shown, nodes: Node[], controller: AbortController} | undefined}
 */
let suspended;

if (!hasStorage()) {
  document.body.append(
    'The console stores your sign-in in this tab, but the browser blocks storage for this site. Allow it, then reload the page.',
  );
  throw new Error('no storage');
}
applyTheme();
await signIn();
addEventListener('hashchange', show);
addEventListener('gatehouse:session', () => restore() || show());
addEventListener('gatehouse:signed-out', signInAgain);
await show();

function hasStorage() {
  try {
    return Boolean(localStorage && sessionStorage);
  } catch {
    return false;
  }
}

async function signIn() {
  try {
    const isResponse = isIssuerResponse();
    const grant = isResponse ? await finishSignIn() : undefined;
    if (grant) return await begin(grant.accessToken, { from: 'issuer', grant });
    const isIn = await resume();
    if (isResponse && !isIn) {
      signInProblem = 'The issuer’s response belongs to no sign-in of this tab. Sign in again.';
    }
  } catch (cause) {
    signInProblem = cause instanceof Error ? cause.message : String(cause);
  }
}

/** Shows the view of the address. */
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
    signInProblem,
    link: (path, given) => link(tenant, path, given),
  };
  signInProblem = '';

  const main = drawFrame(tenant);
  const key = `${tenant}/${name}/${params.join('/')}`;
  // Another page of the same view keeps the focus; another view starts at its heading.
  const focused = shown?.key === key ? document.activeElement?.id : undefined;
  delete document.documentElement.dataset.ready;
  setBusy(true);
  let title = 'gatehouse';
  let isWell = tenant !== '';
  let retry = () => {
    show();
  };
  /** @type {Node} */
  let content;
  try {
    const loaded = await view().catch(() => {
      // Browsers remember a module that failed to load: only a reload retries.
      retry = () => location.reload();
      throw unreachable();
    });
    title = loaded.title(context);
    const missing = loaded.scopes.length > 0 && !loaded.scopes.some(may);
    content = missing ? notPermitted(title, loaded.scopes) : await loaded.show(context);
  } catch (cause) {
    if (signal.aborted || cause instanceof SignedOut) return;
    isWell = false;
    content = h('div', {}, h('h1', {}, title), problemPanel(cause, { retry }));
  }
  if (signal.aborted) return;
  if (isWell && session()) rememberTenant(tenant);
  replace(main, content);
  arrive({ key, name, title, tenant }, focused);
}

/**
 * Completes the change to a view: menu, title, focus, announcement.
 * @param {Shown} view
 * @param {string} [focused] the `id` of the control that had the focus
 */
function arrive(view, focused) {
  const before = shown;
  shown = view;
  setBusy(false);
  markView(view.name);
  document.title = [view.title, view.tenant, 'gatehouse'].filter(Boolean).join(' · ');
  const heading = document.querySelector('main h1');
  const at = focused ? document.getElementById(focused) : undefined;
  at?.focus();
  // A control inside closed details takes no focus.
  if (before && (!at || document.activeElement !== at)) focusOn(heading);
  if (before?.key !== view.key) scrollTo(0, 0);
  if (before) announce(view.title);
  document.documentElement.dataset.ready = view.name;
  performance.mark('gatehouse-ready');
}

/**
 * Chooses the view of an address, by the session; `undefined` after a redirect.
 * @param {import('./address.js').Address} address
 */
function choose({ tenant, path, query }) {
  const signedIn = session();
  if (!signedIn) return { view: signInView, name: 'sign-in', params: [] };
  if (!tenant) {
    const first = lastTenant(signedIn);
    if (!first) return { view: tenantView, name: 'tenant', params: [] };
    redirect(link(first, [firstView()]));
    return undefined;
  }
  if (path.length === 0) {
    redirect(link(tenant, [firstView()], Object.fromEntries(query)));
    return undefined;
  }
  return findView(path);
}

/** Asks for a new sign-in when the session has expired. The view is kept with its inputs, and restored after the sign-in. */
function signInAgain() {
  const ended = session();
  if (!ended) return;
  declineQuestions();
  const isLoaded = document.documentElement.dataset.ready !== undefined;
  if (isLoaded && shown) {
    const nodes = [...drawFrame(shown.tenant).childNodes];
    suspended = { address: location.hash, session: ended, view: shown, nodes, controller: current };
    // The view's requests are not aborted: they continue with the next session.
    current = new AbortController();
  }
  signInProblem = 'Your sign-in has expired. Sign in again to continue where you were.';
  expire();
  show();
}

/** Restores the suspended view for the same user at the same address; returns `false` otherwise. */
function restore() {
  const before = suspended;
  const signedIn = session();
  suspended = undefined;
  if (!before || !signedIn) return false;
  const isWanted = before.address === location.hash && isSame(before.session, signedIn);
  if (!isWanted) {
    before.controller.abort();
    return false;
  }
  current.abort();
  current = before.controller;
  replace(drawFrame(before.view.tenant), before.nodes);
  arrive(before.view);
  return true;
}

/** @param {string} title @param {string[]} scopes */
function notPermitted(title, scopes) {
  return h(
    'div',
    {},
    h('h1', {}, title),
    emptyPanel(
      'Not permitted',
      h(
        'p',
        {},
        'This page needs the scope ',
        scopes.map((it, n) => [n > 0 && ' or ', h('code', {}, it)]),
        ', which your token does not have.',
      ),
      h('p', {}, 'Ask the issuer of your token for it, or sign in as another user.'),
    ),
  );
}
