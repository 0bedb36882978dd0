// The frame around every view: the head with the tenant and the user, the menu, and the bar that shows loading.

import { go, here, link } from './address.js';
import { liveRegion } from './announcement.js';
import { focusOn, h, replace } from './element.js';
import { firstView, menuItems } from './menu.js';
import { choices, onChosen } from './part/form.js';
import { timeElement } from './part/time.js';
import { revoke } from './sign_in/oidc.js';
import { end, isForAll, session } from './sign_in/session.js';
import { forgetTenant, tenants } from './sign_in/tenant.js';
import { chooseTheme, chosenTheme, THEMES } from './theme.js';

const THEME_WORDS = { auto: 'System', light: 'Light', dark: 'Dark' };

/** The space that stays visible beside the current menu item. */
const MARGIN_PIXELS = 16;

const head = h('header', { class: 'head' });
const menu = h('nav', { class: 'menu', 'aria-label': 'Views' });
const main = h('main', { id: 'main' });
const bar = h('div', { class: 'busy', hidden: true });

/** Tenant and token that the frame was drawn for. */
let drawnFor = '';

/**
 * Draws the frame, unless it is up to date, and returns the element that holds the view.
 * @param {string} tenant
 */
export function drawFrame(tenant) {
  const signedIn = session();
  const drawingFor = `${tenant} ${signedIn?.token ?? ''}`;
  if (drawingFor === drawnFor) return main;
  drawnFor = drawingFor;
  drawHead(tenant);
  const isInside = signedIn && tenant;
  replace(
    menu,
    isInside && menuItems().map(({ name, word }) => h('a', { href: link(tenant, [name]), 'data-view': name }, word)),
  );
  menu.hidden = !isInside;
  if (!main.isConnected) {
    const skip = h('a', { class: 'skip', href: '#main', onclick: skipToContent }, 'Skip to content');
    addEventListener('resize', scrollToCurrent);
    document.body.append(skip, head, bar, h('div', { class: 'body' }, menu, main), liveRegion);
  }
  return main;
}

/**
 * Marks the menu item of the current view.
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
  scrollToCurrent();
}

/**
 * Scrolls the menu to the current item: on a phone, the menu is wider than the screen. `scrollIntoView` won't do: in some
 * browsers, it also moves the point from which Tab continues.
 */
function scrollToCurrent() {
  const item = menu.querySelector('[aria-current]')?.getBoundingClientRect();
  const seen = menu.getBoundingClientRect();
  if (!item) return;
  // The margin shows a part of the next item, so that users see that the menu scrolls.
  const [left, right] = [item.left - MARGIN_PIXELS, item.right + MARGIN_PIXELS];
  if (left < seen.left) menu.scrollLeft -= seen.left - left;
  if (right > seen.right) menu.scrollLeft += right - seen.right;
}

/** Shows or hides the loading bar. @param {boolean} isBusy */
export function setBusy(isBusy) {
  bar.hidden = !isBusy;
  main.setAttribute('aria-busy', String(isBusy));
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
    userMenu(),
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
      replace(place, h('strong', {}, tenant), ' ', h('a', { href: '#/', onclick: forgetTenant }, 'Change tenant'));
    }
  });
  return place;
}

/** Opens the current view for another tenant; from the page of one object, the list of such objects. @param {string} tenant */
function switchTo(tenant) {
  const [view = firstView(), next] = here().path;
  go(link(tenant, next === 'new' || next === 'find' ? [view, next] : [view]));
}

/** The user's menu: sign-in, colours and links. */
function userMenu() {
  const signedIn = session();
  const themes = choices({
    name: 'theme',
    legend: 'Colours',
    choices: THEMES.map((it) => [it, THEME_WORDS[it]]),
    chosen: chosenTheme(),
    choose: (it) => chooseTheme(/** @type {import('./theme.js').Theme} */ (it)),
  });
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
          h('strong', {}, signedIn.subject ?? 'an unnamed user'),
          ', until ',
          timeElement(signedIn.expiresAt),
          '.',
        ),
        h(
          'details',
          {},
          h('summary', {}, 'Scopes of this sign-in'),
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
        h('a', { href: '../docs' }, 'API documentation'),
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
function skipToContent(event) {
  // Following the link would replace the view's address.
  event.preventDefault();
  focusOn(main.querySelector('h1'));
}
