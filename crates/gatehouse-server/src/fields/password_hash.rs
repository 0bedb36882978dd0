//! The field of a password that another program has hashed.

use gatehouse_vault::{FOREIGN_HASH_BYTES_MAX, ForeignHash};
use serde_json::{Value, json};

use super::access::PASSWORD;
use crate::reader::{Direction, Field, Form, Json, Readable, Reader, text};

pub(crate) const PASSWORD_HASH: Field<HashText> = Field::new(
    "passwordHash",
    HashText,
    "An extension: instead of `password`, its hash by another program. bcrypt, argon2id, argon2i and scrypt (PHC), crypt's \
     `$5$` and `$6$`, or PBKDF2 with SHA-256 or SHA-512 as mosquitto (also its old `$6$`), mosquitto-go-auth, Django and \
     PHC write it. The first right password replaces it by a hash of the server's own. The response has no password.",
);

/// A hash in a known format. Errors never repeat it.
#[derive(Clone, Copy)]
pub(crate) struct HashText;

impl Form for HashText {
    fn schema(self, _: Direction) -> Value {
        json!({
            "type": "string", "format": "password-hash", "minLength": 1, "maxLength": FOREIGN_HASH_BYTES_MAX,
        })
    }
}

impl Readable for HashText {
    type Value = ForeignHash;

    fn read(self, json: Json) -> Result<ForeignHash, String> {
        ForeignHash::parse(text(json)?).map_err(|bad| bad.to_string())
    }
}

/// Refuses a password beside its hash, before either is taken.
pub(crate) fn refuse_both(body: &mut Reader<'_>) {
    if body.holds(PASSWORD.name) && body.holds(PASSWORD_HASH.name) {
        let reason = format!("can't be combined with `{}`; send one of them", PASSWORD.name);
        body.fault(PASSWORD_HASH.name, reason);
    }
}

/// The schema of a body that doesn't hold both.
pub(crate) fn not_both() -> Value {
    let text = json!({"type": "string", "description": "Not beside the other"});
    json!({
        "required": [PASSWORD.name, PASSWORD_HASH.name],
        "properties": {PASSWORD.name: text, PASSWORD_HASH.name: text},
    })
}
