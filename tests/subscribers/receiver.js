// Receives the events of a hub: WEBHOOK_SECRET=whsec_… node receiver.js 8090

import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const handled = new Set(); // Keep these in your database, with the changes that the events cause.

function handle(event) {
  // An event is about an access, a Task or its hub. A partial event may have no status.
  for (const [kind, { id, status, state }] of Object.entries(event.event)) {
    console.log(event.eventType, kind, id, status ?? state);
  }
}

const server = createServer(async (request, response) => {
  let event;
  try {
    event = webhook.verify(await buffer(request), request.headers);
  } catch {
    response.writeHead(400).end();
    return;
  }
  const eventId = request.headers['webhook-id'];
  if (!handled.has(eventId)) {
    handle(event);
    handled.add(eventId);
  }
  response.writeHead(204).end();
});

server.listen(process.argv[2], '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
