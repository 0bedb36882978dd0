// Finding connections by their numbers, wherever they are: found, not found and unknown apart.

import { announce } from '../announcement.js';
import { accountProblems } from '../connection/account_problems.js';
import { join, KINDS, recognise, split } from '../connection/identifier.js';
import { productTable } from '../connection/product_table.js';
import { search } from '../connection/search.js';
import { h, replace } from '../element.js';
import { field, whileBusy } from '../part/form.js';
import { count, counted } from '../part/number.js';
import { problemPanel } from '../part/problem_panel.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../connection/identifier.js').Identifier} Identifier */

/** An address may have so many letters of numbers; more are not shared by it. */
const SHARED_MAX = 4000;

export const title = () => 'Find connections';
export const scopes = ['product:read'];

/** @param {Context} context */
export async function show(context) {
  const { query, link } = context;
  const input = h('textarea', {
    id: 'numbers',
    rows: 6,
    spellcheck: 'false',
    value: join(split(query.get('numbers') ?? '')),
  });
  const results = h('div', { 'aria-live': 'polite' });
  const button = h('button', { type: 'submit', class: 'main' }, 'Find');
  const words = 'These are too many for an address: whoever you share this one with finds an empty form.';
  const tooLong = h('p', { class: 'fine', hidden: true }, words);

  async function look() {
    const given = [...new Set(split(input.value))];
    if (given.length === 0)
      return replace(
        results,
        h('p', { class: 'panel notice' }, 'There is nothing to look for: paste some numbers first.'),
      );
    replace(results, h('p', { class: 'waiting' }, `Asking the platforms for ${counted(given.length, 'number')} …`));
    try {
      replace(results, await resultsOf(context, given));
    } catch (cause) {
      if (!context.signal.aborted) replace(results, problemPanel(cause, { retry: look }));
    }
  }

  const form = h(
    'form',
    {
      class: 'panel fields',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        // The address can be shared, and leads to the same search; or to none, where it would be too long.
        const numbers = join(split(input.value)).replaceAll('\n', ' ');
        const isShort = numbers.length <= SHARED_MAX;
        history.replaceState(null, '', link(['connections', 'find'], isShort ? { numbers } : {}));
        tooLong.hidden = isShort;
        whileBusy(button, look);
      },
    },
    field({
      label: 'Numbers',
      control: input,
      hint: 'ICCIDs, IMSIs, MSISDNs, serial numbers of terminals or IDs of connections, with lines, spaces or commas between; one that has these in it stands in quotes. What each is, is told by its form.',
    }),
    tooLong,
    h('p', { class: 'buttons' }, button),
  );
  if (query.has('numbers')) whileBusy(button, look);
  return h('div', {}, h('h1', {}, 'Find connections'), form, results);
}

/**
 * @param {Context} context
 * @param {string[]} given
 */
async function resultsOf({ tenant, signal, link }, given) {
  const all = given.map((it) => ({ it, sought: recognise(it) }));
  const malformed = all.filter(({ sought }) => !sought).map(({ it }) => it);
  const sought = /** @type {Identifier[]} */ (all.map((it) => it.sought).filter(Boolean));
  const { findings, errors } = sought.length > 0 ? await search(tenant, sought, signal) : { findings: [], errors: [] };
  const of = (/** @type {string} */ result) => sought.filter((_, n) => findings[n].result === result);
  const found = sought.flatMap((it, n) =>
    findings[n].found.map(({ kind, product }) => ({ ...product, sought: it.given, kind })),
  );
  const [missing, unknown] = [of('missing'), of('unknown')];
  announce(`${count(of('found').length)} found, ${count(missing.length)} not found, ${count(unknown.length)} unknown.`);
  return h(
    'div',
    { class: 'beside' },
    h(
      'div',
      {},
      group(
        'found',
        `Found (${count(of('found').length)})`,
        found.length > 0 &&
          productTable('What was found, with the number it was found by', found, link, [
            {
              name: 'Number',
              cell: (it) => [
                h('code', {}, it.sought),
                h('br'),
                h('span', { class: 'fine' }, KINDS[/** @type {keyof typeof KINDS} */ (it.kind)].word),
              ],
            },
          ]),
        'None of them was found.',
      ),
      missing.length > 0 &&
        group(
          'missing',
          `Not found (${count(missing.length)})`,
          numbers(missing),
          '',
          'Taken for what stands beside each, no account has these, and every account that might have them was asked. IMEIs can’t be looked for.',
        ),
      unknown.length > 0 &&
        group(
          'unknown',
          `Unknown (${count(unknown.length)})`,
          numbers(unknown),
          '',
          'An account that might have these could not be asked: they may be there, or not.',
        ),
      malformed.length > 0 &&
        group(
          'malformed',
          `No identifiers (${count(malformed.length)})`,
          h(
            'ul',
            { class: 'tokens' },
            malformed.map((it) => h('li', {}, h('code', {}, it))),
          ),
          '',
          'These have no form that an identifier has, and were not looked for.',
        ),
    ),
    accountProblems(errors),
  );
}

/**
 * @param {string} id
 * @param {string} title
 * @param {import('../element.js').Child} content
 * @param {string} otherwise
 * @param {string} [meaning]
 */
function group(id, title, content, otherwise, meaning) {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': `group-${id}`, id: `results-${id}` },
    h('h2', { id: `group-${id}` }, title),
    meaning && h('p', { class: 'fine' }, meaning),
    content || h('p', {}, otherwise),
  );
}

/** @param {Identifier[]} all */
function numbers(all) {
  return h(
    'ul',
    { class: 'tokens' },
    all.map(({ given, likely, perhaps }) =>
      h(
        'li',
        {},
        h('code', {}, given),
        ' ',
        h('span', { class: 'fine' }, [...likely, ...perhaps].map((it) => KINDS[it].word).join(' or ')),
      ),
    ),
  );
}
