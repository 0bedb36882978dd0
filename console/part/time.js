// Times: in the user's time zone, with UTC as the tooltip.

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
 * The time from now in words: "in 23 hours".
 * @param {string | number | Date} time
 */
export function relative(time) {
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

/** A calendar day in UTC. @param {string} date */
export const day = (date) => DAY.format(new Date(date));

/** The value of a `datetime-local` input. @param {Date} time */
export function toLocal(time) {
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The instant of a `datetime-local` input, as the API writes it. @param {string} text */
export const fromLocal = (text) => (text ? new Date(text).toISOString().replace('.000Z', 'Z') : '');

/** @param {string} text */
const utc = (text) => `${text.replace('T', ' ').replace(/(\.\d+)?Z$/, '')} UTC`;

/**
 * The creation time that a UUIDv7 carries, with or without a prefix such as `job-`.
 * @param {string} id
 */
export function createdAt(id) {
  const hex = id
    .replace(/^[a-z]+-/, '')
    .replaceAll('-', '')
    .slice(0, 12);
  return new Date(Number.parseInt(hex, 16)).toISOString();
}
