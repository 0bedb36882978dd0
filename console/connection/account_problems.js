// The panel of accounts that failed. It stands beside the results of the other accounts, and never replaces them.

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
      accounts.size > 0 ? `Incomplete results from ${counted(accounts.size, 'account')}` : 'Incomplete results',
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
              h('summary', { class: 'fine' }, 'Response of the platform'),
              error.externalErrors.map((/** @type {any} */ it) =>
                h('p', { class: 'fine' }, it.status, ' ', h('code', {}, it.body || '(nothing)')),
              ),
            ),
        );
      }),
    ),
    h(
      'p',
      { class: 'fine' },
      'The results of the other accounts are shown. The missing results are unknown until these accounts respond again.',
    ),
  );
}

/** Removes the account from the detail: the panel names it before. @param {string} detail @param {{name: string} | undefined} account */
function withoutAccount(detail, account) {
  return account ? detail.replace(/^account `[^`]*` at \S+: /, '') : detail;
}
