//! An example of every answer; tests hold each against its schema.

use serde_json::{Map, Value, json};

use super::schema::STATUSES;

/// The request that examples belong to.
const CORRELATION_ID: &str = "01a1dd4d-f106-78de-9e83-53ca57782672";

/// An example of what a schema describes, where answers use it.
pub(crate) fn of(schema: &str) -> Option<Value> {
    Some(match schema {
        "State" => json!({"status": "live"}),
        "Document" => json!({
            "openapi": "3.1.0", "info": {"title": "gatehouse", "version": "0.1.0"}, "paths": {},
        }),
        "KeySet" => json!({"keys": [{
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": "hQ1nL3Tz0kE",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }]}),
        "Page" => "<!DOCTYPE html>".into(),
        "Access" => access(),
        "UpdatedAccess" => access(),
        "IssuedAccess" => {
            let mut access = access();
            access["password"] = "qNoFC8PTsrGkAtdMSGUA9qDV".into();
            access
        }
        "Task" => task("ACKNOWLEDGED"),
        "TaskOutcome" => {
            let mut task = task("FAILED");
            task["accesses"] = json!([access()]);
            task["errors"] = json!([task_error()]);
            task
        }
        "ListedTask" => {
            let mut task = task("IN_PROGRESS");
            task["x-progress"] = progress();
            task
        }
        "Progress" => progress(),
        "ItemResult" => json!({"index": 1, "state": "failed", "error": task_error()}),
        "AccessTable" => {
            "id,username,password,deviceName,name,status,contractId,productOfferingId,\
            startDateTime,endDateTime\r\n"
                .into()
        }
        "Verified" => json!({
            "accessId": "01a1dd4d-f036-7005-9379-54b08ec1966e", "status": "ACTIVE", "name": "pump-7",
            "contractId": "C-PRE", "productOfferingId": "PO-IOT-YEAR",
            "endDateTime": "2027-11-15T03:43:54.935Z",
        }),
        "Summary" => json!({
            "total": 8123, "byStatus": by_status(&[("ACTIVE", 8_101), ("SUSPENDED", 22)]),
            "byContract": [{
                "contractId": "C-PAYG", "productOfferingId": "PO-IOT-PAYG",
                "byStatus": by_status(&[("ACTIVE", 8_101), ("SUSPENDED", 22)]),
            }],
            "perDay": [{"date": "2026-11-15", "created": 12, "ended": 0}],
        }),
        "Product" => product(),
        "ProductPage" => {
            json!({"entities": [product()], "errors": [], "correlationId": CORRELATION_ID})
        }
        "ProductEnvelope" => json!({
            "entities": [product()], "errors": [product_error()], "correlationId": CORRELATION_ID,
        }),
        "AdminContract" => contract(),
        "Contract" => {
            let mut contract = contract();
            contract["href"] = "https://gate.example/demo/contract/C-PRE".into();
            contract["accessCount"] = 1_204.into();
            contract
        }
        "AdminAccount" => account(),
        "ChangedAccount" => {
            let mut account = account();
            account["changed"] = json!(["settings", "credentials"]);
            account
        }
        "Account" => json!({
            "name": "acme-eu", "platform": "ALPHA", "platformAccount": "100234", "health": "UP",
            "latencyMilliseconds": 84,
        }),
        "Tenant" => json!({"name": "demo", "timeZone": "Europe/Berlin", "requestsPerSecond": 100}),
        "Client" => client(),
        "IssuedClient" => {
            let mut client = client();
            client["clientSecret"] = "9DSYd6m4H3HmyNo55iAFm927".into();
            client
        }
        "Token" => json!({
            "access_token": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJkZW1vIn0.c2ln", "token_type": "Bearer",
            "expires_in": 900, "scope": "access:verify",
        }),
        "Caller" => json!({
            "subject": "ann", "tenants": ["demo"], "scope": "access:read access:write",
            "expiresAt": "2026-11-16T03:43:54.000Z",
        }),
        "SignIn" => json!({"issuers": [{
            "issuer": "https://id.example/realms/fleet", "clientId": "gatehouse-console",
            "authorizationEndpoint": "https://id.example/realms/fleet/auth",
            "tokenEndpoint": "https://id.example/realms/fleet/token",
            "endSessionEndpoint": "https://id.example/realms/fleet/logout",
            "revocationEndpoint": "https://id.example/realms/fleet/revoke",
            "scope": "openid access:read access:write offline_access", "namesItself": true,
        }]}),
        "Text" => {
            "# TYPE gatehouse_http_requests_in_flight gauge\ngatehouse_http_requests_in_flight 1\n"
                .into()
        }
        _ => return None,
    })
}

/// How far a Task has come that suspends accesses.
fn progress() -> Value {
    json!({
        "total": 1000, "succeeded": 250, "failed": 1, "acceptedAt": "2026-11-14T09:12:08.512Z",
        "startedAt": "2026-11-14T09:12:08.530Z",
        "change": {"operationType": "update", "status": "SUSPENDED", "rotatesPassword": false},
    })
}

fn access() -> Value {
    json!({
        "id": "01a1dd4d-f036-7005-9379-54b08ec1966e",
        "href": "https://gate.example/demo/access/01a1dd4d-f036-7005-9379-54b08ec1966e",
        "contractId": "C-PAYG", "productOfferingId": "PO-IOT-PAYG",
        "username": "u-kw5chbeezkwrse36", "deviceName": "pump-7", "name": "pump-7",
        "status": "ACTIVE", "startDateTime": "2026-11-15T03:43:54.935Z",
        "@baseType": "Resource", "@type": "RealizingResource",
    })
}

fn task(state: &str) -> Value {
    json!({
        "id": "job-01a1dd4d-f0c1-7a3e-8b52-9f3d1c20e7aa", "state": state, "@baseType": "task",
        "@type": "batchCreation",
    })
}

fn task_error() -> Value {
    let mut error = super::problem::example(409);
    error["title"] = "Username taken".into();
    error["detail"] = "username `pump-7` is taken by another access".into();
    error["index"] = 1.into();
    error["username"] = "pump-7".into();
    error
}

fn product() -> Value {
    json!({
        "id": "ALPHA-4711", "href": "https://gate.example/demo/product/ALPHA-4711",
        "status": "ACTIVE", "connectivityType": "CELLULAR",
        "productCharacteristic": [
            {"name": "PLATFORM", "value": "ALPHA"}, {"name": "ICCID", "value": "8944500102000000012"},
            {"name": "IMSI", "value": "234500000000001"}, {"name": "MSISDN", "value": "447700900001"},
            {"name": "PLATFORM_STATUS", "value": "activated"},
        ],
        "relatedParty": [{
            "name": "acme-eu", "characteristic": [{"name": "PLATFORM_ACCOUNT", "value": "100234"}],
            "role": "customer",
        }],
        "customProperty": [{"name": "site", "value": "Hamburg"}],
        "@type": "IoTConnection",
    })
}

fn product_error() -> Value {
    json!({
        "type": "Product not found", "status": 404, "title": "Product not found",
        "detail": "there is no product with the ICCID `8944500102000000020`", "externalErrors": [],
        "relatedParty": [], "correlationId": CORRELATION_ID, "@type": "problem",
    })
}

fn client() -> Value {
    json!({
        "clientId": "demo~ghbartdqeohaehjz", "name": "the broker in Hamburg", "scope": "access:verify",
        "createdAt": "2026-11-15T09:59:12.335Z",
    })
}

fn account() -> Value {
    json!({
        "name": "acme-eu", "platform": "ALPHA", "connector": "simulator",
        "platformAccount": "100234", "settings": {"baseUrl": "http://127.0.0.1:9700"},
        "hasCredentials": true,
    })
}

fn contract() -> Value {
    json!({
        "id": "C-PRE", "productOfferingId": "PO-IOT-YEAR", "billingModel": "PREPAID",
        "status": "ACTIVE", "startDateTime": "2026-01-01T00:00:00.000Z", "validityPeriod": "P365D",
        "maxAccesses": 500_000,
    })
}

fn by_status(counts: &[(&str, u64)]) -> Value {
    let count = |status: &str| counts.iter().find(|(it, _)| *it == status).map_or(0, |(_, n)| *n);
    let counted = STATUSES.map(|status| (status.to_owned(), count(status).into()));
    Value::Object(Map::from_iter(counted))
}
