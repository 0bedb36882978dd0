// What is missing from a result because an account failed: beside what the others gave, never instead of it.

import { accountIn } from '../api/product.js';
import { h } from '../element.js';
import { counted } from '../part/number.js';
import { sentence } from '../part/problem_panel.js';

/**
 * @param {any[]} errors
 */
export function accountProblems(errors) {
  if (errors.length === 0) return undefined;
  const accounts = new Set(errors.map((it) => accountIn(it)?.name).filter(Boolean));
  return h(
    'section',
    { class: 'panel notice', 'aria-labelledby': 'missing-title' },
    h(
      'h2',
      { id: 'missing-title' },
      accounts.size > 0
        ? `${counted(accounts.size, 'account gave', 'accounts gave')} less than asked for`
        : 'Something is missing',
    ),
    h(
      'ul',
      { class: 'list' },
      errors.map((error) => {
        const account = accountIn(error);
        return h(
          'li',
          {},
          h('strong', {}, account ? [account.name, account.platform && ` at ${account.platform}`] : error.title),
          account && [': ', error.title],
          h('br'),
          h('span', { class: 'fine' }, sentence(withoutAccount(error.detail ?? '', account))),
          (error.externalErrors ?? []).length > 0 &&
            h(
              'details',
              {},
              h('summary', { class: 'fine' }, 'What the platform said'),
              error.externalErrors.map((/** @type {any} */ it) =>
                h('p', { class: 'fine' }, it.status, ' ', h('code', {}, it.body || '(nothing)')),
              ),
            ),
        );
      }),
    ),
    h('p', { class: 'fine' }, 'What the others have is shown; the rest is unknown until these answer again.'),
  );
}

/** The account's name stands in front already. @param {string} detail @param {{name: string} | undefined} account */
function withoutAccount(detail, account) {
  return account ? detail.replace(/^account `[^`]*` at \S+: /, '') : detail;
}
