// Finding connections by their numbers at all platforms. The results tell found, missing and unknown numbers apart.

import { announce } from '../announcement.js';
import { accountProblems } from '../connection/account_problems.js';
import { join, KINDS, recognise, split } from '../connection/identifier.js';
import { productTable } from '../connection/product_table.js';
import { search } from '../connection/search.js';
import { h, replace } from '../element.js';
import { field, onSubmit, whileBusy } from '../part/form.js';
import { count, counted } from '../part/number.js';
import { panel } from '../part/panel.js';
import { problemPanel } from '../part/problem_panel.js';

/** @typedef {import('./context.js').Context} Context */
/** @typedef {import('../connection/identifier.js').Identifier} Identifier */

/** The longest list of numbers that goes into the address of the page. */
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
  const words = 'The list is too long for a link: the address of this page opens an empty form.';
  const tooLong = h('p', { class: 'fine', hidden: true }, words);

  async function look() {
    const given = [...new Set(split(input.value))];
    if (given.length === 0)
      return replace(
        results,
        h('p', { class: 'panel notice' }, 'There is nothing to search for: enter some numbers first.'),
      );
    replace(results, h('p', { class: 'waiting' }, `Searching the platforms for ${counted(given.length, 'number')} …`));
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
      onsubmit: onSubmit(() => {
        // The address repeats the search when it is shared, unless the list is too long.
        const numbers = join(split(input.value)).replaceAll('\n', ' ');
        const isShort = numbers.length <= SHARED_MAX;
        history.replaceState(null, '', link(['connections', 'find'], isShort ? { numbers } : {}));
        tooLong.hidden = isShort;
        whileBusy(button, look);
      }),
    },
    field({
      label: 'Numbers',
      control: input,
      hint: 'ICCIDs, IMSIs, MSISDNs, serial numbers of terminals or IDs of connections, separated by lines, spaces or commas. Quote a number that contains a separator. The format of a number tells its kind.',
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
  const all = given.map((it) => ({ it, identifier: recognise(it) }));
  const malformed = all.filter(({ identifier }) => !identifier).map(({ it }) => it);
  const identifiers = /** @type {Identifier[]} */ (all.map((it) => it.identifier).filter(Boolean));
  const { findings, errors } =
    identifiers.length > 0 ? await search(tenant, identifiers, signal) : { findings: [], errors: [] };
  const of = (/** @type {string} */ result) => identifiers.filter((_, n) => findings[n].result === result);
  const found = identifiers.flatMap((it, n) =>
    findings[n].found.map(({ kind, product }) => ({ ...product, given: it.given, kind })),
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
          productTable('Connections found, with the number searched for', found, link, [
            {
              name: 'Number',
              cell: (it) => [
                h('code', {}, it.given),
                h('br'),
                h('span', { class: 'fine' }, KINDS[/** @type {keyof typeof KINDS} */ (it.kind)].word),
              ],
            },
          ]),
        'No connection was found.',
      ),
      missing.length > 0 &&
        group(
          'missing',
          `Not found (${count(missing.length)})`,
          numbers(missing),
          '',
          'No account has a connection with these numbers, as the kinds shown beside each, and every account that could have one has responded. The search does not cover IMEIs.',
        ),
      unknown.length > 0 &&
        group(
          'unknown',
          `Unknown (${count(unknown.length)})`,
          numbers(unknown),
          '',
          'An account that could have these numbers did not respond: it may or may not have them.',
        ),
      malformed.length > 0 &&
        group(
          'malformed',
          `Not recognised (${count(malformed.length)})`,
          h(
            'ul',
            { class: 'tokens' },
            malformed.map((it) => h('li', {}, h('code', {}, it))),
          ),
          '',
          'These texts have the format of no identifier, and were not searched for.',
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
  return panel(`group-${id}`, title, meaning && h('p', { class: 'fine' }, meaning), content || h('p', {}, otherwise));
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
