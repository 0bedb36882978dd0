"""Receives the events of a hub: WEBHOOK_SECRET=whsec_… python3 receiver.py 8090"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
handled = set()  # Keep these in your database, with the changes that the events cause.
one_at_a_time = Lock()


def handle(event):
    # An event is about an access, a Task or its hub. A partial event may have no status.
    for kind, it in event["event"].items():
        print(event["eventType"], kind, it["id"], it.get("status") or it.get("state"), flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            event = webhook.verify(body, self.headers)
        except (WebhookVerificationError, TypeError, ValueError):
            return self.answer(400)
        event_id = self.headers["webhook-id"]
        with one_at_a_time:
            if event_id not in handled:
                handle(event)
                handled.add(event_id)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
