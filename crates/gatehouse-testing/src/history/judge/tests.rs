//! That the judge is content with what can be, and finds what can't.

use super::super::call::{Answer, Call, Items, Request, Wanted};
use super::super::settled::{Settled, SettledTask};
use super::judge;
use serde_json::{Value, json};

/// A history in the making. Calls are told one after the other; each takes ten ticks unless it is said otherwise.
struct Story {
    calls: Vec<Call>,
    settled: Settled,
    now: u64,
}

impl Story {
    /// One access, `a`, with the password `p0`.
    fn new() -> Self {
        let mut story = Self { calls: Vec::new(), settled: Settled::default(), now: 0 };
        story.create("a", Some("key-a"), Answer::Done(access("a")));
        story.settled.accesses.push(shown("a", "ACTIVE", None));
        story
    }

    fn tell(&mut self, request: Request, answer: Answer) -> &mut Call {
        let (begin, end) = (self.now + 1, self.now + 10);
        self.now = end;
        self.calls.push(Call { replica: 0, begin, end, tenant: 0, request, answer });
        self.calls.last_mut().unwrap()
    }

    fn create(&mut self, device: &str, key: Option<&str>, answer: Answer) {
        let key = key.map(str::to_owned);
        self.tell(Request::Create { device: device.into(), key }, answer);
    }

    fn suspend(&mut self, answer: Answer) -> &mut Call {
        self.change(Wanted { lets_in: Some(false), password: None }, answer)
    }

    fn rotate(&mut self, password: &str, answer: Answer) -> &mut Call {
        self.change(Wanted { lets_in: None, password: Some(password.into()) }, answer)
    }

    fn change(&mut self, wanted: Wanted, answer: Answer) -> &mut Call {
        self.tell(Request::Change { access: "a".into(), wanted }, answer)
    }

    fn check(&mut self, password: &str, passes: bool) -> &mut Call {
        let refused = Answer::Refused { status: 401, title: "Credentials refused".into() };
        let answer = if passes { done() } else { refused };
        let (access, username, password) = ("a".into(), "u-a".into(), password.into());
        self.tell(Request::Check { access, username, password }, answer)
    }

    fn batch(&mut self, name: &str, items: Items, answer: Answer) {
        self.tell(Request::Batch { name: name.into(), key: None, items }, answer);
    }

    fn look(&mut self, state: &str) {
        let shown = json!({"id": "job-1", "state": state});
        self.tell(Request::Look { task: "job-1".into() }, Answer::Done(shown));
    }

    /// Two accesses by device, of which the Task says so many items.
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
fn a_store_that_does_what_it_is_asked_is_fine() {
    let mut story = Story::new();
    story.check("p0", true);
    story.suspend(done());
    story.check("p0", false);
    story.change(Wanted { lets_in: Some(true), password: Some("p1".into()) }, done());
    story.check("p1", true);
    story.check("p0", false);
    story.listed("DONE", 2, 2);
    story.tell(Request::Count, Answer::Done(json!({"total": 3})));
    story.passes();
}

#[test]
fn a_creation_that_was_answered_is_there() {
    let mut story = Story::new();
    story.create("b", None, Answer::Done(access("b")));
    story.fails("lost: b");
}

#[test]
fn a_creation_that_nobody_knows_of_is_there_once_or_not_at_all() {
    for n in 0..=2 {
        let mut story = Story::new();
        story.create("b", None, Answer::Lost);
        for copy in 0..n {
            let mut access = shown("b", "ACTIVE", None);
            access["id"] = format!("id-b-{copy}").into();
            story.settled.accesses.push(access);
        }
        if n < 2 { story.passes() } else { story.fails("made twice") }
    }
}

#[test]
fn one_key_has_one_answer() {
    let mut story = Story::new();
    story.create("a", Some("key-a"), Answer::Done(access("a")));
    story.passes();
    let mut story = Story::new();
    let mut other = access("a");
    other["password"] = "another".into();
    story.create("a", Some("key-a"), Answer::Done(other));
    story.fails("two answers to one key");
}

#[test]
fn a_suspension_that_was_answered_is_obeyed() {
    let mut story = Story::new();
    story.suspend(done());
    story.check("p0", true).replica = 2;
    story.fails("replica 2 lets in");
}

#[test]
fn a_suspension_that_is_under_way_may_be_obeyed_or_not() {
    for passes in [true, false] {
        let mut story = Story::new();
        story.suspend(done()).end += 100;
        story.check("p0", passes);
        story.passes();
    }
}

#[test]
fn an_old_password_is_worth_nothing_and_the_new_one_passes() {
    let mut story = Story::new();
    story.rotate("p1", done());
    story.check("p0", true);
    story.fails("lets in");
    let mut story = Story::new();
    story.rotate("p1", done());
    story.check("p1", false);
    story.fails("doesn't let in");
}

#[test]
fn a_change_that_nobody_knows_of_is_possible_until_another_settles_it() {
    for answer in [Answer::Lost, Answer::Unavailable { retry_after: Some(1) }] {
        for passes in [true, false] {
            let mut story = Story::new();
            story.suspend(answer.clone());
            story.check("p0", passes);
            story.passes();
        }
        let mut story = Story::new();
        story.suspend(answer.clone());
        story.change(Wanted { lets_in: Some(true), password: None }, done());
        story.check("p0", false);
        story.fails("doesn't let in");
    }
}

#[test]
fn a_write_that_is_lost_later_is_seen() {
    let mut story = Story::new();
    story.rotate("p1", done());
    story.check("p1", true);
    story.check("p0", true);
    story.fails("lets in");
}

#[test]
fn a_read_that_is_stale_is_seen() {
    let mut story = Story::new();
    story.suspend(done());
    story.tell(Request::Read { access: "a".into() }, Answer::Done(shown("a", "ACTIVE", None)));
    story.fails("lets in");
}

#[test]
fn totals_are_within_what_was_possible() {
    for (total, why) in [(0, Some("says 0")), (1, None), (2, None), (3, Some("says 3"))] {
        let mut story = Story::new();
        story.create("b", None, Answer::Lost);
        story.tell(Request::Count, Answer::Done(json!({"total": total})));
        match why {
            None => story.passes(),
            Some(why) => story.fails(why),
        }
    }
}

#[test]
fn the_figures_are_those_of_the_list() {
    for (n, is_right) in [(1, true), (2, false)] {
        let mut story = Story::new();
        story.settled.summaries.push(json!({
            "total": n, "byStatus": {"ACTIVE": n, "SUSPENDED": 0}, "perDay": [{"created": n}],
        }));
        if is_right { story.passes() } else { story.fails("the summary has") }
    }
}

#[test]
fn a_task_has_made_what_it_says() {
    for (state, n_items, n_there, why) in [
        ("DONE", 2, 2, None),
        ("DONE", 2, 1, Some("it made")),
        ("DONE", 1, 1, Some("of 2 items it has done [0]")),
        ("TERMINATED", 1, 1, Some("stopping it was answered []")),
        ("FAILED", 2, 2, Some("it should be DONE")),
    ] {
        let mut story = Story::new();
        story.listed(state, n_items, n_there);
        match why {
            None => story.passes(),
            Some(why) => {
                let faults = story.faults();
                assert!(faults.iter().any(|it| it.contains(why)), "{why}: {faults:?}");
            }
        }
    }
}

#[test]
fn a_task_that_was_stopped_has_made_exactly_what_it_says() {
    for (n_there, is_right) in [(1, true), (2, false)] {
        let mut story = Story::new();
        story.tell(Request::Stop { task: "job-1".into() }, done());
        story.listed("TERMINATED", 1, n_there);
        if is_right { story.passes() } else { story.fails("it made") }
    }
}

#[test]
fn a_stop_that_was_answered_is_obeyed() {
    let mut story = Story::new();
    story.tell(Request::Stop { task: "job-1".into() }, done());
    story.listed("DONE", 2, 2);
    story.fails("stopping it was answered");
}

#[test]
fn a_task_that_is_over_stays_over() {
    let mut story = Story::new();
    story.listed("DONE", 2, 2);
    story.look("IN_PROGRESS");
    story.fails("was \"DONE\" before");
}

#[test]
fn a_task_that_was_answered_is_there() {
    let mut story = Story::new();
    story.batch("b", Items::Number(5), Answer::Done(json!({"id": "job-9"})));
    story.fails("lost: b");
}

#[test]
fn every_answer_is_proper() {
    for answer in [
        Answer::Unavailable { retry_after: None },
        Answer::Late,
        Answer::Wrong("500".into()),
        Answer::Refused { status: 401, title: "Unauthorized".into() },
    ] {
        let mut story = Story::new();
        story.tell(Request::Count, answer);
        story.fails("nobody should get");
    }
}
