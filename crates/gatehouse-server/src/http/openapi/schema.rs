//! The schemas: what goes in and out, field by field.
//!
//! Patterns are ECMAScript's and lengths are characters, as JSON Schema wants. What a schema can't say (bytes
//! of UTF-8, one field that depends on another) stands in its description.

mod account;
mod batch;
pub(super) mod product;

use gatehouse_core::contract::VALIDITY_YEARS_MAX;
use gatehouse_core::credential::PASSWORD_BYTES_MAX;
use gatehouse_core::ids::NAME_CHARS_MAX;
use gatehouse_core::page::PAGE_NUMBER_MAX;
use gatehouse_core::rights::Scope;
use gatehouse_core::tenant::REQUESTS_PER_SECOND_MAX;
use serde_json::{Map, Value, json};

use crate::config::Limits;
use crate::estate::ACCESSES_MAX;
use crate::http::answer::oauth_error::OAuthError;
use crate::reader::TYPE_NAMES;

pub(super) const STATUSES: [&str; 5] =
    ["PENDING_ACTIVE", "ACTIVE", "SUSPENDED", "PENDING_TERMINATE", "TERMINATED"];

pub(super) const TENANT_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$";

/// No control characters, those beyond ASCII among them.
const NAME_PATTERN: &str = r"^[^\u0000-\u001f\u007f-\u009f]+$";

pub(super) const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// An instant as answers show it.
const TIME_PATTERN: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$";

const DURATION_PATTERN: &str = "^P([0-9]+Y)?([0-9]+M)?([0-9]+W)?([0-9]+D)?\
    (T([0-9]+(\\.[0-9]+)?H)?([0-9]+(\\.[0-9]+)?M)?([0-9]+(\\.[0-9]+)?S)?)?$";

pub(super) fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The same schema with a description of what it is here.
fn described(mut schema: Value, what: &str) -> Value {
    schema["description"] = what.into();
    schema
}

/// A text that names something.
pub(super) fn name() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX, "pattern": NAME_PATTERN,
    })
}

/// A text that names a device: anything but what no text in a database can hold.
fn device_name() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX, "pattern": r"^[^\u0000]+$",
    })
}

pub(super) fn tenant_name() -> Value {
    json!({"type": "string", "pattern": TENANT_PATTERN, "maxLength": 63})
}

/// An instant in a request: with any offset, or a date.
pub(super) fn given_time() -> Value {
    json!({"anyOf": [
        {"type": "string", "format": "date-time"}, {"type": "string", "format": "date"},
    ]})
}

/// An instant in an answer.
pub(super) fn shown_time() -> Value {
    json!({"type": "string", "format": "date-time", "pattern": TIME_PATTERN})
}

fn username() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX, "pattern": NAME_PATTERN,
    })
}

fn password(what: &str) -> Value {
    json!({
        "type": "string", "format": "password", "minLength": 1, "maxLength": PASSWORD_BYTES_MAX,
        "description": format!("{what} 1 to {PASSWORD_BYTES_MAX} bytes of UTF-8, any characters."),
    })
}

fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

fn address() -> Value {
    json!({"type": "string", "format": "uri"})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn constant(word: &str) -> Value {
    json!({"type": "string", "const": word})
}

/// An object that has these fields and no others.
fn object(required: &[&str], properties: Value) -> Value {
    let mut schema =
        json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// The body of a POST that has these fields and no others: `null` means that one which isn't required is absent.
fn posted(required: &[&str], mut properties: Value) -> Value {
    for (name, schema) in properties.as_object_mut().into_iter().flatten() {
        if required.contains(&name.as_str()) {
            continue;
        }
        if schema["type"] != "null" {
            schema["type"] = json!([schema["type"], "null"]);
        }
    }
    object(required, properties)
}

/// The body of a POST that creates a resource: beside these fields it may hold the names of its type, which are ignored.
fn made(required: &[&str], properties: Value) -> Value {
    let mut schema = posted(required, properties);
    for name in TYPE_NAMES {
        schema["properties"][name] = json!({"description": "Ignored"});
    }
    schema
}

/// All schemas, by name.
pub(super) fn schemas(limits: &Limits) -> Value {
    let mut schemas = Map::new();
    let parts = [
        accesses(),
        batch::schemas(limits),
        product::schemas(),
        contracts(),
        account::accounts(),
        tenants(),
        clients(),
        figures(),
        others(),
    ];
    for part in parts {
        if let Value::Object(part) = part {
            schemas.extend(part);
        }
    }
    schemas.into()
}

fn accesses() -> Value {
    let access = |password: Option<Value>| {
        let mut fields = json!({
            "id": described(uuid(), "Its identifier"),
            "href": described(address(), "Where it can be read"),
            "contractId": described(name(), "Its contract; fixed for ever"),
            "productOfferingId": described(name(), "The offering of its contract"),
            "username": described(username(), "What the device connects with; no other access of the tenant has it that isn't `TERMINATED`"),
            "deviceName": described(device_name(), "The device's own name, where one was given"),
            "name": described(device_name(), "The `deviceName`, or else the `username`"),
            "status": reference("AccessStatus"),
            "startDateTime": described(shown_time(), "From when the device may connect"),
            "endDateTime": described(shown_time(), "From when it may no longer; left out where there is no end"),
            "createdBy": {
                "type": "string", "pattern": format!("^job-{UUID}$"),
                "description": "The job that made it; left out of an access that was made alone",
            },
            "@baseType": constant("Resource"), "@type": constant("RealizingResource"),
        });
        if let Some(password) = password {
            fields["password"] = password;
        }
        fields
    };
    let required = [
        "id",
        "href",
        "contractId",
        "productOfferingId",
        "username",
        "name",
        "status",
        "startDateTime",
        "@baseType",
        "@type",
    ];
    let changed_of_many = json!({
        "status": {
            "type": "string", "enum": ["ACTIVE", "SUSPENDED", "TERMINATED"],
            "description": "The status that it is to have",
        },
        "password": password("The password that it is to have."),
    });
    let mut changed = changed_of_many.clone();
    changed["rotatePassword"] = described(
        json!({"type": "boolean", "const": true}),
        "An extension: the server draws the password, and the answer holds it. Not beside `password`.",
    );
    let shown_once = || password("Shown only here: the server keeps a hash of it.");
    json!({
        "AccessStatus": {
            "type": "string", "enum": STATUSES,
            "description": "`ACTIVE` and `PENDING_TERMINATE` may connect; `PENDING_ACTIVE` may too, and \
                is `ACTIVE` from then on. `SUSPENDED` may not for now, `TERMINATED` never again.",
        },
        "Access": described(object(&required, access(None)), "An access, without its password"),
        "IssuedAccess": described(
            object(&[&required[..], &["password"]].concat(), access(Some(shown_once()))),
            "A new access, with its password",
        ),
        "UpdatedAccess": described(
            object(&required, access(Some(shown_once()))),
            "An access after a change, with its password where the change set one",
        ),
        "NewAccess": described(made(&["contractId"], json!({
            "contractId": described(name(), "A contract of the tenant that may get new accesses"),
            "username": described(username(), "Left out: `u-` and 16 characters of `a-z2-7`"),
            "password": password("Left out: 24 letters and digits that nobody can guess."),
            "deviceName": described(device_name(), "A name for people"),
        })), "An access to be made; what is left out is generated"),
        "AccessUpdate": {
            "type": "object", "minProperties": 1, "additionalProperties": false,
            "description": "What is to change: the status, the password, or both",
            "properties": changed,
            "not": {"required": ["password", "rotatePassword"]},
        },
        "BatchedUpdate": {
            "type": "object", "minProperties": 1, "additionalProperties": false,
            "description": "What is to change of all of them: the status, the password, or both",
            "properties": changed_of_many,
        },
        "Credentials": described(object(&["username", "password"], json!({
            "username": described(username(), "The device's username"),
            "password": password("The device's password."),
        })), "What a device says to be let in"),
        "Verified": described(
            object(&["accessId", "status", "name", "contractId", "productOfferingId"], json!({
                "accessId": described(uuid(), "The access of the device"),
                "status": {
                    "type": "string", "enum": ["ACTIVE", "PENDING_TERMINATE"],
                    "description": "What the access is, after this connection",
                },
                "name": described(device_name(), "The access's name"),
                "contractId": described(name(), "The access's contract"),
                "productOfferingId": described(name(), "The offering of that contract"),
                "endDateTime": described(shown_time(), "From when it may no longer connect"),
            })),
            "What is known of a device that may connect",
        ),
    })
}

fn contracts() -> Value {
    let contract = |time: fn() -> Value| {
        let validity = format!(
            "PREPAID only: how long an access lives from its first connection. An ISO 8601 duration of a \
             second at least and {VALIDITY_YEARS_MAX} years at most, added by the calendar in UTC."
        );
        json!({
            "id": described(name(), "Its identifier, unique in the tenant"),
            "productOfferingId": described(name(), "What its accesses are accesses to"),
            "billingModel": reference("BillingModel"),
            "status": reference("ContractStatus"),
            "startDateTime": described(time(), "From when its accesses may connect"),
            "endDateTime": described(time(), "When all of its accesses end; later than its start"),
            "validityPeriod": {
                "type": "string", "minLength": 3, "maxLength": 64, "pattern": DURATION_PATTERN,
                "description": validity, "examples": ["P365D", "P1M", "PT12H"],
            },
            "maxAccesses": {
                "type": "integer", "minimum": 0, "maximum": ACCESSES_MAX,
                "description": "How many accesses that are not TERMINATED it may have",
            },
        })
    };
    let mut new = contract(given_time);
    new["id"] = described(name(), "May be left out; else as in the path");
    let mut counted = contract(shown_time);
    counted["href"] = described(address(), "Where it can be read");
    counted["accessCount"] = described(count(), "How many of its accesses are not TERMINATED");
    let required = ["id", "productOfferingId", "billingModel", "status"];
    json!({
        "BillingModel": {
            "type": "string", "enum": ["PREPAID", "PAY_PER_USE"],
            "description": "An access of a `PREPAID` contract waits for its first connection; one of a \
                `PAY_PER_USE` contract is active at once",
        },
        "ContractStatus": {
            "type": "string", "enum": ["ACTIVE", "SUSPENDED", "TERMINATED"], "default": "ACTIVE",
            "description": "Only an `ACTIVE` contract gets new accesses",
        },
        "NewContract": described(
            object(&["productOfferingId", "billingModel"], new),
            "A contract exactly as it is to be; a field that is left out takes its default",
        ),
        "AdminContract":
            described(object(&required, contract(shown_time)), "A contract as it was set up"),
        "Contract": described(
            object(&[&required[..], &["href", "accessCount"]].concat(), counted),
            "A contract as its tenant sees it",
        ),
    })
}

fn tenants() -> Value {
    let zone = |what: &str| {
        json!({
            "type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9/_+-]+$", "description": what,
            "examples": ["Europe/Berlin"],
        })
    };
    let rate = || {
        json!({
            "type": "integer", "minimum": 0, "maximum": REQUESTS_PER_SECOND_MAX,
            "description": "Requests that it may send in a second, 0 for any number; left out: what the \
                server is set to",
        })
    };
    let page_number_max = || {
        json!({
            "type": "integer", "minimum": 1, "maximum": PAGE_NUMBER_MAX,
            "description": "The last page of products that it may ask for; left out: what the server is \
                set to",
        })
    };
    json!({
        "NewTenant": described(object(&[], json!({
            "name": described(tenant_name(), "May be left out; else as in the path"),
            "timeZone":
                zone("Where its months end: a name of the IANA database, in any case. Left out: `UTC`"),
            "requestsPerSecond": rate(),
            "pageNumberMax": page_number_max(),
        })), "A tenant exactly as it is to be; a field that is left out takes its default"),
        "Tenant": described(object(&["name", "timeZone"], json!({
            "name": described(tenant_name(), "The first segment of its paths"),
            "timeZone": zone("Where its months end, as the IANA database spells it"),
            "requestsPerSecond": rate(),
            "pageNumberMax": page_number_max(),
        })), "A tenant"),
    })
}

fn clients() -> Value {
    let scope = |what: &str| {
        let words: Vec<&str> = Scope::ALL.into_iter().map(Scope::as_str).collect();
        let word = format!("({})", words.join("|"));
        json!({
            "type": "string", "minLength": 1, "pattern": format!("^{word}( {word})*$"),
            "description": format!("{what}; with spaces between"), "examples": ["access:read access:write"],
        })
    };
    // A parameter without a value is one that is left out (RFC 6749, section 3.2).
    let asked_scope = || {
        let mut scope = scope("A part of what the client may have; left out or empty: all of it");
        let pattern =
            scope["pattern"].as_str().unwrap_or_default().trim_start_matches('^').to_owned();
        scope["pattern"] = format!("^$|^{pattern}").into();
        scope["minLength"] = 0.into();
        scope
    };
    let client = || {
        json!({
            "clientId": {
                "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}~[a-z0-9]{1,64}$",
                "description": "Its identifier, which names its tenant",
            },
            "name": described(name(), "What people call it, where it has a name"),
            "scope": scope("What its tokens may allow"),
            "createdAt": described(shown_time(), "When it was made"),
        })
    };
    let mut issued = client();
    issued["clientSecret"] = json!({
        "type": "string", "format": "password",
        "description": "What it proves itself with. Shown only here: the server keeps a hash of it.",
    });
    let required = ["clientId", "scope", "createdAt"];
    json!({
        "NewClient": described(made(&["scope"], json!({
            "name": described(name(), "A name for people"),
            "scope": scope("What its tokens may allow"),
        })), "A client to be made"),
        "Client": described(object(&required, client()), "A client, without its secret"),
        "IssuedClient": described(
            object(&[&required[..], &["clientSecret"]].concat(), issued),
            "A new client, with its secret",
        ),
        "TokenRequest": {
            "type": "object", "required": ["grant_type"],
            "description": "RFC 6749, section 4.4.2. The client proves itself here or by HTTP Basic, not both.",
            "properties": {
                "grant_type": constant("client_credentials"),
                "client_id": {"type": "string", "description": "The client's `clientId`"},
                "client_secret": {
                    "type": "string", "format": "password", "description": "The client's `clientSecret`",
                },
                "scope": asked_scope(),
            },
        },
        "Token": described(
            object(&["access_token", "token_type", "expires_in", "scope"], json!({
                "access_token": {"type": "string", "description": "The token"},
                "token_type": constant("Bearer"),
                "expires_in": {
                    "type": "integer", "minimum": 1, "description": "Seconds that it is good for",
                },
                "scope": scope("What it allows"),
            })),
            "A token for a client (RFC 6749, section 5.1)",
        ),
        "OAuthError": described(object(&["error", "error_description"], json!({
            "error": {
                "type": "string", "enum": OAuthError::ALL.map(OAuthError::as_str),
                "description": "What kind of error it is",
            },
            "error_description": {
                "type": "string", "description": "What was wrong, and what would be right, for people",
            },
        })), "Why there is no token (RFC 6749, section 5.2)"),
    })
}

fn figures() -> Value {
    let by_status = json!({
        "type": "object", "required": STATUSES, "additionalProperties": false,
        "description": "How many accesses have each status",
        "properties": Map::from_iter(STATUSES.map(|status| (status.to_owned(), count()))),
    });
    json!({
        "CountsByStatus": by_status,
        "Summary": described(object(&["total", "byStatus", "byContract", "perDay"], json!({
            "total": described(count(), "All accesses, terminated ones too"),
            "byStatus": reference("CountsByStatus"),
            "byContract": {
                "type": "array", "description": "The same for each contract",
                "items": reference("ContractCounts"),
            },
            "perDay": {
                "type": "array", "maxItems": 90, "items": reference("DayCounts"),
                "description": "The last 90 days in UTC, the oldest first and today last",
            },
        })), "A tenant's accesses in figures"),
        "ContractCounts": described(
            object(&["contractId", "productOfferingId", "byStatus"], json!({
                "contractId": described(name(), "The contract"),
                "productOfferingId": described(name(), "Its offering"),
                "byStatus": reference("CountsByStatus"),
            })),
            "How many accesses a contract has, by status",
        ),
        "DayCounts": described(object(&["date", "created", "ended"], json!({
            "date": {"type": "string", "format": "date", "description": "A day in UTC"},
            "created": described(count(), "Accesses that were made on it"),
            "ended": described(count(), "Accesses that ended on it"),
        })), "What happened on a day"),
    })
}

fn others() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    json!({
        "Document": {
            "type": "object", "required": ["openapi", "info", "paths"],
            "description": "An OpenAPI document",
            "properties": {
                "openapi": text("The version of OpenAPI that it speaks"),
                "info": {"type": "object", "description": "What it is about"},
                "paths": {"type": "object", "description": "Every path and what can be done there"},
            },
        },
        "Page": text("A page for a browser"),
        "Text": text("A text for a program"),
        "KeySet": described(object(&["keys"], json!({
            "keys": {
                "type": "array", "minItems": 1, "items": reference("Key"),
                "description": "The keys that tokens of the built-in issuer are signed with",
            },
        })), "A JSON Web Key Set (RFC 7517)"),
        "Key": described(object(&["kty", "crv", "use", "alg", "kid", "x"], json!({
            "kty": constant("OKP"), "crv": constant("Ed25519"), "use": constant("sig"),
            "alg": constant("EdDSA"),
            "kid": text("The name that tokens call it by"),
            "x": text("The public key, in base64url"),
        })), "A public key (RFC 8037)"),
        "Caller": described(object(&["tenants", "scope", "expiresAt"], json!({
            "subject": text("Whose token it is; left out where it doesn't say"),
            "tenants": {
                "type": "array", "items": {"type": "string"},
                "description": "The tenants that the token names, whether they exist or not; `*` alone for all",
            },
            "scope": text(
                "What the token allows, with spaces between; what is no scope of gatehouse's is left out",
            ),
            "expiresAt": described(shown_time(), "When the token ends"),
        })), "Whoever holds a token"),
        "SignIn": described(object(&["issuers"], json!({
            "issuers": {
                "type": "array", "items": reference("SignInIssuer"),
                "description": "Those that the settings name a client for the console at, in their order",
            },
            "demo": reference("DemoToken"),
        })), "How people sign in with a browser"),
        "DemoToken": described(object(&["tenant", "token"], json!({
            "tenant": described(tenant_name(), "The demo's tenant"),
            "token": text("A new token for it, good for a day"),
        })), "What a page is let in with where the server is a demo, only for a browser on the same machine"),
        "SignInIssuer": described(object(&["issuer", "clientId"], json!({
            "issuer": described(address(), "The issuer, as its tokens carry it (`iss`)"),
            "clientId": text("What the console is called there (`client_id`)"),
            "authorizationEndpoint": described(
                address(), "Where the browser is sent to; this and what follows is left out as long as the \
                    server could not reach the issuer",
            ),
            "tokenEndpoint": described(address(), "Where the page gets its tokens"),
            "endSessionEndpoint": described(
                address(), "Where the browser is sent to when the person leaves, where the issuer has that",
            ),
            "revocationEndpoint": described(
                address(), "Where the page gives tokens back, where the issuer has that",
            ),
            "scope": text("What to ask for, with spaces between"),
            "namesItself": {
                "type": "boolean",
                "description": "Whether its answers to the browser carry `iss` (RFC 9207): one without is not the issuer's",
            },
        })), "An issuer that people can sign in with"),
        "State": described(object(&["status"], json!({
            "status": {"type": "string", "enum": ["live", "ready"], "description": "How the server is"},
        })), "How the server is"),
        "Problem": {
            "type": "object", "description": "The one body of every error",
            "required": ["type", "status", "title", "detail", "externalErrors", "relatedParty",
                         "correlationId", "@type"],
            "properties": {
                "type": text(
                    "A short phrase: the status's own, except `Credentials refused`, and among products \
                     `Product not found`, `Page out of reach` and `Lookup not supported`",
                ),
                "status": {
                    "type": "integer", "minimum": 400, "maximum": 599,
                    "description": "The HTTP status",
                },
                "title": text("What kind of problem it is; programs may tell problems of one status apart by it"),
                "detail": text("What was wrong, and what would be right, for people"),
                "invalidParams": {
                    "type": "array", "items": reference("InvalidParam"),
                    "description": "The fields or parameters at fault, where there are some",
                },
                "externalErrors": {
                    "type": "array", "items": reference("ExternalError"),
                    "description": "What a platform said that failed",
                },
                "relatedParty": {
                    "type": "array", "items": reference("RelatedParty"),
                    "description": "The account that failed",
                },
                "correlationId": text("The same as in the header `X-Correlation-ID`"),
                "@type": constant("problem"),
            },
        },
        "InvalidParam": {
            "type": "object", "required": ["name", "reason"],
            "description": "A field or parameter that is at fault",
            "properties": {
                "name": text("The field, with the way to it"),
                "reason": text("What is wrong with it, and what would be right"),
            },
        },
    })
}
