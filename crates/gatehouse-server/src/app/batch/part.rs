//! Binary encoding of a batch's items, in parts of [`PART_ITEMS`] items.
//!
//! Readers load only the part they need. Parts with passwords are sealed with the Task's key. A text is a two-byte
//! length and its bytes; a byte before an optional text tells whether it is present.

use gatehouse_core::credential::Password;
use gatehouse_core::{AccessId, Labels};
use gatehouse_store::StoreError;
use gatehouse_vault::{ForeignHash, TaskKey};

use super::{ChosenPassword, InvalidItem, NamedAccess, NewItem, ValidItem};
use crate::reader::Fault;

/// Items per part.
pub(crate) const PART_ITEMS: u32 = 500;

const VALID: u8 = 0;
const INVALID: u8 = 1;
const LABELLED: u8 = 2;
/// Before a valid item with a hash. The hash is first, so that a server of an older version can't take it for a password:
/// the item's beginning is no text to it.
const HASHED: u8 = 3;
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;

type Parts = Vec<(u32, Vec<u8>)>;

/// Encodes and seals the items of a creation.
pub(super) fn write_creation(items: &[NewItem], key: &TaskKey) -> Parts {
    let parts = items.chunks(PART_ITEMS as usize).zip(0..);
    let sealed = parts.map(|(items, part)| {
        let mut bytes = zeroize::Zeroizing::new(Vec::new());
        for item in items {
            write_new(&mut bytes, item);
        }
        (part, key.seal_part(part, &bytes))
    });
    sealed.collect()
}

/// Decodes one part of a creation.
pub(crate) fn read_creation(
    part: u32,
    sealed: &[u8],
    key: &TaskKey,
) -> Result<Vec<NewItem>, StoreError> {
    let bytes = key.open_part(part, sealed).map_err(|bad| StoreError::Unexpected(bad.into()))?;
    let bytes = zeroize::Zeroizing::new(bytes);
    let mut bytes = Bytes(&bytes);
    let mut items = Vec::new();
    while !bytes.0.is_empty() {
        items.push(read_new(&mut bytes).ok_or_else(unreadable)?);
    }
    Ok(items)
}

/// Encodes the accesses of a change.
pub(super) fn write_change(ids: &[NamedAccess]) -> Parts {
    let parts = ids.chunks(PART_ITEMS as usize).zip(0..);
    let written = parts.map(|(ids, part)| {
        let mut bytes = Vec::new();
        for NamedAccess { index, id } in ids {
            bytes.extend_from_slice(&index.to_be_bytes());
            match id {
                Ok(id) => {
                    bytes.push(VALID);
                    bytes.extend_from_slice(id.as_bytes());
                }
                Err(text) => {
                    bytes.push(INVALID);
                    write_text(&mut bytes, text);
                }
            }
        }
        (part, bytes)
    });
    written.collect()
}

/// Decodes one part of a change.
pub(crate) fn read_change(bytes: &[u8]) -> Result<Vec<NamedAccess>, StoreError> {
    let mut bytes = Bytes(bytes);
    let mut ids = Vec::new();
    while !bytes.0.is_empty() {
        ids.push(read_named(&mut bytes).ok_or_else(unreadable)?);
    }
    Ok(ids)
}

fn unreadable() -> StoreError {
    StoreError::Unexpected("a part of a Task can't be read".into())
}

fn write_new(bytes: &mut Vec<u8>, item: &NewItem) {
    match item {
        NewItem::Valid(ValidItem { username, password, device_name, labels }) => {
            if let Some(ChosenPassword::Hash(hash)) = password {
                bytes.push(HASHED);
                write_text(bytes, hash.reveal());
            }
            bytes.push(if labels.is_empty() { VALID } else { LABELLED });
            let password = password.as_ref().and_then(ChosenPassword::clear);
            write_optional(bytes, username.as_ref().map(|it| it.as_str()));
            write_optional(bytes, password.map(Password::reveal));
            write_optional(bytes, device_name.as_ref().map(|it| it.as_str()));
            if let Some(labels) = labels.stored() {
                write_text(bytes, labels);
            }
        }
        NewItem::Invalid(InvalidItem { username, device_name, faults }) => {
            bytes.push(INVALID);
            write_optional(bytes, username.as_deref());
            write_optional(bytes, device_name.as_deref());
            for Fault { name, reason } in faults {
                write_optional(bytes, Some(name));
                write_text(bytes, reason);
            }
            write_optional(bytes, None);
        }
    }
}

fn read_new(bytes: &mut Bytes<'_>) -> Option<NewItem> {
    let mut form = bytes.byte()?;
    let mut hash = None;
    if form == HASHED {
        hash = Some(ForeignHash::parse(bytes.text()?.to_owned()).ok()?);
        form = bytes.byte()?;
    }
    if form != INVALID {
        let username = bytes.optional()?.map(|text| text.parse()).transpose().ok()?;
        let password = bytes.optional()?.map(|text| Password::new(text.into())).transpose().ok()?;
        let device_name = bytes.optional()?.map(|text| text.parse()).transpose().ok()?;
        let labels = match form {
            LABELLED => Labels::from_stored(bytes.text()?)?,
            _ => Labels::NONE,
        };
        let password = ChosenPassword::of_fields(password, hash);
        return Some(NewItem::Valid(ValidItem { username, password, device_name, labels }));
    }
    let mut item = InvalidItem {
        username: bytes.optional()?.map(str::to_owned),
        device_name: bytes.optional()?.map(str::to_owned),
        faults: Vec::new(),
    };
    while let Some(name) = bytes.optional()? {
        item.faults.push(Fault { name: name.to_owned(), reason: bytes.text()?.to_owned() });
    }
    Some(NewItem::Invalid(item))
}

fn read_named(bytes: &mut Bytes<'_>) -> Option<NamedAccess> {
    let index = u32::from_be_bytes(*bytes.take(4)?.first_chunk()?);
    let id = match bytes.byte()? {
        VALID => Ok(AccessId::from_bytes(*bytes.take(16)?.first_chunk()?)),
        _ => Err(bytes.text()?.to_owned()),
    };
    Some(NamedAccess { index, id })
}

fn write_optional(bytes: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => {
            bytes.push(PRESENT);
            write_text(bytes, text);
        }
        None => bytes.push(ABSENT),
    }
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("names, passwords and reasons are short");
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// The bytes not yet decoded.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, n: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = u16::from_be_bytes(*self.take(2)?.first_chunk()?);
        str::from_utf8(self.take(length.into())?).ok()
    }

    fn optional(&mut self) -> Option<Option<&'b str>> {
        match self.byte()? {
            ABSENT => Some(None),
            _ => self.text().map(Some),
        }
    }
}

#[cfg(test)]
mod tests;
