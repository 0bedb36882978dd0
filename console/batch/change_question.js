// The questions that are asked before a batch changes or terminates accesses.

/** @typedef {NonNullable<import('./request.js').BatchRequest['question']>} Question */

/**
 * @param {string} them
 * @returns {Question}
 */
export const endQuestion = (them) => ({
  title: `Terminate ${them} at the end of the month?`,
  consequence: [
    'Their devices may connect until the first instant of the next month in the tenant’s time zone. Until then, activating an access cancels its end.',
  ],
  yes: `Terminate ${them}`,
  isIrreversible: true,
});

/**
 * @param {string} them
 * @param {import('../api/task.js').Change} change
 * @returns {Question}
 */
export function changeQuestion(them, { status, rotatesPassword, labels = {} }) {
  const question = mainQuestion(them, { status, rotatesPassword });
  const rest = [...(status && rotatesPassword ? [ROTATION] : []), ...inWords(labels)];
  return { ...question, consequence: [...question.consequence, ...rest] };
}

const ROTATION =
  'Every access gets a new password: a device that still uses the old one can’t connect. The batch shows the new passwords.';

/**
 * @param {string} them
 * @param {import('../api/task.js').Change} change
 * @returns {Question}
 */
function mainQuestion(them, { status, rotatesPassword }) {
  if (status === 'TERMINATED') {
    return {
      title: `Terminate ${them}?`,
      consequence: [
        'From the next check on, their devices can never connect again. This can’t be undone. Other accesses may then use their usernames.',
      ],
      yes: `Terminate ${them} permanently`,
      isIrreversible: true,
    };
  }
  if (status === 'SUSPENDED') {
    return {
      title: `Suspend ${them}?`,
      consequence: [
        'Once the batch has processed an access, its device can’t connect. The accesses can be activated again.',
      ],
      yes: `Suspend ${them}`,
    };
  }
  if (status === 'ACTIVE') {
    return {
      title: `Activate ${them}?`,
      consequence: [
        'Once the batch has processed an access, its device may connect again. Planned ends are cancelled.',
      ],
      yes: `Activate ${them}`,
    };
  }
  if (rotatesPassword) {
    return {
      title: `Set new passwords for ${them}?`,
      consequence: [ROTATION],
      yes: `Set new passwords for ${them}`,
      isIrreversible: true,
    };
  }
  return {
    title: `Change the labels of ${them}?`,
    consequence: ['The accesses’ other labels stay as they are.'],
    yes: `Change ${them}`,
  };
}

/** Sentences about a change of labels. @param {Record<string, string | null>} change */
function inWords(change) {
  const all = Object.entries(change);
  const set = all.filter(([, value]) => value !== null).map(([key, value]) => `${key}: ${value}`);
  const removed = all.filter(([, value]) => value === null).map(([key]) => key);
  return [
    ...(set.length > 0 ? [`Labels to set: ${set.join(', ')}.`] : []),
    ...(removed.length > 0 ? [`Labels to remove: ${removed.join(', ')}.`] : []),
  ];
}
