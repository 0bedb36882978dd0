use proptest::prelude::*;

use super::*;
use crate::event::audit::{RefusalEntry, RefusalReason, SetupEntry, SetupObject, TokenEntry};

fn state() -> impl Strategy<Value = AccessState> {
    let time =
        || (0_i64..4_000_000_000_000).prop_map(|it| Timestamp::from_millisecond(it).unwrap());
    let labels = prop_oneof![Just(""), Just("\nsite=hamburg\n"), Just("\na=b\nteam=north\n")];
    let labels = labels.prop_map(|text| Labels::from_stored(text).unwrap());
    let status = prop::sample::select(Status::ALL.to_vec());
    (
        prop::option::of(status),
        prop::option::of(time()),
        prop::option::of(prop::option::of(time())),
        prop::option::of(labels),
    )
        .prop_map(|(status, start, end, labels)| AccessState { status, start, end, labels })
}

fn origin() -> impl Strategy<Value = Origin> {
    let cause = prop_oneof![
        "[a-zé]{0,9}".prop_map(Cause::Request),
        any::<[u8; 16]>().prop_map(|it| Cause::Task(TaskId::from_bytes(it))),
        Just(Cause::Expiry),
        "[a-z]{0,9}".prop_map(Cause::Check),
        Just(Cause::Server),
        Just(Cause::Command),
    ];
    (cause, ".{0,40}", "[0-9.]{0,15}").prop_map(|(cause, correlation_id, peer)| Origin {
        cause,
        correlation_id,
        peer,
    })
}

fn stretch() -> impl Strategy<Value = Stretch> {
    let states = prop::collection::vec(state(), 1..4);
    let origins = prop::collection::vec(origin(), 1..4);
    let items = prop::collection::vec((0_u64..500, 1_u64..4, any::<prop::sample::Index>()), 0..200);
    let event_type = prop::sample::select(EventType::CHANGES.to_vec());
    (event_type, 0_u8..64, states, origins, items, 0_u64..1 << 40).prop_map(
        |(event_type, changed, states, origins, mut items, from)| {
            items.sort_by_key(|(number, ..)| *number);
            let items = items.into_iter().map(|(number, version, index)| StretchItem {
                number: from + number,
                version,
                state: index.index(states.len()),
                origin: index.index(origins.len()),
            });
            let items = items.collect();
            Stretch { event_type, changed: ChangedFields(changed), items, states, origins }
        },
    )
}

fn task() -> impl Strategy<Value = TaskEntry> {
    let state = prop::sample::select(TaskState::ALL.to_vec());
    (any::<[u8; 16]>(), state, any::<[u32; 3]>(), origin()).prop_map(|(id, state, n, origin)| {
        TaskEntry {
            id: TaskId::from_bytes(id),
            work: "batchCreation".to_owned(),
            state,
            n_items: n[0],
            n_succeeded: n[1],
            n_failed: n[2],
            origin,
        }
    })
}

fn of_audit() -> impl Strategy<Value = Entry> {
    let time = || (0_i64..1 << 42).prop_map(|it| Timestamp::from_millisecond(it).unwrap());
    let object = prop::sample::select(SetupObject::ALL.to_vec());
    let record = || prop::option::of(".{0,40}");
    let setup = (object, ".{0,9}", record(), record(), origin()).prop_map(
        |(object, id, before, after, origin)| {
            Entry::Setup(SetupEntry { object, id, before, after, origin })
        },
    );
    let texts = [".{0,9}", "[a-z ]{0,9}", "[a-z: ]{0,9}", "[0-9a-f-]{0,36}"];
    let tokens = (texts, any::<u64>(), time(), time(), origin()).prop_map(
        |([subject, tenants, scopes, id], n, since, expires, origin)| {
            let entry = TokenEntry { subject, tenants, scopes, id, n, since, expires, origin };
            Entry::Tokens(entry)
        },
    );
    let reason = prop::sample::select(RefusalReason::ALL.to_vec());
    let refusals = (reason, ".{0,9}", any::<u64>(), time(), origin()).prop_map(
        |(reason, client, n, since, origin)| {
            Entry::Refusals(RefusalEntry { reason, client, n, since, origin })
        },
    );
    let revoked = (".{0,9}", origin()).prop_map(|(id, origin)| Entry::TokenRevoke(id, origin));
    prop_oneof![setup, tokens, refusals, revoked]
}

proptest! {
    #[test]
    fn an_entry_is_read_as_it_was_written(
        stretch in stretch(), task in task(), of_audit in of_audit(),
    ) {
        for entry in [Entry::Accesses(stretch), Entry::Task(task), Entry::Start, of_audit] {
            let bytes = entry.encode();
            prop_assert_eq!(Entry::decode(&bytes), Ok(entry));
            prop_assert!(Entry::decode(&bytes[..bytes.len() - 1]).is_err());
            let longer = [bytes.as_slice(), &[0]].concat();
            prop_assert!(Entry::decode(&longer).is_err());
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_another_entry(
        stretch in stretch(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = Entry::Accesses(stretch).encode();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = Entry::decode(&bytes);
    }
}

fn of_numbers(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let state = AccessState { status: Some(Status::Suspended), ..AccessState::default() };
    let items = numbers.map(|number| StretchItem { number, version: 2, state: 0, origin: 0 });
    let stretch = Stretch {
        event_type: EventType::AccessStateChange,
        changed: ChangedFields(ChangedField::Status as u8),
        states: vec![state],
        origins: vec![Origin::of(Cause::Task(TaskId::from_bytes([7; 16])))],
        items: items.collect(),
    };
    Entry::Accesses(stretch).encode()
}

#[test]
fn neighbours_need_a_few_bytes_together_and_scattered_accesses_two_or_three_each() {
    assert!(of_numbers(1_000_000..1_010_000).len() < 50);
    let scattered = of_numbers((1..=1000).map(|n| n * 997));
    assert!(scattered.len() < 3 * 1000 + 50, "{}", scattered.len());
}

#[test]
fn a_stretch_of_too_many_items_is_refused() {
    let mut bytes = vec![ACCESSES, 0, 0, 0, 0];
    put_varint(&mut bytes, STRETCH_ITEMS_MAX as u64 + 1);
    // One run of numbers, which would be all of them.
    put_varint(&mut bytes, 1);
    put_varint(&mut bytes, STRETCH_ITEMS_MAX as u64);
    assert_eq!(Entry::decode(&bytes), Err(InvalidEntry));
}
