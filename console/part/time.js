// Times: in the reader's zone, with UTC where the pointer rests.

import { h } from '../element.js';

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const PRECISE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/**
 * A time, as an element.
 * @param {string | undefined} text as the API writes it
 * @param {{isPrecise?: boolean}} [how]
 */
export function timeElement(text, { isPrecise = false } = {}) {
  if (!text) return h('span', { class: 'none' }, '—');
  const time = new Date(text);
  return h('time', { datetime: text, title: utc(text) }, (isPrecise ? PRECISE : FULL).format(time));
}

/**
 * How long it is until then, or since: "in 23 hours".
 * @param {string | number | Date} time
 */
export function relative(time) {
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

/** A day of the calendar, as it is in UTC. @param {string} date */
export const day = (date) => DAY.format(new Date(date));

/** @param {string} text */
const utc = (text) => `${text.replace('T', ' ').replace(/(\.\d+)?Z$/, '')} UTC`;

/**
 * When something was made whose ID begins with the time (UUIDv7), with or without a word in front.
 * @param {string} id
 */
export function madeAt(id) {
  const hex = id
    .replace(/^[a-z]+-/, '')
    .replaceAll('-', '')
    .slice(0, 12);
  return new Date(Number.parseInt(hex, 16)).toISOString();
}
