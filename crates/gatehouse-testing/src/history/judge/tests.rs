//! Tests that the checks accept consistent histories and find contradictions.

use super::super::call::{Answer, Call, Items, Request, Wanted};
use super::super::settled::{Settled, SettledTask};
use super::judge;
use serde_json::{Value, json};

/// Builds a history. Calls follow each other; each takes ten ticks unless a test changes that.
struct HistoryBuilder {
    calls: Vec<Call>,
    settled: Settled,
    now: u64,
}

impl HistoryBuilder {
    /// A history with one access, `a`, with the password `p0`.
    fn new() -> Self {
        let mut history = Self { calls: Vec::new(), settled: Settled::default(), now: 0 };
        history.create("a", Some("key-a"), Answer::Done(access("a")));
        history.settled.accesses.push(shown("a", "ACTIVE", None));
        history
    }

    fn add(&mut self, request: Request, answer: Answer) -> &mut Call {
        let (begin, end) = (self.now + 1, self.now + 10);
        self.now = end;
        self.calls.push(Call { replica: 0, begin, end, tenant: 0, request, answer });
        self.calls.last_mut().unwrap()
    }

    fn create(&mut self, device: &str, key: Option<&str>, answer: Answer) {
        let key = key.map(str::to_owned);
        self.add(Request::Create { device: device.into(), key }, answer);
    }

    fn suspend(&mut self, answer: Answer) -> &mut Call {
        self.change(Wanted { lets_in: Some(false), password: None }, answer)
    }

    fn rotate(&mut self, password: &str, answer: Answer) -> &mut Call {
        self.change(Wanted { lets_in: None, password: Some(password.into()) }, answer)
    }

    fn change(&mut self, wanted: Wanted, answer: Answer) -> &mut Call {
        self.add(Request::Change { access: "a".into(), wanted }, answer)
    }

    fn check(&mut self, password: &str, passes: bool) -> &mut Call {
        let refused = Answer::Refused { status: 401, title: "Credentials refused".into() };
        let answer = if passes { done() } else { refused };
        let (access, username, password) = ("a".into(), "u-a".into(), password.into());
        self.add(Request::Check { access, username, password }, answer)
    }

    fn batch(&mut self, name: &str, items: Items, answer: Answer) {
        self.add(Request::Batch { name: name.into(), key: None, items }, answer);
    }

    fn look(&mut self, state: &str) {
        let shown = json!({"id": "job-1", "state": state});
        self.add(Request::Look { task: "job-1".into() }, Answer::Done(shown));
    }

    /// Adds a batch of two accesses by device, whose Task shows `n_items` items.
    fn listed(&mut self, state: &str, n_items: usize, n_there: usize) {
        let devices = vec!["d0".to_owned(), "d1".to_owned()];
        let items = Items::Listed { devices, failing: None };
        self.batch("b", items, Answer::Done(json!({"id": "job-1", "state": "ACKNOWLEDGED"})));
        self.look(state);
        let item =
            |n| json!({"index": n, "state": "succeeded", "access": {"id": format!("id-d{n}")}});
        self.settled.tasks.push(SettledTask {
            id: "job-1".into(),
            state: state.into(),
            progress: json!({"total": 2, "succeeded": n_items, "failed": 0}),
            items: (0..n_items).map(item).collect(),
        });
        let there = (0..n_there).map(|n| shown(&format!("d{n}"), "ACTIVE", Some("job-1")));
        self.settled.accesses.extend(there);
    }

    fn faults(mut self) -> Vec<String> {
        self.settled.totals = vec![self.settled.accesses.len() as u64];
        judge(&self.calls, &[self.settled])
    }

    fn passes(self) {
        assert_eq!(self.faults(), Vec::<String>::new());
    }

    fn fails(self, why: &str) {
        let faults = self.faults();
        assert!(faults.len() == 1 && faults[0].contains(why), "{why}: {faults:?}");
    }
}

fn access(device: &str) -> Value {
    json!({"id": format!("id-{device}").replace("id-a", "a"), "username": format!("u-{device}"),
           "password": "p0", "deviceName": device, "status": "ACTIVE"})
}

fn shown(device: &str, status: &str, job: Option<&str>) -> Value {
    let mut shown = access(device);
    shown["status"] = status.into();
    shown["createdBy"] = job.into();
    shown
}

fn done() -> Answer {
    Answer::Done(json!({}))
}

#[test]
fn a_consistent_history_has_no_faults() {
    let mut history = HistoryBuilder::new();
    history.check("p0", true);
    history.suspend(done());
    history.check("p0", false);
    history.change(Wanted { lets_in: Some(true), password: Some("p1".into()) }, done());
    history.check("p1", true);
    history.check("p0", false);
    history.listed("DONE", 2, 2);
    history.add(Request::Count, Answer::Done(json!({"total": 3})));
    history.passes();
}

#[test]
fn a_successful_creation_exists() {
    let mut history = HistoryBuilder::new();
    history.create("b", None, Answer::Done(access("b")));
    history.fails("lost: b");
}

#[test]
fn a_creation_with_unknown_outcome_exists_at_most_once() {
    for n in 0..=2 {
        let mut history = HistoryBuilder::new();
        history.create("b", None, Answer::Lost);
        for copy in 0..n {
            let mut access = shown("b", "ACTIVE", None);
            access["id"] = format!("id-b-{copy}").into();
            history.settled.accesses.push(access);
        }
        if n < 2 { history.passes() } else { history.fails("created twice") }
    }
}

#[test]
fn one_key_has_one_response() {
    let mut history = HistoryBuilder::new();
    history.create("a", Some("key-a"), Answer::Done(access("a")));
    history.passes();
    let mut history = HistoryBuilder::new();
    let mut other = access("a");
    other["password"] = "another".into();
    history.create("a", Some("key-a"), Answer::Done(other));
    history.fails("two answers to one key");
}

#[test]
fn a_successful_suspension_holds() {
    let mut history = HistoryBuilder::new();
    history.suspend(done());
    history.check("p0", true).replica = 2;
    history.fails("replica 2 lets in");
}

#[test]
fn a_concurrent_suspension_may_hold_or_not() {
    for passes in [true, false] {
        let mut history = HistoryBuilder::new();
        history.suspend(done()).end += 100;
        history.check("p0", passes);
        history.passes();
    }
}

#[test]
fn the_old_password_fails_and_the_new_one_passes() {
    let mut history = HistoryBuilder::new();
    history.rotate("p1", done());
    history.check("p0", true);
    history.fails("lets in");
    let mut history = HistoryBuilder::new();
    history.rotate("p1", done());
    history.check("p1", false);
    history.fails("doesn't let in");
}

#[test]
fn a_change_with_unknown_outcome_is_possible_until_a_later_success() {
    for answer in [Answer::Lost, Answer::Unavailable { retry_after: Some(1) }] {
        for passes in [true, false] {
            let mut history = HistoryBuilder::new();
            history.suspend(answer.clone());
            history.check("p0", passes);
            history.passes();
        }
        let mut history = HistoryBuilder::new();
        history.suspend(answer.clone());
        history.change(Wanted { lets_in: Some(true), password: None }, done());
        history.check("p0", false);
        history.fails("doesn't let in");
    }
}

#[test]
fn a_write_lost_later_is_found() {
    let mut history = HistoryBuilder::new();
    history.rotate("p1", done());
    history.check("p1", true);
    history.check("p0", true);
    history.fails("lets in");
}

#[test]
fn a_stale_read_is_found() {
    let mut history = HistoryBuilder::new();
    history.suspend(done());
    history.add(Request::Read { access: "a".into() }, Answer::Done(shown("a", "ACTIVE", None)));
    history.fails("lets in");
}

#[test]
fn totals_are_within_the_possible_range() {
    for (total, why) in [(0, Some("says 0")), (1, None), (2, None), (3, Some("says 3"))] {
        let mut history = HistoryBuilder::new();
        history.create("b", None, Answer::Lost);
        history.add(Request::Count, Answer::Done(json!({"total": total})));
        match why {
            None => history.passes(),
            Some(why) => history.fails(why),
        }
    }
}

#[test]
fn the_summary_equals_the_list() {
    for (n, is_right) in [(1, true), (2, false)] {
        let mut history = HistoryBuilder::new();
        history.settled.summaries.push(json!({
            "total": n, "byStatus": {"ACTIVE": n, "SUSPENDED": 0}, "perDay": [{"created": n}],
        }));
        if is_right { history.passes() } else { history.fails("the summary has") }
    }
}

#[test]
fn a_task_has_created_the_accesses_that_it_shows() {
    for (state, n_items, n_there, why) in [
        ("DONE", 2, 2, None),
        ("DONE", 2, 1, Some("it made")),
        ("DONE", 1, 1, Some("of 2 items it has done [0]")),
        ("TERMINATED", 1, 1, Some("stopping it was answered []")),
        ("FAILED", 2, 2, Some("it should be DONE")),
    ] {
        let mut history = HistoryBuilder::new();
        history.listed(state, n_items, n_there);
        match why {
            None => history.passes(),
            Some(why) => {
                let faults = history.faults();
                assert!(faults.iter().any(|it| it.contains(why)), "{why}: {faults:?}");
            }
        }
    }
}

#[test]
fn a_stopped_task_has_created_exactly_the_accesses_that_it_shows() {
    for (n_there, is_right) in [(1, true), (2, false)] {
        let mut history = HistoryBuilder::new();
        history.add(Request::Stop { task: "job-1".into() }, done());
        history.listed("TERMINATED", 1, n_there);
        if is_right { history.passes() } else { history.fails("it made") }
    }
}

#[test]
fn a_successful_stop_holds() {
    let mut history = HistoryBuilder::new();
    history.add(Request::Stop { task: "job-1".into() }, done());
    history.listed("DONE", 2, 2);
    history.fails("stopping it was answered");
}

#[test]
fn an_ended_task_stays_ended() {
    let mut history = HistoryBuilder::new();
    history.listed("DONE", 2, 2);
    history.look("IN_PROGRESS");
    history.fails("was \"DONE\" before");
}

#[test]
fn an_accepted_task_exists() {
    let mut history = HistoryBuilder::new();
    history.batch("b", Items::Number(5), Answer::Done(json!({"id": "job-9"})));
    history.fails("lost: b");
}

#[test]
fn every_response_is_valid() {
    for answer in [
        Answer::Unavailable { retry_after: None },
        Answer::Late,
        Answer::Wrong("500".into()),
        Answer::Refused { status: 401, title: "Unauthorized".into() },
    ] {
        let mut history = HistoryBuilder::new();
        history.add(Request::Count, answer);
        history.fails("no client should get");
    }
}
