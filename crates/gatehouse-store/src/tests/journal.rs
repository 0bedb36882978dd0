//! The journal: every change has an event, in order, without gaps, and in a chain.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use gatehouse_core::event::EventType;
use gatehouse_testing::SeededRandom;

use super::*;
use crate::access::changes::ItemChange;
use crate::db::WriteKind;
use crate::journal::feed::{EventFilter, EventPage, NoEvents};
use crate::journal::unfolding::{Event, EventSubject};
use crate::journal::verification::ChainBreak;
use crate::{ChainKey, Journal, JournalKind, Mac};

async fn create(store: &Store, contract: &str, username: &str) -> Access {
    store.create_access(&acme(), new(contract, username)).await.unwrap().unwrap()
}

fn mac(bytes: &[u8]) -> Mac {
    let mut mac = [0; 32];
    for (n, part) in mac.chunks_mut(8).enumerate() {
        let mut hasher = DefaultHasher::new();
        (n, bytes).hash(&mut hasher);
        part.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    mac
}

pub(super) fn key() -> ChainKey {
    ChainKey::new(mac, |bytes, it| mac(bytes) == *it)
}

pub(super) async fn number_all(store: &Store) {
    while store.number_events(&key()).await.unwrap() > 0 {}
}

async fn page(store: &Store, after: Option<u64>, n_max: u64) -> EventPage {
    store.events(&acme(), after, n_max, &EventFilter::default()).await.unwrap().unwrap()
}

async fn every_event(store: &Store, n_max: u64) -> Vec<Event> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let page = page(store, Some(after), n_max).await;
        events.extend(page.events);
        if page.seen_to == page.last {
            return events;
        }
        assert!(page.seen_to > after);
        after = page.seen_to;
    }
}

/// The accesses as a follower of the events knows them: present fields replace those before.
fn followed(events: &[Event]) -> BTreeMap<AccessId, Access> {
    let mut copy: BTreeMap<AccessId, Access> = BTreeMap::new();
    for event in events {
        let EventSubject::Access { access, state, version, .. } = &event.subject else { continue };
        let known =
            copy.entry(access.id).or_insert_with(|| Access { version: 0, ..(**access).clone() });
        let is_first = event.event_type == EventType::AccessCreate;
        assert_eq!(is_first, known.version == 0, "{event:?}");
        assert!(*version == known.version + 1 || *version == known.version, "{event:?}");
        known.version = *version;
        known.status = state.status.unwrap_or(known.status);
        known.start = state.start.unwrap_or(known.start);
        known.end = state.end.unwrap_or(known.end);
        known.labels = state.labels.clone().unwrap_or_else(|| known.labels.clone());
    }
    copy
}

fn shown(access: &Access) -> impl PartialEq + std::fmt::Debug {
    (access.id, access.status, access.start, access.end, access.labels.clone(), access.version)
}

async fn assert_followed(store: &Store, events: &[Event], kind: &str) {
    let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "{kind}");
    let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), events.len(), "{kind}: identifiers");
    let copy = followed(events);
    let all = every_access(store).await;
    assert_eq!(copy.len(), all.len(), "{kind}");
    for access in &all {
        assert_eq!(shown(&copy[&access.id]), shown(access), "{kind}");
    }
    let checked =
        store.check_journal(&Journal::Changes(acme()), &key(), None).await.unwrap().unwrap();
    assert_eq!((checked.first_break, checked.n_events), (None, events.len() as u64), "{kind}");
}

const LONG: std::time::Duration = std::time::Duration::from_secs(60);

/// Suspends or reactivates accesses as a Task does: in one transaction, with one entry for all.
async fn change_many(store: &Store, ids: Vec<AccessId>, target: TargetStatus) {
    let task = gatehouse_core::TaskId::from_bytes([9; 16]);
    let origin = Origin::of(Cause::Task(task));
    let changed = store.db.write(WriteKind::Batch(acme()), async move |tx| {
        let rule: crate::ChangeRule = Arc::new(move |stored, contract, _, now| {
            Ok(lifecycle::set_status(&stored.access, contract, target, now).unwrap())
        });
        let items = ids.iter().map(|id| ItemChange { id: *id, password: None });
        let items: Vec<_> = (0..).zip(items.map(crate::PlannedItem::Do)).collect();
        let timer = crate::task::chunk::ChunkTimer::begin(crate::ChunkLimits {
            requests: LONG,
            batches: LONG,
            journal: LONG,
        });
        crate::access::changes::change_each(&tx, &acme(), &items, &rule, &origin, &timer).await
    });
    changed.await.unwrap();
}

#[tokio::test]
async fn a_follower_of_the_events_has_what_the_store_has() {
    for case in stores("journal_followed").await {
        let store = &case.store;
        set_up(store).await;
        let writers = (0..3_u64).map(|writer| {
            let store = store.clone();
            async move {
                let mut random = SeededRandom(writer);
                let mut mine: Vec<AccessId> = Vec::new();
                for n in 0..40 {
                    match random.roll(4) {
                        0 | 1 => {
                            mine.push(create(&store, "c1", &format!("w{writer}-{n}")).await.id)
                        }
                        _ if mine.is_empty() => {}
                        2 => {
                            let id = mine[random.roll(mine.len() as u64) as usize];
                            let target = [TargetStatus::Suspended, TargetStatus::Active]
                                [random.roll(2) as usize];
                            set_status(&store, id, target, day(0)).await;
                        }
                        _ => change_many(&store, mine.clone(), TargetStatus::Suspended).await,
                    }
                    if random.roll(5) == 0 {
                        number_all(&store).await;
                    }
                }
            }
        });
        futures_util::future::join_all(writers).await;
        number_all(store).await;
        let events = every_event(store, 1000).await;
        assert_followed(store, &events, case.kind).await;
        for n_max in [1, 7] {
            assert_eq!(every_event(store, n_max).await, events, "{}: pages of {n_max}", case.kind);
        }
        for (n, access) in (1..).zip(every_access(store).await) {
            let of_access = |event: &&Event| match &event.subject {
                EventSubject::Access { access: it, .. } => it.id == access.id,
                _ => false,
            };
            let expected: Vec<Event> = events.iter().filter(of_access).cloned().collect();
            let history = store.history(&acme(), n, 0, 1000).await.unwrap().unwrap();
            assert_eq!(history.events, expected, "{}", case.kind);
            let filter = EventFilter { access: Some(access.id), ..EventFilter::default() };
            let filtered = store.events(&acme(), None, 1000, &filter).await.unwrap().unwrap();
            assert_eq!(filtered.events, expected, "{}", case.kind);
            let first = store.history(&acme(), n, 0, 1).await.unwrap().unwrap();
            let rest = store.history(&acme(), n, first.seen_to, 1000).await.unwrap().unwrap();
            assert_eq!([first.events, rest.events].concat(), expected, "{}", case.kind);
        }
    }
}

/// Three accesses, one of which was suspended: four entries.
async fn with_four_entries(store: &Store) {
    set_up(store).await;
    let mut made = Vec::new();
    for name in ["ann", "bob", "cid"] {
        made.push(create(store, "c1", name).await.id);
    }
    set_status(store, made[1], TargetStatus::Suspended, day(0)).await;
    number_all(store).await;
}

pub(super) async fn run(store: &Store, sql: &'static str) {
    let done = store.db.write(WriteKind::Server, async move |tx| tx.execute(sql, &[]).await);
    assert!(done.await.unwrap() > 0, "{sql}");
}

#[tokio::test]
async fn what_is_done_behind_the_servers_back_breaks_the_chain_where_it_was_done() {
    let missing = |from, to| ChainBreak::Missing { from, to };
    for (n, (sql, expected)) in [
        ("DELETE FROM event WHERE first = 2", missing(2, Some(2))),
        ("DELETE FROM event WHERE first = 1", missing(1, Some(1))),
        ("DELETE FROM event WHERE first > 2", missing(3, None)),
        ("UPDATE event SET at = at + 1 WHERE first = 3", ChainBreak::Altered { number: 3 }),
        (
            "UPDATE event SET entry = (SELECT entry FROM event e WHERE e.first = 2) WHERE first = 3",
            ChainBreak::Altered { number: 3 },
        ),
        (
            "INSERT INTO event (tenant, first, n, at, entry, mac) SELECT tenant, 5, n, at, entry, mac \
             FROM event WHERE first = 4",
            ChainBreak::Altered { number: 5 },
        ),
        (
            "UPDATE journal SET last = 3, mac = (SELECT mac FROM event WHERE first = 3)",
            ChainBreak::Inserted { number: 4 },
        ),
    ]
    .into_iter()
    .enumerate()
    {
        for case in stores(&format!("journal_tampered_{n}")).await {
            with_four_entries(&case.store).await;
            run(&case.store, sql).await;
            let checked = case.store.check_journal(&Journal::Changes(acme()), &key(), None).await.unwrap().unwrap();
            assert_eq!(checked.first_break, Some(expected), "{}: {sql}", case.kind);
        }
    }
}

#[tokio::test]
async fn old_events_are_deleted_and_the_others_stay_in_their_chain() {
    for case in stores("journal_pruned").await {
        with_four_entries(&case.store).await;
        case.clock.set(day(10));
        create(&case.store, "c1", "dan").await;
        number_all(&case.store).await;
        while case.store.delete_old_events(JournalKind::Changes, day(5), &key()).await.unwrap() {}
        let none = EventFilter::default();
        let too_old = case.store.events(&acme(), Some(3), 10, &none).await.unwrap();
        assert_eq!(too_old, Err(NoEvents::Deleted { oldest: 5 }), "{}", case.kind);
        for after in [None, Some(4)] {
            let left = page(&case.store, after, 10).await;
            assert_eq!(left.events.len(), 1, "{}", case.kind);
            assert_eq!((left.events[0].number, left.last), (5, 5), "{}", case.kind);
        }
        let ahead = case.store.events(&acme(), Some(6), 10, &none).await.unwrap();
        assert_eq!(ahead, Err(NoEvents::Ahead { last: 5 }), "{}", case.kind);
        let checked = case
            .store
            .check_journal(&Journal::Changes(acme()), &key(), None)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((checked.first_break, checked.n_events), (None, 1), "{}", case.kind);
        while case.store.delete_old_events(JournalKind::Changes, day(20), &key()).await.unwrap() {}
        create(&case.store, "c1", "eve").await;
        number_all(&case.store).await;
        assert_eq!(page(&case.store, None, 10).await.events[0].number, 6, "{}", case.kind);
        let checked = case
            .store
            .check_journal(&Journal::Changes(acme()), &key(), None)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((checked.first_break, checked.n_events), (None, 1), "{}", case.kind);
    }
}

#[tokio::test]
async fn a_store_that_is_older_than_its_journal_says_where_it_begins() {
    for case in stores("journal_begun").await {
        set_up(&case.store).await;
        create(&case.store, "c1", "ann").await;
        run(&case.store, "DELETE FROM journal").await;
        number_all(&case.store).await;
        let none = EventFilter::default();
        let before = case.store.events(&acme(), None, 10, &none).await.unwrap();
        assert_eq!(before, Err(NoEvents::NotBegun), "{}", case.kind);
        assert_eq!(case.store.last_event(&acme()).await.unwrap(), None, "{}", case.kind);
        // On PostgreSQL, a server of an older version might be starting.
        if !case.store.begin_journals(&key()).await.unwrap() {
            assert!(case.store.is_shared(), "{}", case.kind);
            case.clock.set(case.clock.now().plus_milliseconds(60_000));
            assert!(case.store.begin_journals(&key()).await.unwrap(), "{}", case.kind);
        }
        create(&case.store, "c1", "bob").await;
        number_all(&case.store).await;
        let types: Vec<EventType> =
            page(&case.store, None, 10).await.events.iter().map(|it| it.event_type).collect();
        let expected = [EventType::JournalStart, EventType::AccessCreate];
        assert_eq!(types, expected, "{}", case.kind);
    }
}

#[tokio::test]
async fn a_damaged_entry_of_one_tenant_holds_up_no_other() {
    for case in stores("journal_damaged").await {
        set_up(&case.store).await;
        create(&case.store, "c1", "ann").await;
        let zoo: TenantName = "zoo".parse().unwrap();
        case.store.put_tenant(&tenant("zoo"), &audited()).await.unwrap();
        case.store.put_contract(&zoo, &contract("c1", "o1"), &audited()).await.unwrap().unwrap();
        case.store.create_access(&zoo, new("c1", "zed")).await.unwrap().unwrap();
        run(
            &case.store,
            "UPDATE event_new SET entry = (SELECT mac FROM journal WHERE tenant = 'acme') \
                          WHERE tenant = 'acme'",
        )
        .await;
        assert!(case.store.number_events(&key()).await.is_err(), "{}", case.kind);
        assert_eq!(case.store.last_event(&acme()).await.unwrap(), Some(0), "{}", case.kind);
        assert_eq!(case.store.last_event(&zoo).await.unwrap(), Some(1), "{}", case.kind);
    }
}

#[tokio::test]
async fn an_end_that_had_come_is_no_change_of_the_request_that_stores_it() {
    for case in stores("journal_late_end").await {
        set_up(&case.store).await;
        let made = create(&case.store, "c1", "ann").await;
        let ended = Access { end: Some(day(1)), ..made.clone() };
        let origin = |subject: &str| Origin::of(Cause::Request(subject.to_owned()));
        for (now, subject) in [(day(0), "planner"), (day(2), "late")] {
            case.clock.set(now);
            let (planned, tenant) = (ended.clone(), acme());
            let changed =
                case.store.change_access(&tenant, made.id, origin(subject), move |it, _| {
                    let access =
                        if now < day(1) { planned } else { lifecycle::at(&it.access, now) };
                    Ok::<_, StoreError>(Change { access, password: None })
                });
            changed.await.unwrap().unwrap();
        }
        number_all(&case.store).await;
        let events = page(&case.store, Some(1), 10).await.events;
        let causes: Vec<Cause> =
            events.iter().map(|it| it.origin.as_ref().unwrap().cause.clone()).collect();
        let expected = [Cause::Request("planner".to_owned()), Cause::Expiry];
        assert_eq!(causes, expected, "{}: {events:?}", case.kind);
        assert_eq!(events[1].at, day(1), "{}", case.kind);
    }
}
