//! The bytes of the audit's entries.
//!
//! ```text
//! 4 setup:    object, ID, which of before and after there are, these, origin
//! 5 tokens:   number, since, expiry, subject, tenants, scopes, ID, origin
//! 6 revoked:  ID, origin
//! 7 refusals: reason, number, since, client, origin
//! ```

use super::{InvalidEntry, Reader, index_in, put_origin, put_text, put_varint};
use crate::event::audit::{RefusalEntry, RefusalReason, SetupEntry, SetupObject, TokenEntry};

pub(super) fn put_setup(bytes: &mut Vec<u8>, entry: &SetupEntry) {
    let SetupEntry { object, id, before, after, origin } = entry;
    bytes.push(index_in(&SetupObject::ALL, object));
    put_text(bytes, id);
    bytes.push(u8::from(before.is_some()) | u8::from(after.is_some()) << 1);
    for record in [before, after].into_iter().flatten() {
        put_text(bytes, record);
    }
    put_origin(bytes, origin);
}

pub(super) fn put_tokens(bytes: &mut Vec<u8>, entry: &TokenEntry) {
    put_varint(bytes, entry.n);
    for time in [entry.since, entry.expires] {
        bytes.extend(time.as_millisecond().to_be_bytes());
    }
    for text in [&entry.subject, &entry.tenants, &entry.scopes, &entry.id] {
        put_text(bytes, text);
    }
    put_origin(bytes, &entry.origin);
}

pub(super) fn put_refusals(bytes: &mut Vec<u8>, entry: &RefusalEntry) {
    bytes.push(index_in(&RefusalReason::ALL, &entry.reason));
    put_varint(bytes, entry.n);
    bytes.extend(entry.since.as_millisecond().to_be_bytes());
    put_text(bytes, &entry.client);
    put_origin(bytes, &entry.origin);
}

impl Reader<'_> {
    pub(super) fn setup(&mut self) -> Result<SetupEntry, InvalidEntry> {
        let object = self.one_of(&SetupObject::ALL)?;
        let id = self.text()?.to_owned();
        let there_are = self.byte()?;
        if there_are > 3 {
            return Err(InvalidEntry);
        }
        let mut record =
            |bit| (there_are & bit != 0).then(|| self.text().map(str::to_owned)).transpose();
        let (before, after) = (record(1)?, record(2)?);
        Ok(SetupEntry { object, id, before, after, origin: self.origin()? })
    }

    pub(super) fn tokens(&mut self) -> Result<TokenEntry, InvalidEntry> {
        let n = self.varint()?;
        let (since, expires) = (self.time()?, self.time()?);
        let [subject, tenants, scopes, id] =
            [self.text()?, self.text()?, self.text()?, self.text()?].map(str::to_owned);
        let origin = self.origin()?;
        Ok(TokenEntry { subject, tenants, scopes, id, n, since, expires, origin })
    }

    pub(super) fn refusals(&mut self) -> Result<RefusalEntry, InvalidEntry> {
        let reason = self.one_of(&RefusalReason::ALL)?;
        let (n, since, client) = (self.varint()?, self.time()?, self.text()?.to_owned());
        Ok(RefusalEntry { reason, client, n, since, origin: self.origin()? })
    }
}
