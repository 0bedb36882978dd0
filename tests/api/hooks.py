"""What schemathesis can't read out of the document."""

from urllib.parse import unquote

import schemathesis
from hypothesis import strategies as st

# A password is bounded in bytes, which no schema can say.
schemathesis.openapi.format(
    "password",
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=72).filter(
        lambda password: len(password.encode()) <= 72
    ),
)

# No schema can say all formats of hashes. These are of the password `correct horse`, as htpasswd, mosquitto_passwd and
# Django made them.
schemathesis.openapi.format(
    "password-hash",
    st.sampled_from(
        [
            "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396",
            "$7$101$TPEWokhMuPDzUtdp$c9he7Btm9SU57WVCumwMA+nop1aJYWHk/v0Pv1j2X0YfgA/0kQ5hOx8sMF6ZUUxbOKrTpNt5mOaZqP8bd1q4Vg==",
            "pbkdf2_sha256$100$Qm3gA7hY$KB/tOVi1cpiUCliS1Twe0QAeyoc3QNKUB+fMpxz6z/c=",
        ]
    ),
)

# Nothing is ignored in a filter that changes accesses, and no schema can say what a filter may hold. These match few.
schemathesis.openapi.format(
    "access-filter",
    st.sampled_from(
        ["username=pump-7;username=pump-8", "name=a+b&status=SUSPENDED", "contractId=C-PAYG&createdAt>=2100-01-01"]
    ),
)


@schemathesis.deserializer("text/html", "text/csv")
def read_text(_context, response):
    """A page is a text, and so is a table."""
    return response.content.decode()


# What the access that was made last lets its device in with, and the Task that was accepted last.
credentials, task = {}, {}


@schemathesis.hook
def after_call(_context, case, response):
    """Remembers what was made."""
    operation = case.operation.definition.raw["operationId"]
    if operation == "createAccess" and response.status_code == 201:
        issued = response.json()
        # An access with a hash shows no password.
        if "password" in issued:
            credentials.update(username=issued["username"], password=issued["password"])
    if operation == "createAccesses" and response.status_code == 202:
        task.update(taskId=response.json()["id"], tenantName=case.path_parameters["tenantName"])


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Makes a good request of one that only its schema calls good: what one field says about another stands in words."""
    body = case.body
    if not case.meta or not case.meta.generation.mode.is_positive:
        return
    if task and "taskId" in (case.path_parameters or {}):
        case.path_parameters.update(task)
    if not isinstance(body, dict):
        return
    operation = case.operation.definition.raw["operationId"]
    if operation == "verifyCredentials" and credentials and len(body["username"]) % 2:
        # Half of the devices are ones that are there.
        body.update(credentials)
    if operation == "requestToken":
        # The client proves itself by HTTP Basic.
        body.pop("client_id", None)
        body.pop("client_secret", None)
    if operation == "putTenant":
        if "name" in body:
            body["name"] = unquote(case.path_parameters["tenantName"])
        if "timeZone" in body:
            body["timeZone"] = "Europe/Berlin"
        if case.path_parameters["tenantName"] != "spare":
            # What is asked of the others next must not be refused.
            body.pop("requestsPerSecond", None)
    if operation == "putAccount":
        # Which settings and credentials are good is the connector's to say.
        body["connector"], body["settings"] = "simulator", {"baseUrl": "http://127.0.0.1:9700"}
        body["credentials"] = {"token": "t"}
        if "name" in body:
            body["name"] = unquote(case.path_parameters["accountName"])
    if operation == "putContract":
        if "id" in body:
            body["id"] = unquote(case.path_parameters["contractId"])
        if "startDateTime" in body:
            body.pop("endDateTime", None)
        if "validityPeriod" in body:
            body["billingModel"] = "PREPAID"
            body["validityPeriod"] = "P1M"
