"""Checks messages of hubs with the libraries that receivers in Python use.

Each line of the input is a message as JSON: its `form`, the `secrets` that have signed it, its `headers` and `body`, and
the `source` and `events` that it tells of. Each check prints a line; the exit code is 1 if one has failed.
"""

import base64
import json
import sys
from datetime import datetime, timedelta, timezone

import standardwebhooks
import svix.webhooks
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from cloudevents.core.formats.json import JSONFormat

LIBRARIES = {"standardwebhooks": standardwebhooks.Webhook, "svix": svix.webhooks.Webhook}
STRANGE_SECRET = "whsec_" + base64.b64encode(bytes([7] * 32)).decode()

n_failed = 0


def report(what, fault):
    """Prints the outcome of a check; `fault` is None if all is well."""
    global n_failed
    n_failed += fault is not None
    print(f"FAILED  {what}: {fault}" if fault else f"ok      {what}", flush=True)


def accepts(webhook, headers, body):
    """The fault of a library that refuses a message."""
    try:
        webhook.verify(body, headers)
    except Exception as why:
        return f"refused: {why}"
    return None


def refuses(webhook, headers, body, reason):
    """The fault of a library that accepts a message, or refuses it for another reason than this one."""
    try:
        webhook.verify(body, headers)
    except Exception as why:
        return None if str(why) == reason else f"refused for another reason: {why}"
    return "accepted"


def check_signatures(name, library, message):
    """Checks that each secret accepts the message, and refuses what was changed."""
    headers, body, secrets = message["headers"], message["body"].encode(), message["secrets"]
    event_id, seconds = headers["webhook-id"], int(headers["webhook-timestamp"])
    about = f"{message['form']} {event_id}: {name}"
    strange = library(STRANGE_SECRET).sign(event_id, datetime.fromtimestamp(seconds, timezone.utc), message["body"])
    old = datetime.fromtimestamp(seconds, timezone.utc) - timedelta(minutes=10)
    none = "No matching signature found"
    for nth, secret in enumerate(secrets, 1):
        webhook = library(secret)
        of_secret = f"{about}, secret {nth},"
        report(f"{of_secret} accepts the message", accepts(webhook, headers, body))

        changed = body[:-1] + bytes([body[-1] ^ 1])
        report(f"{of_secret} refuses a changed byte", refuses(webhook, headers, changed, none))
        for what, name_of_header, value, reason in [
            ("another webhook-id", "webhook-id", event_id + "0", none),
            ("another timestamp", "webhook-timestamp", str(seconds - 1), none),
            ("a signature by another secret", "webhook-signature", strange, none),
        ]:
            report(f"{of_secret} refuses {what}", refuses(webhook, headers | {name_of_header: value}, body, reason))
        aged = {
            "webhook-timestamp": str(int(old.timestamp())),
            "webhook-signature": webhook.sign(event_id, old, message["body"]),
        }
        fault = refuses(webhook, headers | aged, body, "Message timestamp too old")
        report(f"{of_secret} refuses a message that is ten minutes old", fault)
    report(f"{about} refuses another secret", refuses(library(STRANGE_SECRET), headers, body, none))


def check_count(message):
    """Checks that each secret has made one signature."""
    n_signatures, n_secrets = len(message["headers"]["webhook-signature"].split(" ")), len(message["secrets"])
    fault = None if n_signatures == n_secrets else f"{n_signatures} signatures by {n_secrets} secrets"
    report(f"{message['form']} {message['headers']['webhook-id']}: a signature by each secret", fault)


def read_cloud_events(message):
    """Reads a message with the SDK. The SDK can't split a batch, so it reads each of the batch's events."""
    if message["form"] == "cloudevents-batch":
        return [JSONFormat().read(None, json.dumps(it)) for it in json.loads(message["body"])]
    return [from_http_event(HTTPMessage(message["headers"], message["body"].encode()))]


def check_cloud_events(message):
    """Checks that the SDK gives what the events say."""
    about = f"{message['form']} {message['headers']['webhook-id']}: cloudevents"
    try:
        read = read_cloud_events(message)
        got = [
            {
                "id": it.get_id(),
                "source": it.get_source(),
                "type": it.get_type(),
                "subject": it.get_subject(),
                "time": it.get_time(),
                "data": it.get_data(),
            }
            for it in read
        ]
    except Exception as why:
        return report(f"{about} reads the message", repr(why))
    for event, seen in zip(message["events"], got):
        (subject,) = event["event"].values()
        wanted = {
            "id": event["eventId"],
            "source": message["source"],
            "type": event["eventType"],
            "subject": subject["id"],
            "time": datetime.strptime(event["eventTime"], "%Y-%m-%dT%H:%M:%S.%f%z"),
            "data": event,
        }
        for name, value in wanted.items():
            fault = None if seen[name] == value else f"{seen[name]!r} instead of {value!r}"
            report(f"{about} gives the {name} of {event['eventId']}", fault)
    n_read, n_events = len(got), len(message["events"])
    report(f"{about} gives every event", None if n_read == n_events else f"{n_read} of {n_events}")


for line in sys.stdin:
    message = json.loads(line)
    check_count(message)
    for name, library in LIBRARIES.items():
        check_signatures(name, library, message)
    if message["form"].startswith("cloudevents"):
        check_cloud_events(message)
sys.exit(1 if n_failed else 0)
