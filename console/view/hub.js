// One hub: its state, how far it is, its latest messages and its dead letters, with the actions that change it.

import { announce } from '../announcement.js';
import {
  changeState,
  deleteHub,
  listDeadLetters,
  listDeliveries,
  readHub,
  replayDeadLetters,
  rotateSecret,
} from '../api/hub.js';
import { Problem } from '../api/problem.js';
import { focusOn, h, redraw, replace } from '../element.js';
import { deadLettersPanel, STEP } from '../hub/dead_letters.js';
import { deliveriesPanel } from '../hub/deliveries.js';
import { messageWords, parseQuery } from '../hub/query.js';
import { lostSecretPanel, secretPanel, showSecretDialog } from '../hub/secret_panel.js';
import { eventWords, failureWords, hubMark, isBlocked, progressWords } from '../hub/words.js';
import { copyButton } from '../part/copy_button.js';
import { confirm } from '../part/dialog.js';
import { repeat } from '../part/loading.js';
import { count, counted } from '../part/number.js';
import { facts } from '../part/panel.js';
import { problemPanel } from '../part/problem_panel.js';
import { timeElement } from '../part/time.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../api/hub.js').Hub} Hub */
/** @typedef {import('../element.js').Child} Child */

const POLL_SECONDS = 3;

export const title = () => 'Hub';
export const scopes = ['event:write'];

/** @param {Context} context */
export async function show({ tenant, params: [id], signal, link }) {
  const actions = h('div', {});
  const outcome = h('div', { 'aria-live': 'polite' });
  /** Holds a new secret until the user leaves the view: no other action removes it. */
  const secret = h('div', {});
  const trouble = h('div', { 'aria-live': 'polite' });
  const about = h('section', { class: 'panel', 'aria-label': 'The hub' });
  const deliveries = deliveriesPanel();
  const deadLetters = deadLettersPanel({
    replay: async (numbers) => {
      const n = await replayDeadLetters(tenant, id, numbers);
      await refresh().catch(() => {});
      return n;
    },
    showMore: async () => {
      nLetters += STEP;
      await refresh();
    },
  });
  let nLetters = STEP;
  let isDeleted = false;
  let drawn = '';
  /** The number of the newest reading: an older one that ends later is out of date. */
  let newest = 0;

  /** Reads everything on the page, and draws what has changed. */
  async function refresh() {
    newest += 1;
    const mine = newest;
    const [hub, messages, letters] = await Promise.all([
      readHub(tenant, id, signal),
      listDeliveries(tenant, id, signal),
      listDeadLetters(tenant, id, nLetters, signal),
    ]);
    if (mine !== newest || signal.aborted || isDeleted) return hub;
    drawHub(hub);
    deliveries.draw(messages);
    deadLetters.draw(letters, Math.max(hub.deadLetters, letters.length));
    return hub;
  }

  /** @param {Hub} hub */
  function drawHub(hub) {
    const text = JSON.stringify(hub);
    if (text === drawn) return;
    drawn = text;
    redraw(actions, actionsOf(hub));
    redraw(about, factsOf(hub));
  }

  /** @param {Hub} hub */
  function factsOf(hub) {
    const query = parseQuery(hub.query);
    const { position, waiting, deadLetters: dead, missed, createdAt, formerSecretUntil } = hub;
    /** @type {[string, Child][]} */
    const rows = [
      ['State', stateOf(hub)],
      ['Progress', `${progressWords(hub)}, at event ${count(position)}`],
      ['Waiting', waiting === 0 ? none() : `${counted(waiting, 'event')} for another attempt`],
      ['Dead letters', dead === 0 ? none() : count(dead)],
    ];
    if (missed > 0) rows.push(['Missed', `${counted(missed, 'event')}, deleted for their age before they were sent`]);
    rows.push(
      ['Events', eventWords(query, link)],
      ['Each message', messageWords(query)],
      ['Created', timeElement(createdAt, { isPrecise: true })],
    );
    if (formerSecretUntil) {
      rows.push(['Former secret', ['Also signs until ', timeElement(formerSecretUntil, { isPrecise: true })]]);
    }
    rows.push(['ID', [h('code', {}, id), copyButton('ID', id)]]);
    return facts(rows);
  }

  /** @param {Hub} hub */
  function stateOf(hub) {
    const failure = failureWords(hub, { isPrecise: true });
    const tryNow = () => setState('ACTIVE', 'The server tries to send the next message now.');
    return h(
      'div',
      { class: 'with-button' },
      hubMark(hub),
      h('div', { class: 'fine' }, failure.length > 0 ? failure : EXPLAINED[hub.state]),
      isBlocked(hub) && h('button', { type: 'button', id: 'try-now', class: 'quiet', onclick: tryNow }, 'Try now'),
    );
  }

  /** @param {Hub} hub */
  function actionsOf(hub) {
    const button = (/** @type {string} */ id, /** @type {string} */ word, /** @type {() => void} */ onclick) =>
      h('button', { type: 'button', id, onclick }, word);
    return h(
      'p',
      { class: 'buttons' },
      // Both have one `id`: the focus stays when one becomes the other.
      hub.state === 'PAUSED'
        ? button('pause', 'Resume', () => setState('ACTIVE', 'The hub is active: events that waited are sent.'))
        : button('pause', 'Pause', pause),
      button('rotate', 'New secret', () => rotate(hub)),
      button('delete', 'Delete', () => end(hub)),
    );
  }

  async function pause() {
    const consequence = [
      h('p', {}, 'Its subscriber gets no message until the hub is resumed.'),
      h('p', {}, 'Events wait for it as long as the server keeps events, and are missed after that.'),
    ];
    if (!(await confirm({ title: 'Pause this hub?', consequence, yes: 'Pause' }, signal))) return;
    await setState('PAUSED', 'The hub is paused.');
  }

  /** @param {'ACTIVE' | 'PAUSED'} state @param {string} done */
  const setState = (state, done) =>
    attempt(async () => {
      showHub(await changeState(tenant, id, state));
      say(done);
    });

  /** @param {Hub} hub */
  async function rotate({ formerSecretUntil }) {
    const consequence = formerSecretUntil
      ? [
          h('p', {}, 'Messages will be signed with the new secret, and for a day with the present one, too.'),
          h('p', {}, 'The secret before that one still signs messages. It ends now.'),
        ]
      : h(
          'p',
          {},
          'Messages will be signed with the new secret, and for a day with the present one, too: time to give the new one to the subscriber.',
        );
    const question = { title: 'Make a new secret for this hub?', consequence, yes: 'Make a new secret' };
    if (!(await confirm(question, signal))) return;
    const unsure = () => replace(secret, lostSecretPanel());
    await attempt(async () => {
      const hub = await rotateSecret(tenant, id);
      if (signal.aborted) return showSecretDialog(hub);
      showHub(hub);
      replace(secret, secretPanel(hub));
      announce('The new secret is set, and shown only once.');
      focusOn(secret.querySelector('.copy'));
    }, unsure);
  }

  /** @param {Hub} hub */
  async function end({ callback }) {
    const consequence = [
      h('p', {}, 'The event of its deletion is the last that its subscriber gets.'),
      h('p', {}, 'Events that wait for it and its dead letters are not sent any more. This can’t be undone.'),
    ];
    const question = { title: 'Delete this hub?', consequence, yes: 'Delete the hub', isIrreversible: true };
    if (!(await confirm(question, signal))) return;
    await attempt(async () => {
      await deleteHub(tenant, id);
      isDeleted = true;
      announce('The hub is deleted.');
      replace(
        view,
        h('h1', {}, h('bdi', {}, callback)),
        h(
          'div',
          { class: 'panel' },
          h('p', {}, 'The hub is deleted. The event of its deletion is the last that its subscriber gets.'),
          h('p', { class: 'buttons' }, h('a', { class: 'button', href: link(['hubs']) }, 'All hubs')),
        ),
      );
      focusOn(view.querySelector('h1'));
    });
  }

  /** Shows a hub as a change has left it. @param {Hub} hub */
  function showHub(hub) {
    // A reading that began before the change is out of date.
    newest += 1;
    drawHub(hub);
  }

  /** @param {string} done */
  function say(done) {
    announce(done);
    replace(outcome, h('p', { class: 'panel', role: 'status' }, done));
    focusOn(view.querySelector('h1'));
  }

  /**
   * @param {() => Promise<void>} work
   * @param {() => void} [unsure] called if the outcome is unknown
   */
  async function attempt(work, unsure) {
    replace(outcome);
    try {
      await work();
    } catch (cause) {
      const isUnsure = cause instanceof Problem && cause.isUnsure;
      // The user decides on the current state next. If that can't be read either, the first problem is the one to show.
      if (isUnsure) await refresh().catch(() => {});
      replace(outcome, problemPanel(cause));
      if (isUnsure) unsure?.();
    }
  }

  /** Reads the page again; returns whether to go on. */
  async function look() {
    if (isDeleted) return false;
    try {
      await refresh();
    } catch (cause) {
      const isGone = cause instanceof Problem && [403, 404].includes(cause.status);
      if (!isGone) throw cause;
      if (isDeleted) return false;
      replace(actions);
      const advice = 'It was deleted, or its subscriber has ended it.';
      replace(trouble, problemPanel(cause.status === 404 ? Object.assign(cause, { advice }) : cause));
      return false;
    }
    replace(trouble);
    return true;
  }

  const { callback } = await refresh();
  const view = h(
    'div',
    {},
    h('div', { class: 'title' }, h('h1', {}, h('bdi', {}, callback)), actions),
    outcome,
    secret,
    trouble,
    about,
    deliveries.element,
    deadLetters.element,
  );
  const words = 'The hub can’t be loaded at the moment. It continues, and this page retries.';
  repeat(signal, POLL_SECONDS, look, () => replace(trouble, h('p', { class: 'panel notice' }, words)));
  return view;
}

const none = () => h('span', { class: 'none' }, 'none');

/** @type {Record<string, string>} */
const EXPLAINED = {
  ACTIVE: 'Events are sent as they happen.',
  PAUSED: 'Events wait, as long as the server keeps them.',
};
