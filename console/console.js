// Where the console begins: who is signed in, which view the address leads to, and what stands there until it is shown.

import { goInstead, here, link } from './address.js';
import { announce } from './announcement.js';
import { SignedOut, unreachable } from './api/problem.js';
import { focusOn, h, replace } from './element.js';
import { drawFrame, markView, setBusy } from './frame.js';
import { firstView } from './menu.js';
import { declineQuestions } from './part/dialog.js';
import { problemPanel } from './part/problem_panel.js';
import { comeBack, isBack } from './sign_in/oidc.js';
import { begin, expire, isSame, may, resume, session } from './sign_in/session.js';
import { lastTenant, rememberTenant } from './sign_in/tenant.js';
import { applyTheme } from './theme.js';
import { findView, signInView, tenantView } from './views.js';

/** @typedef {import('./view/context.js').Context} Context */

/** Ends what the view before has under way. */
let current = new AbortController();

/**
 * A view that is there. The key tells it from the next.
 * @typedef {{key: string, name: string, title: string, tenant: string}} Shown
 */

/** @type {Shown | undefined} */
let shown;

/** What went wrong while signing in, to be told where somebody signs in. */
let signInTrouble = '';

/**
 * What stood there when a session ended while somebody worked.
 * @type {{address: string, session: import('./sign_in/session.js').Session, view: Shown, nodes: Node[], underWay: AbortController} | undefined}
 */
let leftBehind;

if (!hasStorage()) {
  document.body.append(
    'The console needs the storage of this browser, to keep your sign-in in this tab. Allow it for this site.',
  );
  throw new Error('no storage');
}
applyTheme();
await signIn();
addEventListener('hashchange', show);
addEventListener('gatehouse:session', () => goOn() || show());
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
    const isAnswer = isBack();
    const grant = isAnswer ? await comeBack() : undefined;
    if (grant) return await begin(grant.accessToken, { from: 'issuer', grant });
    const isIn = await resume();
    if (isAnswer && !isIn) {
      signInTrouble = 'This answer belongs to no sign-in that was begun in this tab. Sign in again.';
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
    signInProblem: signInTrouble,
    link: (path, given) => link(tenant, path, given),
  };
  signInTrouble = '';

  const main = drawFrame(tenant);
  const key = `${tenant}/${name}/${params.join('/')}`;
  // Whoever turns a page stays where they are; whoever goes elsewhere begins at its heading.
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
      // A browser may remember that a module didn't come.
      retry = () => location.reload();
      throw unreachable();
    });
    title = loaded.title(context);
    const missing = loaded.scopes.length > 0 && !loaded.scopes.some(may);
    content = missing ? notAllowed(title, loaded.scopes) : await loaded.show(context);
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
 * A view is there: whoever looks, listens or waits is told so.
 * @param {Shown} view
 * @param {string} [focused] what they were at, if it is still there
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
  // What is folded away can't be gone on at.
  if (before && (!at || document.activeElement !== at)) focusOn(heading);
  if (before?.key !== view.key) scrollTo(0, 0);
  if (before) announce(view.title);
  document.documentElement.dataset.ready = view.name;
  performance.mark('gatehouse-ready');
}

/**
 * The view for an address, by who is signed in.
 * @param {import('./address.js').Address} address
 */
function choose({ tenant, path, query }) {
  const signedIn = session();
  if (!signedIn) return { view: signInView, name: 'sign-in', params: [] };
  if (!tenant) {
    const first = lastTenant(signedIn);
    if (!first) return { view: tenantView, name: 'tenant', params: [] };
    goInstead(link(first, [firstView()]));
    return undefined;
  }
  if (path.length === 0) {
    goInstead(link(tenant, [firstView()], Object.fromEntries(query)));
    return undefined;
  }
  return findView(path);
}

/** The session is over, and can't be renewed: whoever signs in again is where they were, with what they had put in. */
function signInAgain() {
  const ended = session();
  if (!ended) return;
  declineQuestions();
  const isLoaded = document.documentElement.dataset.ready !== undefined;
  if (isLoaded && shown) {
    const nodes = [...drawFrame(shown.tenant).childNodes];
    leftBehind = { address: location.hash, session: ended, view: shown, nodes, underWay: current };
    // What it has under way is not ended: it goes on with the next session.
    current = new AbortController();
  }
  signInTrouble = 'Your sign-in has ended. Sign in again to go on where you were.';
  expire();
  show();
}

/** Puts back what stood there when the session ended, if that is still what is wanted. Whether it is. */
function goOn() {
  const before = leftBehind;
  const signedIn = session();
  leftBehind = undefined;
  if (!before || !signedIn) return false;
  const isWanted = before.address === location.hash && isSame(before.session, signedIn);
  if (!isWanted) {
    before.underWay.abort();
    return false;
  }
  current.abort();
  current = before.underWay;
  replace(drawFrame(before.view.tenant), before.nodes);
  arrive(before.view);
  return true;
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
