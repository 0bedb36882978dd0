//! Every method of finding a page, compared with a plain scan of all accesses.

use super::*;
use crate::access::list::Listed;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, FILTER_FIELDS};
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::list::ListPath;
use gatehouse_core::list::request::{ListOrder, ListRequest};
use gatehouse_core::{Access, PageRequest, Status, TaskId};
use gatehouse_testing::SeededRandom;
use std::sync::Arc;

fn job(n: u64) -> TaskId {
    TaskId::from_bytes([n as u8 + 1; 16])
}

/// A random access: contracts, jobs, names and times in every mixture.
fn drawn(random: &mut SeededRandom, n: u64) -> NewAccess {
    let contract = random.pick(&["c1", "c2", "c3", "late"]);
    // A job belongs to one contract.
    let job_of = ["c1", "c2", "c3", "late"].iter().position(|it| it == contract).unwrap() as u64;
    NewAccess {
        device_name: (random.roll(3) == 0).then(|| format!("n{}", random.roll(6)).parse().unwrap()),
        created_by: (random.roll(2) == 0).then(|| job(job_of * 2 + random.roll(2))),
        ..new(contract, &format!("n{n}"))
    }
}

fn drawn_query(random: &mut SeededRandom) -> String {
    let n_alternatives = 1 + random.roll(4);
    let alternatives = (0..n_alternatives).map(|_| {
        let n_conditions = 1 + random.roll(3);
        let conditions = (0..n_conditions).map(|_| drawn_condition(random));
        conditions.collect::<Vec<_>>().join("&")
    });
    alternatives.collect::<Vec<_>>().join(";")
}

fn drawn_condition(random: &mut SeededRandom) -> String {
    let compared = *random.pick(&["=", "%3E=", "%3C=", "%3E=", "%3C="]);
    let time = (day(0).as_millisecond() + random.roll(400) as i64 * 1000).to_string();
    let time = Timestamp::from_millisecond(time.parse().unwrap()).unwrap();
    match random.roll(20) {
        0..=2 => format!("contractId={}", random.pick(&["c1", "c2", "c3", "late", "none"])),
        3 | 4 => format!("productOfferingId={}", random.pick(&["o1", "o2", "none"])),
        5 | 6 => format!("createdBy={}", job(random.roll(9))),
        7 => format!("username=n{}", random.roll(150)),
        8 | 14 | 15 => format!("name=n{}", random.roll(12)),
        9 => format!("startDateTime{compared}{}", random.pick(&[time, day(10)])),
        16..=19 => format!("status={}", random.pick(&Status::WORDS)),
        10 => format!("endDateTime{compared}{}", random.pick(&[time, day(30)])),
        _ => format!("createdAt{compared}{time}"),
    }
}

fn filter(query: &str) -> AccessFilter {
    let expression = Expression::parse(query, &FILTER_FIELDS);
    assert_eq!(expression.ignored, [], "{query}");
    AccessFilter::read(&expression).unwrap()
}

async fn list(store: &Store, query: &str, number: u64, size: u64) -> Listed {
    let request = PageRequest { number, size };
    store.accesses(&acme(), &filter(query), request.into()).await.unwrap().unwrap()
}

/// Whether a query may need a scan.
fn may_count(query: &str) -> bool {
    ["name=", "startDateTime", "endDateTime"].iter().any(|word| {
        // `username=` ends in `name=` as well.
        query.replace("username=", "").contains(word)
    })
}

fn naive(population: &[Access], query: &str, now: Timestamp) -> Vec<AccessId> {
    let filter = filter(query);
    let passes = |it: &&Access| filter.passes(&lifecycle::at(it, now));
    population.iter().filter(passes).map(|it| it.id).collect()
}

fn ids(listed: &Listed) -> Vec<AccessId> {
    listed.page.items.iter().map(|access| access.id).collect()
}

async fn set_up_for_lists(store: &Store) {
    set_up(store).await;
    let late = Contract { start: Some(day(10)), end: Some(day(30)), ..contract("late", "o2") };
    store.put_contract(&acme(), &late, &audited()).await.unwrap().unwrap();
}

#[tokio::test]
async fn every_page_equals_a_scan_of_all_accesses() {
    for case in stores("every_page_is_what_a_look").await {
        set_up_for_lists(&case.store).await;
        let (mut random, mut of_request) = (SeededRandom(7), SeededRandom(8));
        let mut population = Vec::new();
        for n in 0..150 {
            let later = day(0).as_millisecond() + n * 2000 + random.roll(4) as i64 * 500;
            case.clock.set(Timestamp::from_millisecond(later).unwrap());
            let new = drawn(&mut random, n as u64);
            population.push(case.store.create_access(&acme(), new).await.unwrap().unwrap());
        }
        let mut paths = Vec::new();
        for n in 0..600 {
            // At first few accesses have another status than most, and later many.
            if n == 0 || n == 200 {
                let one_of = if n == 0 { 60 } else { 5 };
                for access in population.iter_mut().filter(|it| it.status == Status::Active) {
                    let target = match random.roll(one_of) {
                        0 => TargetStatus::Terminated,
                        1 | 2 => TargetStatus::Suspended,
                        _ => continue,
                    };
                    *access = set_status(&case.store, access.id, target, case.clock.now()).await;
                }
                let n_active = population.iter().filter(|it| it.status == Status::Active).count();
                assert_eq!(n_active > 135, n == 0, "{n_active} of 150 are active");
            }
            if n == 400 {
                // The accesses of a contract have ended, and that is not stored yet.
                case.clock.set(day(31));
            }
            let query = drawn_query(&mut random);
            let expected = naive(&population, &query, case.clock.now());
            let size = 1 + random.roll(40);
            let n_pages = (expected.len() as u64).div_ceil(size);
            for number in [1, 1 + random.roll(n_pages.max(1)), n_pages.max(1), n_pages + 1] {
                let request = ListRequest {
                    page: PageRequest { number, size },
                    order: *of_request.pick(&[ListOrder::OldestFirst, ListOrder::NewestFirst]),
                    with_total: of_request.roll(3) > 0,
                };
                let listed = case.store.accesses(&acme(), &filter(&query), request).await;
                let listed = listed.unwrap().unwrap();
                let mut expected = expected.clone();
                if request.order == ListOrder::NewestFirst {
                    expected.reverse();
                }
                let on_page = expected.chunks(size as usize).nth(number as usize - 1);
                let context = format!("{}: {request:?}: {query}", case.kind);
                assert_eq!(ids(&listed), on_page.unwrap_or_default(), "{context}");
                if request.with_total {
                    assert_eq!(listed.page.total, expected.len() as u64, "{context}");
                } else {
                    let last = request.page.last(listed.page.total);
                    assert_eq!(number < last, number < n_pages, "{context}");
                }
                assert!(listed.path != ListPath::Counted || may_count(&query), "{context}");
                paths.push(listed.path);
            }
        }
        for path in [ListPath::Interval, ListPath::Merged, ListPath::Sets, ListPath::Counted] {
            assert!(
                paths.iter().filter(|it| **it == path).count() > 50,
                "{path:?} was rarely tried"
            );
        }
    }
}

#[tokio::test]
async fn each_kind_of_filter_takes_its_path() {
    #[rustfmt::skip]
    let cases = [
        ("",                                                      ListPath::Interval),
        ("contractId=c1",                                         ListPath::Interval),
        ("productOfferingId=o1",                                  ListPath::Interval),
        ("createdBy=job-01010101-0101-0101-0101-010101010101",    ListPath::Interval),
        ("contractId=c1&productOfferingId=o1",                    ListPath::Interval),
        ("contractId=c1&productOfferingId=o2",                    ListPath::Interval),
        ("createdAt%3E=2027-01-15&createdAt%3C2030-01-01",        ListPath::Interval),
        ("contractId=c1&createdAt%3E=2027-01-15",                 ListPath::Interval),
        ("username=n1",                                           ListPath::Interval),
        ("username=n1;username=n2",                               ListPath::Interval),
        ("username=n1&name=n1&endDateTime=2027-01-15",            ListPath::Interval),
        ("contractId=c1;productOfferingId=o1",                    ListPath::Interval),
        ("contractId=c1;createdAt%3E=2020-01-01",                 ListPath::Interval),
        ("contractId=c1;contractId=c2",                           ListPath::Merged),
        ("contractId=c1;contractId=c2&createdAt%3E=2020-01-01",   ListPath::Merged),
        ("contractId=c1;productOfferingId=o2",                    ListPath::Merged),
        ("status=ACTIVE",                                         ListPath::Sets),
        ("status=ACTIVE&contractId=c1&createdAt%3E=2020-01-01",   ListPath::Sets),
        ("status=SUSPENDED;contractId=c2;username=n1",            ListPath::Sets),
        ("status=ACTIVE&name=n1",                                 ListPath::Counted),
        ("name=n1",                                               ListPath::Counted),
        ("startDateTime%3E=2020-01-01",                           ListPath::Counted),
        ("contractId=c1&endDateTime%3C2030-01-01",                ListPath::Counted),
        ("contractId=c2;name=n1",                                 ListPath::Counted),
        ("name=n1&contractId=c2;name=n2&productOfferingId=o2",    ListPath::Counted),
        ("name=n1&startDateTime%3E=2020-01-01;name=n2&startDateTime%3C=2040-01-01;name=n3&endDateTime%3E2020-01-01", ListPath::Counted),
    ];
    for case in stores("each_kind_of_filter_takes_its_path").await {
        set_up_for_lists(&case.store).await;
        for (n, contract) in ["c1", "c2", "c3", "c1", "c2", "c3"].into_iter().enumerate() {
            let new = NewAccess {
                created_by: (n == 0).then(|| job(0)),
                ..new(contract, &format!("n{n}"))
            };
            case.store.create_access(&acme(), new).await.unwrap().unwrap();
        }
        for (query, path) in cases {
            assert_eq!(list(&case.store, query, 1, 2).await.path, path, "{}: {query}", case.kind);
        }
    }
}

#[tokio::test]
async fn an_unknown_tenant_has_no_list() {
    for case in stores("an_unknown_tenant_has_no_list").await {
        set_up(&case.store).await;
        let unknown = "unknown".parse().unwrap();
        let request = PageRequest { number: 1, size: 10 };
        for query in ["", "contractId=c1", "name=x", "username=x;contractId=c2"] {
            let listed =
                case.store.accesses(&unknown, &filter(query), request.into()).await.unwrap();
            assert!(listed.is_none(), "{}: {query}", case.kind);
            let empty = list(&case.store, query, 1, 10).await;
            assert_eq!((empty.page.items.len(), empty.page.total), (0, 0), "{}", case.kind);
        }
    }
}

/// A list that was read while others were creating: how many accesses had surely been created before, and how many at
/// most afterwards.
struct Sight {
    query: String,
    request: PageRequest,
    listed: Listed,
    n_before: usize,
    n_after: usize,
}

/// Numbers of creations that have begun, and of those that are complete.
#[derive(Default)]
struct Made {
    n_begun: AtomicU64,
    n_heard: AtomicU64,
    /// Number of lists that were read in between.
    n_sights: AtomicU64,
}

const N_CREATORS: u64 = 4;
const N_EACH: u64 = 75;

async fn create_on_and_on(store: Store, clock: Clock, made: Arc<Made>, creator: u64) {
    let mut random = SeededRandom(creator);
    for n in 0..N_EACH {
        let new = drawn(&mut random, creator * N_EACH + n);
        let n_begun = made.n_begun.fetch_add(1, Ordering::SeqCst);
        clock.set(
            Timestamp::from_millisecond(day(0).as_millisecond() + n_begun as i64 * 1000).unwrap(),
        );
        store.create_access(&acme(), new).await.unwrap().unwrap();
        made.n_heard.fetch_add(1, Ordering::SeqCst);
        // Pauses half-way until some lists were read.
        while n == N_EACH / 2 && made.n_sights.load(Ordering::SeqCst) < 20 {
            tokio::task::yield_now().await;
        }
    }
}

async fn watch(store: Store, made: Arc<Made>, seed: u64) -> Vec<Sight> {
    let mut random = SeededRandom(seed);
    let mut seen = Vec::new();
    let mut n_after_the_end = 0;
    // While others create, and a little longer.
    while n_after_the_end < 20 {
        let query = drawn_query(&mut random);
        let request = PageRequest { number: 1 + random.roll(6), size: 1 + random.roll(30) };
        let n_before = made.n_heard.load(Ordering::SeqCst) as usize;
        let listed = list(&store, &query, request.number, request.size).await;
        let n_after = made.n_begun.load(Ordering::SeqCst) as usize;
        n_after_the_end += usize::from(n_before as u64 == N_CREATORS * N_EACH);
        if n_before > 0 && (n_after as u64) < N_CREATORS * N_EACH {
            made.n_sights.fetch_add(1, Ordering::SeqCst);
        }
        seen.push(Sight { query, request, listed, n_before, n_after });
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lists_hold_while_others_create() {
    for case in stores("lists_hold_while_others_create").await {
        set_up_for_lists(&case.store).await;
        let made = Arc::new(Made::default());
        let creators: Vec<_> = (0..N_CREATORS)
            .map(|n| create_on_and_on(case.store.clone(), case.clock.clone(), made.clone(), n))
            .map(tokio::spawn)
            .collect();
        let watchers: Vec<_> =
            (10..13).map(|n| tokio::spawn(watch(case.store.clone(), made.clone(), n))).collect();
        for creator in creators {
            creator.await.unwrap();
        }
        let everything = list(&case.store, "", 1, 1000).await.page;
        assert_eq!(everything.total, N_CREATORS * N_EACH);
        for watcher in watchers {
            for Sight { query, request, listed, n_before, n_after } in watcher.await.unwrap() {
                let context = format!("{}: {request:?}: {query}", case.kind);
                // Accesses keep their positions: the page is the same in the final list.
                let now = case.clock.now();
                let (expected, total) = (naive(&everything.items, &query, now), listed.page.total);
                let mut pages = expected[..total as usize].chunks(request.size as usize);
                let page = pages.nth(request.number as usize - 1);
                assert_eq!(ids(&listed), page.unwrap_or_default(), "{context}");
                // No access that was created before is missing, and none appears before it is created.
                let at_least = naive(&everything.items[..n_before], &query, now).len() as u64;
                let at_most = naive(&everything.items[..n_after], &query, now).len() as u64;
                assert!((at_least..=at_most).contains(&total), "{context}: {total}");
            }
        }
    }
}
