// What stands around every view: the head with the tenant and who is signed in, the way to the other views, and the line
// that says to listeners what has happened.

import { go, here, link } from './address.js';
import { liveRegion } from './announcement.js';
import { focusOn, h, replace } from './element.js';
import { firstView, menuItems } from './menu.js';
import { onChosen } from './part/form.js';
import { timeElement } from './part/time.js';
import { revoke } from './sign_in/oidc.js';
import { end, isForAll, session } from './sign_in/session.js';
import { forgetTenant, tenants } from './sign_in/tenant.js';
import { chooseTheme, chosenTheme, THEMES } from './theme.js';

const THEME_WORDS = { auto: 'As the system', light: 'Light', dark: 'Dark' };

/** The room that the menu leaves beside the item of this view. */
const MARGIN_PIXELS = 16;

const head = h('header', { class: 'head' });
const menu = h('nav', { class: 'menu', 'aria-label': 'Views' });
const main = h('main', { id: 'main' });
const bar = h('div', { class: 'busy', hidden: true });

/** For whom the frame was drawn. */
let drawnFor = '';

/**
 * Draws the frame, if it isn't there as it should be, and gives the place for the view.
 * @param {string} tenant
 */
export function drawFrame(tenant) {
  const signedIn = session();
  const who = `${tenant} ${signedIn?.token ?? ''}`;
  if (who === drawnFor) return main;
  drawnFor = who;
  drawHead(tenant);
  const isInside = signedIn && tenant;
  replace(
    menu,
    isInside && menuItems().map(({ name, word }) => h('a', { href: link(tenant, [name]), 'data-view': name }, word)),
  );
  menu.hidden = !isInside;
  if (!main.isConnected) {
    const skip = h('a', { class: 'skip', href: '#main', onclick: skipToView }, 'Skip to the view');
    addEventListener('resize', seeWhereWeAre);
    document.body.append(skip, head, bar, h('div', { class: 'body' }, menu, main), liveRegion);
  }
  return main;
}

/**
 * Shows in the menu where we are.
 * @param {string} name
 */
export function markView(name) {
  for (const item of menu.querySelectorAll('a')) {
    if (item.dataset.view === name.split('/')[0]) {
      item.setAttribute('aria-current', 'page');
    } else {
      item.removeAttribute('aria-current');
    }
  }
  seeWhereWeAre();
}

/**
 * Scrolls the menu to the item of this view: on a phone the menu is wider than the screen. Not by `scrollIntoView`, which in
 * some browsers also moves the place where Tab begins.
 */
function seeWhereWeAre() {
  const item = menu.querySelector('[aria-current]')?.getBoundingClientRect();
  const seen = menu.getBoundingClientRect();
  if (!item) return;
  // A little more than the item itself, so that its neighbour shows that there is more.
  const [left, right] = [item.left - MARGIN_PIXELS, item.right + MARGIN_PIXELS];
  if (left < seen.left) menu.scrollLeft -= seen.left - left;
  if (right > seen.right) menu.scrollLeft += right - seen.right;
}

/** @param {boolean} is */
export function setBusy(is) {
  bar.hidden = !is;
  main.setAttribute('aria-busy', String(is));
}

/** @param {string} tenant */
function drawHead(tenant) {
  const signedIn = session();
  const home = signedIn && tenant ? link(tenant, [firstView()]) : '#/';
  replace(
    head,
    h('a', { class: 'brand', href: home }, h('img', { src: 'icon.svg', alt: '', width: 24, height: 24 }), 'gatehouse'),
    signedIn && tenant && tenantSwitch(tenant),
    h('span', { class: 'grow' }),
    person(),
  );
}

/** @param {string} tenant */
function tenantSwitch(tenant) {
  const place = h('span', { class: 'tenant' }, h('strong', {}, tenant));
  tenants().then((names) => {
    if (names.length > 1 || (names.length === 1 && names[0] !== tenant)) {
      const options = names.includes(tenant) ? names : [tenant, ...names];
      const select = h(
        'select',
        { id: 'tenant', 'aria-label': 'Tenant' },
        options.map((name) => h('option', { value: name }, name)),
      );
      select.value = tenant;
      onChosen(select, switchTo);
      replace(place, select);
    } else if (isForAll()) {
      replace(place, h('strong', {}, tenant), ' ', h('a', { href: '#/', onclick: forgetTenant }, 'change'));
    }
  });
  return place;
}

/** The same view of another tenant; of one thing among many, the list of them. @param {string} tenant */
function switchTo(tenant) {
  const [view = firstView(), next] = here().path;
  go(link(tenant, next === 'new' || next === 'find' ? [view, next] : [view]));
}

/** Who is signed in, and what is set for this browser. */
function person() {
  const signedIn = session();
  const themes = h(
    'fieldset',
    { class: 'themes' },
    h('legend', {}, 'Colours'),
    THEMES.map((theme) =>
      h(
        'label',
        {},
        h('input', {
          type: 'radio',
          name: 'theme',
          value: theme,
          checked: theme === chosenTheme(),
          onchange: () => chooseTheme(theme),
        }),
        THEME_WORDS[theme],
      ),
    ),
  );
  const name = signedIn ? (signedIn.subject ?? 'signed in') : 'Settings';
  const details = h(
    'details',
    { class: 'person' },
    h('summary', {}, h('span', {}, name)),
    h(
      'div',
      { class: 'sheet' },
      signedIn && [
        h(
          'p',
          {},
          'Signed in as ',
          h('strong', {}, signedIn.subject ?? 'somebody'),
          ', until ',
          timeElement(signedIn.expiresAt),
          '.',
        ),
        h(
          'details',
          {},
          h('summary', {}, 'What this sign-in allows'),
          h(
            'ul',
            { class: 'scopes' },
            signedIn.scopes.map((it) => h('li', {}, h('code', {}, it))),
          ),
        ),
      ],
      themes,
      h(
        'p',
        { class: 'links' },
        h('a', { href: '../docs' }, 'The API'),
        signedIn && h('button', { type: 'button', onclick: signOut }, 'Sign out'),
      ),
    ),
  );
  const closeOutside = (/** @type {Event} */ event) => {
    if (!details.contains(/** @type {Node} */ (event.target))) details.open = false;
  };
  details.addEventListener('toggle', () => {
    if (details.open) document.addEventListener('click', closeOutside);
    else document.removeEventListener('click', closeOutside);
  });
  details.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !details.open) return;
    details.open = false;
    details.querySelector('summary')?.focus();
  });
  return details;
}

function signOut() {
  const grant = session()?.grant;
  if (grant) revoke(grant);
  end();
  const leave = grant?.at.endSessionEndpoint;
  if (!leave || !grant) {
    location.hash = '#/';
    dispatchEvent(new Event('gatehouse:session'));
    return;
  }
  const url = new URL(leave);
  url.searchParams.set('client_id', grant.at.clientId);
  if (grant.idToken) url.searchParams.set('id_token_hint', grant.idToken);
  url.searchParams.set('post_logout_redirect_uri', location.origin + location.pathname);
  location.assign(url.href);
}

/** @param {Event} event */
function skipToView(event) {
  // The address behind the `#` is the view's own.
  event.preventDefault();
  focusOn(main.querySelector('h1'));
}
