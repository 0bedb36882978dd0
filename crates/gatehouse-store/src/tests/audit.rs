//! The audit: who changed the setup, in order and in a chain, and what outlives a tenant.

use gatehouse_core::event::audit::{RefusalEntry, RefusalReason, SetupObject};
use gatehouse_core::event::{Entry, EventType};

use super::journal::{key, number_all, run};
use super::*;
use crate::journal::feed::{EventFilter, NoEvents};
use crate::journal::unfolding::{Event, EventSubject};
use crate::journal::verification::{ChainBreak, JournalHead};
use crate::{Journal, JournalKind};

async fn events(store: &Store, journal: &Journal) -> Vec<Event> {
    number_all(store).await;
    let page = store.events_in(journal, Some(0), 1000, &EventFilter::default()).await;
    page.unwrap().unwrap().events
}

/// A store on which a server has started.
async fn begun(case: &Case) -> &Store {
    while !case.store.begin_journals(&key()).await.unwrap() {
        case.clock.set(case.clock.now().plus_milliseconds(60_000));
    }
    &case.store
}

fn types(events: &[Event]) -> Vec<EventType> {
    events.iter().map(|event| event.event_type).collect()
}

fn audit() -> Journal {
    Journal::Audit(acme())
}

/// By a subject, with the objects as these texts.
fn by<T>(subject: &str, record: fn(&T) -> String) -> Audited<T> {
    Audited { origin: Origin::of(Cause::Request(subject.to_owned())), record }
}

#[tokio::test]
async fn every_change_of_the_setup_is_in_the_audit_of_its_tenant() {
    for case in stores("audit_of_the_setup").await {
        let store = begun(&case).await;
        let ann = by("ann", |tenant: &Tenant| tenant.time_zone.as_str().to_owned());
        let tokyo = Tenant { time_zone: "Asia/Tokyo".parse().unwrap(), ..tenant("acme") };
        store.put_tenant(&tenant("acme"), &ann).await.unwrap();
        store.put_tenant(&tokyo, &ann).await.unwrap();
        store.put_tenant(&tokyo, &ann).await.unwrap();
        let bob = by("bob", |contract: &Contract| contract.offering_id.to_string());
        let (one, two) = (contract("c1", "o1"), contract("c1", "o2"));
        store.put_contract(&acme(), &one, &bob).await.unwrap().unwrap();
        store.put_contract(&acme(), &two, &bob).await.unwrap().unwrap();
        store.delete_contract(&acme(), &one.id, &bob).await.unwrap().unwrap().unwrap();
        assert_eq!(store.delete_contract(&acme(), &one.id, &bob).await.unwrap(), None);

        let events = events(store, &audit()).await;
        let shown: Vec<_> = events
            .iter()
            .map(|event| {
                let EventSubject::Setup(entry) = &event.subject else { panic!("{event:?}") };
                let Cause::Request(subject) = &event.origin.as_ref().unwrap().cause else {
                    panic!("{event:?}")
                };
                let record = |it: &Option<String>| it.clone().unwrap_or_default();
                (event.event_type, subject.as_str(), record(&entry.before), record(&entry.after))
            })
            .collect();
        let text = |it: &str| it.to_owned();
        let expected = [
            (EventType::TenantCreate, "ann", text(""), text("Europe/Berlin")),
            (
                EventType::TenantAttributeValueChange,
                "ann",
                text("Europe/Berlin"),
                text("Asia/Tokyo"),
            ),
            (EventType::ContractCreate, "bob", text(""), text("o1")),
            (EventType::ContractAttributeValueChange, "bob", text("o1"), text("o2")),
            (EventType::ContractDelete, "bob", text("o2"), text("")),
        ];
        assert_eq!(shown, expected, "{}", case.kind);
        let filter = EventFilter { subject: Some("bob".to_owned()), ..EventFilter::default() };
        let of_bob = store.events_in(&audit(), None, 1000, &filter).await.unwrap().unwrap();
        assert_eq!(of_bob.events, events[2..], "{}", case.kind);
        let checked = store.check_journal(&audit(), &key(), None).await.unwrap().unwrap();
        assert_eq!((checked.first_break, checked.n_events), (None, 5), "{}", case.kind);
        // The events of accesses are apart from it.
        assert_eq!(store.last_event(&acme()).await.unwrap(), Some(0), "{}", case.kind);
    }
}

#[tokio::test]
async fn the_audit_of_the_estate_outlives_its_tenants() {
    for case in stores("audit_of_the_estate").await {
        let store = begun(&case).await;
        set_up(store).await;
        store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().unwrap();
        let none = EventFilter::default();
        let gone = store.events_in(&audit(), None, 10, &none).await.unwrap();
        assert_eq!(gone, Err(NoEvents::NotBegun), "{}", case.kind);
        store.put_tenant(&tenant("acme"), &audited()).await.unwrap();
        let estate = events(store, &Journal::EstateAudit).await;
        let expected = [EventType::TenantCreate, EventType::TenantDelete, EventType::TenantCreate];
        assert_eq!(types(&estate), expected, "{}", case.kind);
        let own = events(store, &audit()).await;
        assert_eq!(types(&own), [EventType::TenantCreate], "{}: a new tenant's", case.kind);
        assert_eq!(own[0].number, 1, "{}", case.kind);
        let EventSubject::Setup(deleted) = &estate[1].subject else { panic!("{estate:?}") };
        assert_eq!((deleted.object, deleted.id.as_str()), (SetupObject::Tenant, "acme"));
        assert!(deleted.before.is_some() && deleted.after.is_none(), "{deleted:?}");
    }
}

fn refusal(n: u64) -> Entry {
    let origin = Origin::of(Cause::Request(String::new()));
    let client = String::new();
    Entry::Refusals(RefusalEntry { reason: RefusalReason::Token, client, n, since: day(0), origin })
}

#[tokio::test]
async fn what_belongs_to_no_tenant_is_in_the_audit_of_the_estate() {
    for case in stores("audit_of_none").await {
        set_up(begun(&case).await).await;
        let stranger = Some("zoo".parse().unwrap());
        let entries = vec![(Some(acme()), refusal(1)), (stranger, refusal(2)), (None, refusal(3))];
        case.store.write_audit(entries).await.unwrap();
        let counts = |events: Vec<Event>| -> Vec<u64> {
            let of = |event: Event| match event.subject {
                EventSubject::Refusals(entry) => Some(entry.n),
                _ => None,
            };
            events.into_iter().filter_map(of).collect()
        };
        assert_eq!(counts(events(&case.store, &audit()).await), [1], "{}", case.kind);
        let estate = counts(events(&case.store, &Journal::EstateAudit).await);
        assert_eq!(estate.iter().sum::<u64>(), 5, "{}: {estate:?}", case.kind);
    }
}

#[tokio::test]
async fn a_changed_audit_is_found_by_its_chain() {
    let missing = |from, to| ChainBreak::Missing { from, to };
    for (n, (sql, expected)) in [
        ("DELETE FROM audit WHERE tenant = 'acme' AND first = 1", missing(1, Some(1))),
        ("DELETE FROM audit WHERE tenant = 'acme' AND first > 1", missing(2, None)),
        (
            "UPDATE audit SET at = at + 1 WHERE tenant = 'acme' AND first = 2",
            ChainBreak::Altered { number: 2 },
        ),
        (
            // An entry of the estate's audit is none of a tenant's.
            "UPDATE audit SET mac = (SELECT mac FROM audit WHERE tenant = '*' AND first = 1) \
             WHERE tenant = 'acme' AND first = 1",
            ChainBreak::Altered { number: 1 },
        ),
        ("UPDATE audit_ends SET deleted_to = last, deleted_mac = mac", ChainBreak::Ends),
        ("UPDATE audit_ends SET ends_mac = NULL", ChainBreak::Ends),
        ("UPDATE audit_ends SET mac = ends_mac WHERE tenant = 'acme'", ChainBreak::Ends),
        (
            "UPDATE audit SET first = -1 WHERE tenant = 'acme' AND first = 1",
            ChainBreak::Inserted { number: -1 },
        ),
        (
            "UPDATE audit SET n = 0, mac = entry WHERE tenant = 'acme' AND first = 2",
            ChainBreak::Altered { number: 2 },
        ),
        ("DELETE FROM audit_ends WHERE tenant = 'acme'", ChainBreak::NoEnds),
    ]
    .into_iter()
    .enumerate()
    {
        for case in stores(&format!("audit_tampered_{n}")).await {
            let store = begun(&case).await;
            set_up(store).await;
            number_all(store).await;
            let heads = store.journal_heads().await.unwrap();
            let head = heads.into_iter().find(|head| head.journal == audit()).unwrap();
            assert_eq!(head.number, 4, "{}", case.kind);
            let checked = store.check_journal(&audit(), &key(), Some(&head)).await.unwrap();
            assert_eq!(checked.unwrap().first_break, None, "{}: as it was", case.kind);
            run(store, sql).await;
            let checked = store.check_journal(&audit(), &key(), Some(&head)).await.unwrap();
            assert_eq!(checked.unwrap().first_break, Some(expected), "{}: {sql}", case.kind);
            assert!(store.journals().await.unwrap().contains(&audit()), "{}: {sql}", case.kind);
            // What a server writes afterwards hides nothing.
            store.put_contract(&acme(), &contract("c9", "o9"), &audited()).await.unwrap().unwrap();
            _ = store.number_events(&key()).await;
            let later = store.check_journal(&audit(), &key(), None).await.unwrap().unwrap();
            assert!(later.first_break.is_some(), "{}: {sql}, later", case.kind);
        }
    }
}

#[tokio::test]
async fn a_replaced_audit_is_found_by_a_head_that_was_kept() {
    for case in stores("audit_replaced").await {
        let store = begun(&case).await;
        set_up(store).await;
        number_all(store).await;
        let heads = store.journal_heads().await.unwrap();
        let head = heads.into_iter().find(|head| head.journal == audit()).unwrap();
        for sql in ["audit_ends", "audit"] {
            let sql = format!("DELETE FROM {sql} WHERE tenant = 'acme'");
            run(store, Box::leak(sql.into_boxed_str())).await;
        }
        begun(&case).await;
        number_all(store).await;
        let alone = store.check_journal(&audit(), &key(), None).await.unwrap().unwrap();
        assert_eq!(alone.first_break, None, "{}", case.kind);
        let checked = store.check_journal(&audit(), &key(), Some(&head)).await.unwrap().unwrap();
        let expected = ChainBreak::Replaced { number: 4 };
        assert_eq!(checked.first_break, Some(expected), "{}", case.kind);
    }
}

#[tokio::test]
async fn an_altered_entry_is_not_deleted_for_the_age_that_it_was_given() {
    for case in stores("audit_made_old").await {
        let store = begun(&case).await;
        set_up(store).await;
        number_all(store).await;
        run(store, "UPDATE audit SET at = 0 WHERE tenant = 'acme' AND first <= 2").await;
        while store.delete_old_events(JournalKind::Audit, day(-400), &key()).await.unwrap() {}
        let checked = store.check_journal(&audit(), &key(), None).await.unwrap().unwrap();
        let expected = Some(ChainBreak::Altered { number: 1 });
        assert_eq!((checked.first_break, checked.deleted_to), (expected, 0), "{}", case.kind);
    }
}

#[tokio::test]
async fn a_tenant_that_fails_holds_up_no_other_entry() {
    for case in stores("audit_partly").await {
        let store = begun(&case).await;
        set_up(store).await;
        store.put_tenant(&tenant("zoo"), &audited()).await.unwrap();
        number_all(store).await;
        run(store, "UPDATE audit_ends SET mac = ends_mac, last = -1 WHERE tenant = 'acme'").await;
        let zoo: TenantName = "zoo".parse().unwrap();
        let entries = vec![(Some(acme()), refusal(1)), (Some(zoo.clone()), refusal(2))];
        let (left, _) = store.write_audit(entries).await.unwrap_err();
        assert_eq!(left, [(Some(acme()), refusal(1))], "{}", case.kind);
        let zoo = Journal::Audit(zoo);
        _ = store.number_events(&key()).await;
        let page = store.events_in(&zoo, Some(0), 10, &EventFilter::default()).await;
        let types = types(&page.unwrap().unwrap().events);
        assert_eq!(types, [EventType::TenantCreate, EventType::Refusal], "{}", case.kind);
    }
}

#[tokio::test]
async fn servers_that_begin_journals_together_lose_nothing_of_them() {
    for case in stores("audit_begun_by_two").await {
        set_up(&case.store).await;
        for sql in ["DELETE FROM journal", "DELETE FROM event_new"] {
            create(&case.store).await;
            run(&case.store, sql).await;
        }
        case.store.begin_journals(&key()).await.unwrap();
        case.clock.set(case.clock.now().plus_milliseconds(60_000));
        let key = &key();
        let (one, two) =
            tokio::join!(case.store.begin_journals(key), case.store.begin_journals(key));
        assert!(one.unwrap() && two.unwrap(), "{}", case.kind);
        let changes = events(&case.store, &Journal::Changes(acme())).await;
        assert_eq!(types(&changes), [EventType::JournalStart], "{}", case.kind);
        for journal in [audit(), Journal::EstateAudit] {
            let starts = events(&case.store, &journal).await;
            let n = types(&starts).iter().filter(|it| **it == EventType::JournalStart).count();
            assert_eq!(n, 1, "{}: {starts:?}", case.kind);
        }
    }
}

#[tokio::test]
async fn journals_that_an_older_program_has_written_are_signed_when_the_audit_begins() {
    for case in stores("audit_signs_older").await {
        let store = &case.store;
        set_up(store).await;
        create(store).await;
        number_all(store).await;
        // As a program before the audit leaves them.
        run(store, "UPDATE journal SET ends_mac = NULL").await;
        let changes = Journal::Changes(acme());
        let checked = store.check_journal(&changes, &key(), None).await.unwrap().unwrap();
        assert_eq!(checked.first_break, None, "{}: an upgrade is under way", case.kind);
        begun(&case).await;
        let checked = store.check_journal(&changes, &key(), None).await.unwrap().unwrap();
        assert_eq!((checked.first_break, checked.last), (None, 1), "{}", case.kind);
        run(store, "UPDATE journal SET ends_mac = NULL").await;
        let checked = store.check_journal(&changes, &key(), None).await.unwrap().unwrap();
        assert_eq!(checked.first_break, Some(ChainBreak::Ends), "{}", case.kind);
    }
}

async fn create(store: &Store) {
    static DRAWN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let n = DRAWN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    store.create_access(&acme(), new("c1", &format!("a{n}"))).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_tenant_of_a_name_that_was_used_before_begins_with_nothing() {
    for case in stores("audit_reused_name").await {
        let store = begun(&case).await;
        set_up(store).await;
        number_all(store).await;
        // An older program deletes a tenant without its audit.
        run(store, "DELETE FROM tenant WHERE tenant = 'acme'").await;
        run(store, "DELETE FROM counter WHERE tenant = 'acme'").await;
        store.write_audit(vec![(Some(acme()), refusal(7))]).await.unwrap();
        store.put_tenant(&tenant("acme"), &audited()).await.unwrap();
        let own = events(store, &audit()).await;
        assert_eq!(types(&own), [EventType::TenantCreate], "{}", case.kind);
    }
}

#[tokio::test]
async fn a_kept_head_is_compared_with_the_event_that_it_names() {
    for case in stores("audit_kept_head").await {
        let store = begun(&case).await;
        set_up(store).await;
        number_all(store).await;
        let heads = store.journal_heads().await.unwrap();
        let kept = heads.into_iter().find(|head| head.journal == audit()).unwrap();
        store.put_contract(&acme(), &contract("c9", "o9"), &audited()).await.unwrap().unwrap();
        number_all(store).await;
        let found = async |head: &JournalHead| {
            let checked = store.check_journal(&audit(), &key(), Some(head)).await;
            checked.unwrap().unwrap().first_break
        };
        assert_eq!(found(&kept).await, None, "{}: it has grown", case.kind);
        let other = JournalHead { mac: [7; 32], ..kept.clone() };
        assert_eq!(found(&other).await, Some(ChainBreak::Replaced { number: 4 }), "{}", case.kind);
        let later = JournalHead { number: 9, ..kept.clone() };
        assert_eq!(found(&later).await, Some(ChainBreak::Replaced { number: 9 }), "{}", case.kind);
        // Entries that are older than the audit is kept can't be compared, those at its beginning can.
        case.clock.set(day(500));
        while store.delete_old_events(JournalKind::Audit, day(400), &key()).await.unwrap() {}
        let last = JournalHead { number: 5, ..other.clone() };
        assert_eq!(found(&kept).await, None, "{}", case.kind);
        assert_eq!(found(&last).await, Some(ChainBreak::Replaced { number: 5 }), "{}", case.kind);
    }
}

#[tokio::test]
async fn an_audit_that_is_younger_than_its_store_says_so() {
    for case in stores("audit_begun").await {
        let store = begun(&case).await;
        set_up(store).await;
        for sql in ["DELETE FROM audit_ends", "DELETE FROM audit_new"] {
            run(store, sql).await;
        }
        begun(&case).await;
        for journal in [audit(), Journal::EstateAudit] {
            let events = events(store, &journal).await;
            assert_eq!(types(&events), [EventType::JournalStart], "{}: {journal:?}", case.kind);
        }
        store.put_tenant(&tenant("zoo"), &audited()).await.unwrap();
        let zoo = events(store, &Journal::Audit("zoo".parse().unwrap())).await;
        assert_eq!(types(&zoo), [EventType::TenantCreate], "{}", case.kind);
    }
}
