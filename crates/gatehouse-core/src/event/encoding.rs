//! The bytes of a journal entry.
//!
//! ```text
//! 1 accesses:  type, changed fields, states, origins,
//!              numbers as runs (distance to the run before, length - 1),
//!              versions, states and origins of the items as (value, repetitions - 1)
//! 2 Task:      ID, state, items, succeeded, failed, work, origin
//! 3 start
//! ```
//!
//! Those of the audit are in `encoding/audit.rs`.
//!
//! Numbers are varints: seven bits in a byte, the lowest first, and the eighth bit says that more follow. Texts come
//! behind their length. So a stretch of neighbours that changed in one way needs a few bytes whatever its size, and
//! scattered accesses need two or three bytes each.

mod audit;

use super::{
    AccessState, Cause, ChangedField, ChangedFields, Entry, EventType, Origin, Stretch,
    StretchItem, TaskEntry,
};
use crate::access::Status;
use crate::ids::TaskId;
use crate::label::Labels;
use crate::task::TaskState;
use crate::time::Timestamp;

/// Bytes that are not a journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the bytes of a journal entry")]
pub struct InvalidEntry;

const ACCESSES: u8 = 1;
const TASK: u8 = 2;
const START: u8 = 3;
const SETUP: u8 = 4;
const TOKENS: u8 = 5;
const TOKEN_REVOKE: u8 = 6;
const REFUSALS: u8 = 7;

/// Items that one stretch has at most, so that damaged bytes can't ask for any amount of memory.
pub const STRETCH_ITEMS_MAX: usize = 1 << 20;

impl Entry {
    /// The bytes to store.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Accesses(stretch) => {
                bytes.push(ACCESSES);
                put_stretch(&mut bytes, stretch);
            }
            Self::Task(task) => {
                bytes.push(TASK);
                bytes.extend(task.id.as_bytes());
                bytes.push(index_in(&TaskState::ALL, &task.state));
                for n in [task.n_items, task.n_succeeded, task.n_failed] {
                    put_varint(&mut bytes, n.into());
                }
                put_text(&mut bytes, &task.work);
                put_origin(&mut bytes, &task.origin);
            }
            Self::Start => bytes.push(START),
            Self::Setup(entry) => {
                bytes.push(SETUP);
                audit::put_setup(&mut bytes, entry);
            }
            Self::Tokens(entry) => {
                bytes.push(TOKENS);
                audit::put_tokens(&mut bytes, entry);
            }
            Self::TokenRevoke(id, origin) => {
                bytes.push(TOKEN_REVOKE);
                put_text(&mut bytes, id);
                put_origin(&mut bytes, origin);
            }
            Self::Refusals(entry) => {
                bytes.push(REFUSALS);
                audit::put_refusals(&mut bytes, entry);
            }
        }
        bytes
    }

    /// Reads stored bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, InvalidEntry> {
        let mut reader = Reader(bytes);
        let entry = match reader.byte()? {
            ACCESSES => Self::Accesses(reader.stretch()?),
            TASK => Self::Task(reader.task()?),
            START => Self::Start,
            SETUP => Self::Setup(reader.setup()?),
            TOKENS => Self::Tokens(reader.tokens()?),
            TOKEN_REVOKE => Self::TokenRevoke(reader.text()?.to_owned(), reader.origin()?),
            REFUSALS => Self::Refusals(reader.refusals()?),
            _ => return Err(InvalidEntry),
        };
        if reader.0.is_empty() { Ok(entry) } else { Err(InvalidEntry) }
    }
}

fn put_stretch(bytes: &mut Vec<u8>, stretch: &Stretch) {
    bytes.push(index_in(&EventType::CHANGES, &stretch.event_type));
    bytes.push(stretch.changed.0);
    put_varint(bytes, stretch.states.len() as u64);
    stretch.states.iter().for_each(|state| put_state(bytes, state));
    put_varint(bytes, stretch.origins.len() as u64);
    stretch.origins.iter().for_each(|origin| put_origin(bytes, origin));
    put_varint(bytes, stretch.items.len() as u64);
    let mut end = 0;
    for run in stretch.items.chunk_by(|one, next| next.number == one.number + 1) {
        let [first, .., last] = [&run[0], &run[run.len() - 1]];
        put_varint(bytes, first.number - end);
        put_varint(bytes, last.number - first.number);
        end = last.number;
    }
    put_repeated(bytes, stretch.items.iter().map(|item| item.version));
    put_repeated(bytes, stretch.items.iter().map(|item| item.state as u64));
    put_repeated(bytes, stretch.items.iter().map(|item| item.origin as u64));
}

fn put_repeated(bytes: &mut Vec<u8>, values: impl Iterator<Item = u64>) {
    let mut repeated: Option<(u64, u64)> = None;
    let mut put = |(value, n): (u64, u64)| {
        put_varint(bytes, value);
        put_varint(bytes, n);
    };
    for value in values {
        match &mut repeated {
            Some((last, n)) if *last == value => *n += 1,
            last => {
                last.replace((value, 0)).into_iter().for_each(&mut put);
            }
        }
    }
    repeated.into_iter().for_each(put);
}

/// Fields that a state has, as bits of one byte; an end has another bit where it is known that there is none.
const NO_END: u8 = 128;

fn put_state(bytes: &mut Vec<u8>, state: &AccessState) {
    let bit = |field: ChangedField, is_known| if is_known { field as u8 } else { 0 };
    bytes.push(
        bit(ChangedField::Status, state.status.is_some())
            | bit(ChangedField::Start, state.start.is_some())
            | bit(ChangedField::End, matches!(state.end, Some(Some(_))))
            | if state.end == Some(None) { NO_END } else { 0 }
            | bit(ChangedField::Labels, state.labels.is_some()),
    );
    bytes.extend(state.status.map(|status| index_in(&Status::ALL, &status)));
    for time in [state.start, state.end.flatten()].into_iter().flatten() {
        bytes.extend(time.as_millisecond().to_be_bytes());
    }
    if let Some(labels) = &state.labels {
        put_text(bytes, labels.stored().unwrap_or_default());
    }
}

fn put_origin(bytes: &mut Vec<u8>, origin: &Origin) {
    match &origin.cause {
        Cause::Request(subject) => {
            bytes.push(1);
            put_text(bytes, subject);
        }
        Cause::Task(id) => {
            bytes.push(2);
            bytes.extend(id.as_bytes());
        }
        Cause::Expiry => bytes.push(3),
        Cause::Check(subject) => {
            bytes.push(4);
            put_text(bytes, subject);
        }
        Cause::Server => bytes.push(5),
        Cause::Command => bytes.push(6),
    }
    put_text(bytes, &origin.correlation_id);
    put_text(bytes, &origin.peer);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

fn put_varint(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

/// Position in a list of all values, which is short.
fn index_in<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|it| it == value).unwrap_or_default() as u8
}

/// Bytes that are still to read. Everything is checked, since stored bytes may be damaged.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8], InvalidEntry> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(InvalidEntry)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InvalidEntry> {
        self.take(N)?.try_into().map_err(|_| InvalidEntry)
    }

    fn byte(&mut self) -> Result<u8, InvalidEntry> {
        self.array().map(|[byte]| byte)
    }

    fn varint(&mut self) -> Result<u64, InvalidEntry> {
        let mut n = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(InvalidEntry)
    }

    /// A number of things that need a byte each at least.
    fn count(&mut self) -> Result<usize, InvalidEntry> {
        let n = usize::try_from(self.varint()?).map_err(|_| InvalidEntry)?;
        if n <= self.0.len() { Ok(n) } else { Err(InvalidEntry) }
    }

    fn count_u32(&mut self) -> Result<u32, InvalidEntry> {
        self.varint()?.try_into().map_err(|_| InvalidEntry)
    }

    fn text(&mut self) -> Result<&'b str, InvalidEntry> {
        let n = self.count()?;
        std::str::from_utf8(self.take(n)?).map_err(|_| InvalidEntry)
    }

    fn time(&mut self) -> Result<Timestamp, InvalidEntry> {
        let milliseconds = i64::from_be_bytes(self.array()?);
        Timestamp::from_millisecond(milliseconds).map_err(|_| InvalidEntry)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Result<T, InvalidEntry> {
        all.get(usize::from(self.byte()?)).copied().ok_or(InvalidEntry)
    }

    fn many<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, InvalidEntry>,
    ) -> Result<Vec<T>, InvalidEntry> {
        let n = self.count()?;
        (0..n).map(|_| one(self)).collect()
    }

    fn stretch(&mut self) -> Result<Stretch, InvalidEntry> {
        let event_type = self.one_of(&EventType::CHANGES)?;
        let changed = ChangedFields(self.byte()?);
        let states = self.many(Self::state)?;
        let origins = self.many(Self::origin)?;
        let n = usize::try_from(self.varint()?).map_err(|_| InvalidEntry)?;
        if n > STRETCH_ITEMS_MAX {
            return Err(InvalidEntry);
        }
        let numbers = self.numbers(n)?;
        let versions = self.repeated(n, u64::MAX)?;
        let states_of = self.repeated(n, states.len() as u64)?;
        let origins_of = self.repeated(n, origins.len() as u64)?;
        let items = numbers.into_iter().zip(versions).zip(states_of.into_iter().zip(origins_of));
        let items = items.map(|((number, version), (state, origin))| StretchItem {
            number,
            version,
            state: state as usize,
            origin: origin as usize,
        });
        Ok(Stretch { event_type, changed, items: items.collect(), states, origins })
    }

    fn numbers(&mut self, n: usize) -> Result<Vec<u64>, InvalidEntry> {
        let (mut numbers, mut end) = (Vec::new(), 0_u64);
        while numbers.len() < n {
            let first = end.checked_add(self.varint()?).ok_or(InvalidEntry)?;
            let last = first.checked_add(self.varint()?).ok_or(InvalidEntry)?;
            if last - first >= (n - numbers.len()) as u64 {
                return Err(InvalidEntry);
            }
            numbers.extend(first..=last);
            end = last;
        }
        Ok(numbers)
    }

    /// Values below a limit.
    fn repeated(&mut self, n: usize, limit: u64) -> Result<Vec<u64>, InvalidEntry> {
        let mut values = Vec::new();
        while values.len() < n {
            let (value, n_more) = (self.varint()?, self.varint()?);
            if value >= limit || n_more >= (n - values.len()) as u64 {
                return Err(InvalidEntry);
            }
            values.extend(std::iter::repeat_n(value, n_more as usize + 1));
        }
        Ok(values)
    }

    fn state(&mut self) -> Result<AccessState, InvalidEntry> {
        let known = ChangedFields(self.byte()?);
        let status = match known.have(ChangedField::Status) {
            true => Some(self.one_of(&Status::ALL)?),
            false => None,
        };
        let start = known.have(ChangedField::Start).then(|| self.time()).transpose()?;
        let end = match known.have(ChangedField::End) {
            true => Some(Some(self.time()?)),
            false => (known.0 & NO_END != 0).then_some(None),
        };
        let labels = match known.have(ChangedField::Labels) {
            true => Some(Labels::from_stored(self.text()?).ok_or(InvalidEntry)?),
            false => None,
        };
        Ok(AccessState { status, start, end, labels })
    }

    fn origin(&mut self) -> Result<Origin, InvalidEntry> {
        let cause = match self.byte()? {
            1 => Cause::Request(self.text()?.to_owned()),
            2 => Cause::Task(TaskId::from_bytes(self.array()?)),
            3 => Cause::Expiry,
            4 => Cause::Check(self.text()?.to_owned()),
            5 => Cause::Server,
            6 => Cause::Command,
            _ => return Err(InvalidEntry),
        };
        let (correlation_id, peer) = (self.text()?.to_owned(), self.text()?.to_owned());
        Ok(Origin { cause, correlation_id, peer })
    }

    fn task(&mut self) -> Result<TaskEntry, InvalidEntry> {
        Ok(TaskEntry {
            id: TaskId::from_bytes(self.array()?),
            state: self.one_of(&TaskState::ALL)?,
            n_items: self.count_u32()?,
            n_succeeded: self.count_u32()?,
            n_failed: self.count_u32()?,
            work: self.text()?.to_owned(),
            origin: self.origin()?,
        })
    }
}

#[cfg(test)]
mod tests;
