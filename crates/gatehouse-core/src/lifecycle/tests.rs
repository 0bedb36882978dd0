mod years;

use super::*;

use crate::ids::AccessId;
use crate::label::Labels;
use proptest::prelude::*;

fn day(n: i64) -> Timestamp {
    after(Timestamp::from_millisecond(1_800_000_000_000).unwrap(), n * DAY)
}

const DAY: i64 = 86_400_000;

fn after(instant: Timestamp, milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(instant.as_millisecond() + milliseconds).unwrap()
}

fn contract(billing_model: BillingModel) -> Contract {
    Contract {
        validity: (billing_model == BillingModel::Prepaid).then(|| "P30D".parse().unwrap()),
        ..Contract::active("c".parse().unwrap(), "o".parse().unwrap(), billing_model)
    }
}

fn access(status: Status) -> Access {
    Access {
        id: AccessId::new(1, &[1; 10]),
        contract_id: "c".parse().unwrap(),
        offering_id: "o".parse().unwrap(),
        username: "ann".parse().unwrap(),
        device_name: None,
        status,
        start: day(0),
        end: None,
        created_by: None,
        created_at: day(0),
        first_connected_at: None,
        termination: None,
        version: 1,
        labels: Labels::NONE,
    }
}

/// An access whose termination is planned for day 20; before, its end was day 40.
fn planned(status: Status) -> Access {
    Access {
        end: Some(day(20)),
        termination: Some(PlannedTermination { end_before: Some(day(40)) }),
        ..access(status)
    }
}

/// The table of status updates, row by row, on day 5. `=` means unchanged.
#[test]
fn the_status_table_holds() {
    let prepaid = contract(BillingModel::Prepaid);
    let by_use = contract(BillingModel::PayPerUse);
    let connected = |status| Access { first_connected_at: Some(day(1)), ..access(status) };
    #[rustfmt::skip]
    let rows = [
        // from                                          // to ACTIVE       // SUSPENDED       // TERMINATED
        (access(Status::PendingActive),        &prepaid, "ACTIVE 5-35",     "SUSPENDED 0-",    "TERMINATED 0-5"),
        (access(Status::Active),               &by_use,  "=",               "SUSPENDED 0-",    "TERMINATED 0-5"),
        (connected(Status::Active),            &prepaid, "=",               "SUSPENDED 0-",    "TERMINATED 0-5"),
        (access(Status::Suspended),            &by_use,  "ACTIVE 0-",       "=",               "TERMINATED 0-5"),
        (access(Status::Suspended),            &prepaid, "ACTIVE 5-35",     "=",               "TERMINATED 0-5"),
        (connected(Status::Suspended),         &prepaid, "ACTIVE 0-",       "=",               "TERMINATED 0-5"),
        (planned(Status::PendingTerminate),    &by_use,  "ACTIVE 0-40",     "SUSPENDED 0-20!", "TERMINATED 0-5"),
        (planned(Status::Suspended),           &by_use,  "ACTIVE 0-40",     "=",               "TERMINATED 0-5"),
        (access(Status::Terminated),           &by_use,  "refused",         "refused",         "="),
    ];
    for (from, contract, active, suspended, terminated) in rows {
        for (target, expected) in TargetStatus::ALL.into_iter().zip([active, suspended, terminated])
        {
            let case = format!("{from:?} to {target:?}");
            match set_status(&from, contract, target, day(5)) {
                Err(StateConflict::AccessTerminated) => assert_eq!("refused", expected, "{case}"),
                Err(other) => panic!("{case}: {other}"),
                Ok(after) if after == from => assert_eq!("=", expected, "{case}"),
                Ok(after) => {
                    assert_eq!(shown(&after), expected, "{case}");
                    assert_eq!(after.version, from.version + 1, "{case}");
                }
            }
        }
    }
}

/// End of the month in UTC, sixteen and a half days after day 0.
const MONTH_END: &str = "2027-02-01T00:00:00Z";

#[test]
fn a_termination_is_planned_for_the_end_of_the_month_or_of_the_access() {
    let utc = ZoneName::default();
    let month_end: Timestamp = MONTH_END.parse().unwrap();
    let ending = |status, end| Access { end: Some(end), ..access(status) };
    use Status::{Active, PendingActive, PendingTerminate, Suspended};
    #[rustfmt::skip]
    let rows = [
        // from                       // status         // end      // the end it had
        (access(Active),              PendingTerminate, month_end,  None),
        (access(Suspended),           Suspended,        month_end,  None),
        (access(PendingActive),       PendingTerminate, month_end,  None),
        (ending(Active, day(90)),     PendingTerminate, month_end,  Some(day(90))),
        (ending(Suspended, day(90)),  Suspended,        month_end,  Some(day(90))),
        (ending(Active, day(7)),      PendingTerminate, day(7),     Some(day(7))),
    ];
    let by_use = contract(BillingModel::PayPerUse);
    for (from, status, end, end_before) in rows {
        let planned = plan_termination(&from, &utc, day(5));
        assert_eq!((planned.status, planned.end), (status, Some(end)), "{from:?}");
        assert_eq!(planned.termination, Some(PlannedTermination { end_before }), "{from:?}");
        assert_eq!(planned.version, from.version + 1);
        assert_eq!(
            plan_termination(&planned, &utc, day(6)),
            planned,
            "a second plan changes nothing"
        );

        assert_eq!(at(&planned, after(end, -1)), planned);
        assert_eq!(at(&planned, end).status, Status::Terminated);
        let cancelled = set_status(&planned, &by_use, TargetStatus::Active, day(6)).unwrap();
        assert_eq!((cancelled.status, cancelled.end), (Active, from.end), "{from:?}");
    }
    for decided in [planned(PendingTerminate), planned(Suspended), access(Status::Terminated)] {
        assert_eq!(plan_termination(&decided, &utc, day(5)), decided);
    }
    let over = ending(Active, day(4));
    assert_eq!(plan_termination(&over, &utc, day(5)), at(&over, day(5)));
}

#[test]
fn a_batch_changes_accesses_of_pay_per_use_contracts() {
    assert_eq!(allow_batch(&contract(BillingModel::PayPerUse)), Ok(()));
    let refused = allow_batch(&contract(BillingModel::Prepaid));
    assert_eq!(refused, Err(StateConflict::NotPayPerUse));
}

/// Status, first and last day, and `!` if a termination is planned.
fn shown(access: &Access) -> String {
    let number = |at: Timestamp| (at.as_second() - day(0).as_second()) / 86_400;
    let end = access.end.map(|end| number(end).to_string()).unwrap_or_default();
    let mark = if access.termination.is_some() { "!" } else { "" };
    format!("{} {}-{end}{mark}", access.status.as_str(), number(access.start))
}

#[test]
fn the_contract_decides_the_initial_state() {
    let by_use = contract(BillingModel::PayPerUse);
    let initial = initial_state(&by_use, 0, day(3)).unwrap();
    assert_eq!(initial, InitialState { status: Status::Active, start: day(3), end: None });

    let later =
        Contract { start: Some(day(7)), end: Some(day(9)), ..contract(BillingModel::Prepaid) };
    let initial = initial_state(&later, 0, day(3)).unwrap();
    assert_eq!(
        initial,
        InitialState { status: Status::PendingActive, start: day(7), end: Some(day(9)) }
    );
    assert_eq!(initial_state(&later, 0, day(8)).unwrap().start, day(8));
}

#[test]
fn an_ended_suspended_or_full_contract_gets_no_accesses() {
    let base = contract(BillingModel::PayPerUse);
    let with_status = |status| Contract { status, ..base.clone() };
    assert_eq!(
        initial_state(&with_status(ContractStatus::Suspended), 0, day(0)),
        Err(StateConflict::ContractSuspended)
    );
    assert_eq!(
        initial_state(&with_status(ContractStatus::Terminated), 0, day(0)),
        Err(StateConflict::ContractEnded)
    );
    let ended = Contract { end: Some(day(1)), ..base.clone() };
    assert!(initial_state(&ended, 0, after(day(1), -1)).is_ok());
    assert_eq!(initial_state(&ended, 0, day(1)), Err(StateConflict::ContractEnded));
    let full = Contract { n_accesses_max: Some(2), ..base };
    assert!(initial_state(&full, 1, day(0)).is_ok());
    assert_eq!(initial_state(&full, 2, day(0)), Err(StateConflict::QuotaReached(2)));
}

#[test]
fn the_first_connection_starts_the_validity_once() {
    let prepaid = contract(BillingModel::Prepaid);
    let first = connect(&access(Status::PendingActive), &prepaid, day(2)).unwrap();
    assert_eq!(shown(&first), "ACTIVE 2-32");
    assert_eq!(first.first_connected_at, Some(day(2)));
    assert_eq!(connect(&first, &prepaid, day(3)), Ok(first.clone()), "the second changes nothing");
    assert_eq!(
        connect(&first, &prepaid, day(32)),
        Err(CheckRefused),
        "the end is no longer inside"
    );
}

#[test]
fn a_validity_never_passes_the_contracts_end() {
    let ending = Contract { end: Some(day(10)), ..contract(BillingModel::Prepaid) };
    let pending = Access { end: Some(day(10)), ..access(Status::PendingActive) };
    assert_eq!(shown(&connect(&pending, &ending, day(2)).unwrap()), "ACTIVE 2-10");

    let unlimited = Contract { validity: None, ..contract(BillingModel::Prepaid) };
    let pending = access(Status::PendingActive);
    assert_eq!(shown(&connect(&pending, &unlimited, day(2)).unwrap()), "ACTIVE 2-");

    let shortened = Contract { end: Some(day(1)), ..contract(BillingModel::Prepaid) };
    assert_eq!(connect(&pending, &shortened, day(2)), Err(CheckRefused));
    assert_eq!(
        set_status(&pending, &shortened, TargetStatus::Active, day(2)),
        Err(StateConflict::ContractEnded)
    );
}

#[test]
fn no_access_connects_or_activates_before_the_contract_starts() {
    let later = Contract { start: Some(day(7)), ..contract(BillingModel::Prepaid) };
    let pending = Access { start: day(7), ..access(Status::PendingActive) };
    assert_eq!(connect(&pending, &later, day(6)), Err(CheckRefused));
    assert_eq!(
        set_status(&pending, &later, TargetStatus::Active, day(6)),
        Err(StateConflict::ContractNotStarted(day(7)))
    );
    assert_eq!(shown(&connect(&pending, &later, day(7)).unwrap()), "ACTIVE 7-37");

    let sooner = contract(BillingModel::Prepaid);
    assert_eq!(shown(&connect(&pending, &sooner, day(6)).unwrap()), "ACTIVE 6-36", "moved since");
    assert_eq!(
        set_status(&pending, &sooner, TargetStatus::Active, day(6)),
        connect(&pending, &sooner, day(6)).map_err(|_| StateConflict::AccessTerminated),
        "both ways alike"
    );

    let by_use = Contract { start: Some(day(7)), ..contract(BillingModel::PayPerUse) };
    let early = Access { start: day(7), ..access(Status::Active) };
    assert_eq!(connect(&early, &by_use, day(6)), Err(CheckRefused));
    assert!(connect(&early, &by_use, day(7)).is_ok());
}

#[test]
fn a_server_with_a_slow_clock_admits_a_new_access() {
    let by_use = contract(BillingModel::PayPerUse);
    assert!(connect(&access(Status::Active), &by_use, after(day(0), -1000)).is_ok());
    let used = Access { start: day(2), first_connected_at: Some(day(2)), ..access(Status::Active) };
    assert!(connect(&used, &by_use, after(day(2), -1000)).is_ok());
}

#[test]
fn an_access_is_terminated_at_its_end_even_if_that_is_not_stored() {
    let by_use = contract(BillingModel::PayPerUse);
    let ending = Access { end: Some(day(9)), ..access(Status::Suspended) };
    assert_eq!(at(&ending, after(day(9), -1)), ending);
    let over = at(&ending, day(9));
    assert_eq!((over.status, over.end, over.version), (Status::Terminated, Some(day(9)), 2));
    assert_eq!(at(&over, day(10)), over, "only once");
    assert_eq!(
        set_status(&ending, &by_use, TargetStatus::Active, day(9)),
        Err(StateConflict::AccessTerminated)
    );
    assert_eq!(rotate_password(&ending, day(9)), Err(StateConflict::AccessTerminated));
}

/// Any access that the rules can produce: a termination is planned before the end that it replaces.
fn any_access() -> impl Strategy<Value = Access> {
    let status = prop::sample::select(Status::ALL.to_vec());
    let some_day = || prop::option::of((0_i64..60).prop_map(day));
    let planned = prop::option::of(prop::option::of(0_i64..60));
    (status, 0_i64..60, some_day(), some_day(), planned).prop_map(
        |(status, start, end, first_connected_at, planned)| {
            let may_plan = matches!(status, Status::PendingTerminate | Status::Suspended);
            let termination = end.zip(planned).filter(|_| may_plan).map(|(end, days_later)| {
                let end_before = days_later.map(|days| after(end, days * DAY));
                PlannedTermination { end_before }
            });
            Access { start: day(start), end, first_connected_at, termination, ..access(status) }
        },
    )
}

fn any_contract() -> impl Strategy<Value = Contract> {
    let some_day = || prop::option::of((0_i64..60).prop_map(day));
    (prop::sample::select(BillingModel::ALL.to_vec()), some_day(), some_day())
        .prop_map(|(model, start, end)| Contract { start, end, ..contract(model) })
}

/// Whether an update must be refused, written in another way than the code.
fn is_refused(access: &Access, contract: &Contract, target: TargetStatus, now: Timestamp) -> bool {
    let over = access.status == Status::Terminated || access.end.is_some_and(|end| end <= now);
    if over {
        return target != TargetStatus::Terminated;
    }
    let waits = contract.billing_model == BillingModel::Prepaid
        && access.first_connected_at.is_none()
        && access.status != Status::Active;
    let contract_runs =
        contract.start.is_none_or(|start| start <= now) && contract.end.is_none_or(|end| end > now);
    target == TargetStatus::Active && waits && !contract_runs
}

proptest! {
    #[test]
    fn an_update_is_refused_exactly_when_the_table_says_so(
        access in any_access(), contract in any_contract(), now in (0_i64..60).prop_map(day),
        target in prop::sample::select(TargetStatus::ALL.to_vec()),
    ) {
        let refused = set_status(&access, &contract, target, now).is_err();
        prop_assert_eq!(refused, is_refused(&access, &contract, target, now));
    }

    #[test]
    fn an_update_sets_the_requested_status_or_changes_nothing(
        access in any_access(), contract in any_contract(), now in (0_i64..60).prop_map(day),
        target in prop::sample::select(TargetStatus::ALL.to_vec()),
    ) {
        if let Ok(after) = set_status(&access, &contract, target, now) {
            prop_assert_eq!(after.status, Status::from(target));
            let seen = at(&access, now);
            prop_assert!(after == seen || after.version == seen.version + 1);
            // An access keeps its identifier, username and contract.
            prop_assert_eq!((after.id, &after.username, &after.contract_id), (access.id, &access.username, &access.contract_id));
            // A repeated update changes nothing.
            prop_assert_eq!(set_status(&after, &contract, target, now), Ok(after));
        }
    }

    #[test]
    fn a_terminated_access_stays_terminated(
        access in any_access(), contract in any_contract(), now in (0_i64..60).prop_map(day),
        later in 0_i64..60, target in prop::sample::select(TargetStatus::ALL.to_vec()),
    ) {
        let later = after(now, later * DAY);
        if at(&access, now).status == Status::Terminated {
            let after = set_status(&access, &contract, target, later);
            prop_assert!(after.is_err() || after.unwrap().status == Status::Terminated);
            prop_assert_eq!(connect(&access, &contract, later), Err(CheckRefused));
        }
    }

    #[test]
    fn suspending_never_prolongs(
        access in any_access(), contract in any_contract(), now in (0_i64..60).prop_map(day),
    ) {
        if let Ok(after) = set_status(&access, &contract, TargetStatus::Suspended, now) {
            prop_assert_eq!(after.end, access.end);
        }
    }

    #[test]
    fn planning_a_termination_never_prolongs_or_admits(
        access in any_access(), now in (0_i64..60).prop_map(day),
    ) {
        let seen = at(&access, now);
        let planned = plan_termination(&access, &ZoneName::default(), now);
        prop_assert!(planned == seen || planned.version == seen.version + 1);
        prop_assert!(seen.end.is_none_or(|end| planned.end.is_some_and(|it| it <= end)));
        prop_assert!(planned.status == Status::Terminated || planned.end.is_none_or(|end| end > now));
        let may_connect_before = connect(&seen, &contract(BillingModel::PayPerUse), now).is_ok();
        if connect(&planned, &contract(BillingModel::PayPerUse), now).is_ok() {
            prop_assert!(may_connect_before);
        }
        prop_assert_eq!(plan_termination(&planned, &ZoneName::default(), now), planned);
    }

    #[test]
    fn an_admitted_access_is_active_and_within_its_period(
        access in any_access(), contract in any_contract(), now in (0_i64..60).prop_map(day),
    ) {
        if let Ok(inside) = connect(&access, &contract, now) {
            prop_assert!(matches!(inside.status, Status::Active | Status::PendingTerminate));
            prop_assert!(inside.end.is_none_or(|end| end > now));
            prop_assert_eq!(connect(&inside, &contract, now), Ok(inside), "a second connection changes nothing");
        }
    }
}
