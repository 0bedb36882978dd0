use gatehouse_core::credential::Password;
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::{Access, AccessId, Contract, Labels, Status, Timestamp, Username};
use gatehouse_store::Change;

use super::*;
use crate::app::access::{AccessRequest, AccessUpdate};
use crate::app::chosen_password::ChosenPassword;
use crate::app::requester::testing::ORIGIN;
use crate::work::tests::{acme, apps, at, caller};

/// When December begins in Berlin.
const DECEMBER: &str = "2026-11-30T23:00:00Z";

async fn create(app: &App, username: &str) -> AccessId {
    let request = AccessRequest {
        contract_id: "payg".parse().unwrap(),
        username: Some(username.parse().unwrap()),
        password: Some(ChosenPassword::Clear(password())),
        device_name: None,
        labels: Labels::NONE,
    };
    app.create_access(caller(), request, None).await.unwrap().access.id
}

fn password() -> Password {
    Password::new("s3cret".into()).unwrap()
}

/// Plans the termination, as a batch does.
async fn terminate(app: &App, id: AccessId) -> Access {
    let (tenant, now) = (acme(), app.now());
    let zone = app.store.tenant(&tenant).await.unwrap().unwrap().time_zone;
    let planned = app.store.change_access(&tenant, id, ORIGIN.clone(), move |stored, contract| {
        lifecycle::allow_batch(contract)?;
        let access = lifecycle::plan_termination(&stored.access, &zone, now);
        Ok::<_, Error>(Change { access, password: None })
    });
    planned.await.unwrap().unwrap()
}

async fn set(app: &App, id: AccessId, status: TargetStatus) -> Access {
    let update = AccessUpdate { status: Some(status), password: None, labels: None };
    app.update_access(caller(), id, update, |_| true).await.unwrap().access
}

async fn may_connect(app: &App, username: &str) -> bool {
    let username: Username = username.parse().unwrap();
    app.verify(caller(), &username, &password()).await.is_ok()
}

async fn written(app: &App, id: AccessId) -> (Status, Option<Timestamp>) {
    let access = app.store.access(&acme(), id).await.unwrap().unwrap();
    (access.status, access.end)
}

#[tokio::test]
async fn a_termination_takes_effect_at_the_end_of_the_month_in_berlin() {
    for (kind, app, _dir) in apps("a_month_ends_in_berlin").await {
        let (planned, kept, late) =
            (create(&app, "planned").await, create(&app, "kept").await, create(&app, "late").await);
        let end = Some(at(DECEMBER));
        let access = terminate(&app, planned).await;
        assert_eq!((access.status, access.end), (Status::PendingTerminate, end), "{kind}");
        terminate(&app, kept).await;
        assert_eq!(set(&app, kept, TargetStatus::Active).await.end, None, "{kind}: cancelled");
        assert_eq!(app.sweep_one().await.unwrap(), None, "{kind}: nothing is due");

        app.clock.set(at(DECEMBER).plus_milliseconds(-1));
        assert!(may_connect(&app, "planned").await, "{kind}: until the last instant");
        app.clock.set(at(DECEMBER));
        assert!(!may_connect(&app, "planned").await, "{kind}: also before the expiry is stored");
        assert_eq!(written(&app, planned).await, (Status::PendingTerminate, end));
        // December has begun, so this one ends with it.
        assert_eq!(terminate(&app, late).await.end, Some(at("2026-12-31T23:00:00Z")));

        let swept = app.sweep_one().await.unwrap();
        assert_eq!(swept, Some(ExpiryResult { n: 1, more: false }), "{kind}");
        assert_eq!(app.sweep_one().await.unwrap(), None, "{kind}");
        assert_eq!(written(&app, planned).await, (Status::Terminated, end), "{kind}");
        assert_eq!(written(&app, kept).await, (Status::Active, None), "{kind}");
        assert!(may_connect(&app, "kept").await && may_connect(&app, "late").await);

        let summary = app.store.summary(&acme(), app.now(), 1).await.unwrap().unwrap();
        let tally = summary.tally();
        let [active, pending, over] =
            [Status::Active, Status::PendingTerminate, Status::Terminated].map(|it| tally.get(it));
        assert_eq!((active, pending, over), (1, 1, 1), "{kind}");
        assert_eq!(summary.days[0].n_ended, 1, "{kind}: on the day of its end, in UTC");
        let recount = app.store.recount(&acme()).await.unwrap();
        assert_eq!(recount.discrepancies, Vec::<String>::new(), "{kind}");
    }
}

#[tokio::test]
async fn the_next_step_expires_what_a_step_leaves() {
    for (kind, app, _dir) in apps("what_a_step_leaves").await {
        let n = SWEEP_MAX + 1;
        let ending = app.store.contract(&acme(), &"payg".parse().unwrap(), app.now()).await;
        let ending = Contract { end: Some(at(DECEMBER)), ..ending.unwrap().unwrap().contract };
        app.put_contract(&acme(), &ending, &ORIGIN).await.unwrap();
        let new = |n| gatehouse_store::NewAccess {
            id: AccessId::new(n, &[0; 10]),
            contract_id: ending.id.clone(),
            is_drawn: false,
            username: format!("u{n}").parse().unwrap(),
            password: gatehouse_core::credential::StoredHash::new("x".into()),
            device_name: None,
            labels: Labels::NONE,
            created_by: None,
            idempotent: None,
            origin: ORIGIN.clone(),
        };
        app.store.create_accesses(&acme(), (0..n).map(new).collect()).await.unwrap();
        app.clock.set(at(DECEMBER));
        for expected in [
            Some(ExpiryResult { n: SWEEP_MAX, more: true }),
            Some(ExpiryResult { n: 1, more: false }),
            None,
        ] {
            assert_eq!(app.sweep_one().await.unwrap(), expected, "{kind}");
        }
        let recount = app.store.recount(&acme()).await.unwrap();
        assert_eq!(recount.discrepancies, Vec::<String>::new(), "{kind}");
    }
}
