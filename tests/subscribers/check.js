// Checks messages of hubs with the libraries that receivers in Node.js use.
//
// Each line of the input is a message as JSON: its `form`, the `secrets` that have signed it, its `headers` and `body`,
// and the `source` and `events` that it tells of. Each check prints a line; the exit code is 1 if one has failed.

import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { HTTP } from 'cloudevents';
import * as standardwebhooks from 'standardwebhooks';
import * as svix from 'svix';

const LIBRARIES = { standardwebhooks: standardwebhooks.Webhook, svix: svix.Webhook };
const STRANGE_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const NO_MATCH = 'No matching signature found';
const TOO_OLD = 'Message timestamp too old';

/** Prints the outcome of a check; without a fault, all is well. */
function report(what, fault) {
  if (fault) process.exitCode = 1;
  console.log(fault ? `FAILED  ${what}: ${fault}` : `ok      ${what}`);
}

/** The fault of a library that refuses a message. */
function accepts(webhook, headers, body) {
  try {
    webhook.verify(body, headers);
    return undefined;
  } catch (why) {
    return `refused: ${why.message}`;
  }
}

/** The fault of a library that accepts a message, or refuses it for another reason than this one. */
function refuses(webhook, headers, body, reason) {
  try {
    webhook.verify(body, headers);
    return 'accepted';
  } catch (why) {
    return why.message === reason ? undefined : `refused for another reason: ${why.message}`;
  }
}

/** Checks that each secret accepts the message, and refuses what was changed. */
function checkSignatures(name, Library, { form, secrets, headers, body: text }) {
  const body = Buffer.from(text);
  const eventId = headers['webhook-id'];
  const seconds = Number(headers['webhook-timestamp']);
  const about = `${form} ${eventId}: ${name}`;
  const changed = Buffer.from(body);
  changed[changed.length - 1] ^= 1;
  const strange = new Library(STRANGE_SECRET);
  const strangeSignature = strange.sign(eventId, new Date(seconds * 1000), text);
  for (const [index, secret] of secrets.entries()) {
    const webhook = new Library(secret);
    const ofSecret = `${about}, secret ${index + 1},`;
    report(`${ofSecret} accepts the message`, accepts(webhook, headers, body));

    report(`${ofSecret} refuses a changed byte`, refuses(webhook, headers, changed, NO_MATCH));
    const old = seconds - 600;
    const aged = webhook.sign(eventId, new Date(old * 1000), text);
    for (const [what, change, reason] of [
      ['another webhook-id', { 'webhook-id': `${eventId}0` }, NO_MATCH],
      ['another timestamp', { 'webhook-timestamp': `${seconds - 1}` }, NO_MATCH],
      ['a signature by another secret', { 'webhook-signature': strangeSignature }, NO_MATCH],
      ['a message that is ten minutes old', { 'webhook-timestamp': `${old}`, 'webhook-signature': aged }, TOO_OLD],
    ]) {
      report(`${ofSecret} refuses ${what}`, refuses(webhook, { ...headers, ...change }, body, reason));
    }
  }
  report(`${about} refuses another secret`, refuses(strange, headers, body, NO_MATCH));
}

/** Checks that each secret has made one signature. */
function checkCount({ form, secrets, headers }) {
  const nSignatures = headers['webhook-signature'].split(' ').length;
  const fault = nSignatures === secrets.length ? undefined : `${nSignatures} signatures by ${secrets.length} secrets`;
  report(`${form} ${headers['webhook-id']}: a signature by each secret`, fault);
}

/** Checks that the SDK gives what the events say. */
function checkCloudEvents({ form, headers, body, source, events }) {
  const about = `${form} ${headers['webhook-id']}: cloudevents`;
  let read;
  try {
    read = [HTTP.toEvent({ headers, body })].flat();
  } catch (why) {
    report(`${about} reads the message`, why.message);
    return;
  }
  for (const [index, event] of events.slice(0, read.length).entries()) {
    const [subject] = Object.values(event.event);
    const wanted = {
      id: event.eventId,
      source,
      type: event.eventType,
      subject: subject.id,
      time: event.eventTime,
      data: event,
    };
    for (const [name, value] of Object.entries(wanted)) {
      const seen = read[index][name];
      const fault = isDeepStrictEqual(seen, value)
        ? undefined
        : `${JSON.stringify(seen)} instead of ${JSON.stringify(value)}`;
      report(`${about} gives the ${name} of ${event.eventId}`, fault);
    }
  }
  const count = read.length === events.length ? undefined : `${read.length} of ${events.length}`;
  report(`${about} gives every event`, count);
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  checkCount(message);
  for (const [name, Library] of Object.entries(LIBRARIES)) checkSignatures(name, Library, message);
  if (message.form.startsWith('cloudevents')) checkCloudEvents(message);
}
