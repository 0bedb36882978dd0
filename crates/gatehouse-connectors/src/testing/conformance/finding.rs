//! Look-ups: hits, misses, ICCIDs with and without check digit, and full batches.

use std::collections::BTreeSet;

use gatehouse_core::identifier::{self, luhn_digit};
use gatehouse_core::{Identifier, IdentifierKind};

use super::{Checks, TestBench, Verdict, ids_of, same, verdict};
use crate::connector::{CallKind, LookUp, LookUpKey};
use crate::manifest::Manifest;
use crate::manifest::format::look_up::{self, Match};
use crate::testing::one_account::OneAccount;
use crate::testing::recording::{Recording, miss, value_of};

/// Most misses that fill up a batch.
const FILLERS_MAX: usize = 1000;

/// Digits of an ICCID without its check digit.
const CARD_DIGITS: usize = 19;

pub(in crate::testing::conformance) async fn check(checks: &mut Checks, bench: &TestBench) {
    for by in LookUpKey::ALL {
        let (name, look_up) = (name(by), bench.manifest.capabilities().look_up(by));
        let id_values = id_values(bench, by);
        if look_up == LookUp::NeverCarried {
            let result = never_carried(bench, by).await;
            checks.take(
                format!("{name}: no call is made for a number that is never carried"),
                result,
            );
            continue;
        }
        let Some((_, value)) = id_values.first() else {
            let why = "no recorded connection has one";
            checks.add(format!("{name}: look-ups"), Verdict::DoesNotApply(why.into()));
            continue;
        };
        let result = hits(bench, by, &id_values, look_up).await;
        checks.take(format!("{name}: every existing value is found"), result);
        let result = misses(bench, by, value).await;
        checks.take(format!("{name}: similar values are not found"), result);
        if let LookUp::Searched { values_max } = look_up {
            let result = batch(bench, by, &id_values, values_max as usize).await;
            checks.take(
                format!("{name}: one value more than {values_max} can be looked up at once"),
                result,
            );
        }
        if by == LookUpKey::Number(IdentifierKind::Iccid) {
            let result = both_notations(bench, &id_values).await;
            checks.take(format!("{name}: with and without check digit is the same"), result);
        }
    }
}

pub(in crate::testing::conformance) async fn check_live(
    checks: &mut Checks,
    manifest: &Manifest,
    account: &OneAccount,
) {
    let listed = account.page(1, 100).await;
    for by in LookUpKey::ALL {
        if !matches!(manifest.capabilities().look_up(by), LookUp::Searched { .. }) {
            let why = "the platform has no such look-up";
            checks.add(format!("{}: look-ups", name(by)), Verdict::DoesNotApply(why.into()));
            continue;
        }
        let found = listed.connections.iter().find_map(|it| Some((it, value_of(it, by)?)));
        let Some((connection, value)) = found else {
            let why = "no connection on the first page has one";
            checks.add(format!("{}: look-ups", name(by)), Verdict::DoesNotApply(why.into()));
            continue;
        };
        let id = connection.local_id.to_string();
        let actual = ids_of(account.look_up(by, std::slice::from_ref(&value)).await);
        let result = actual.and_then(|actual| {
            if actual.contains(&id) {
                Ok(())
            } else {
                Err(format!("expected {id:?}, {actual:?} came"))
            }
        });
        checks.take(format!("{}: an existing value is found", name(by)), result);
        let actual = ids_of(account.look_up(by, &[miss(by, &value)]).await);
        let result = actual.and_then(|actual| same("connections", &Vec::new(), &actual));
        checks.take(format!("{}: similar values are not found", name(by)), result);
    }
}

/// Whether look-ups declared exact returned only exact matches.
pub(in crate::testing::conformance) fn exactness(
    manifest: &Manifest,
    recording: &Recording,
) -> Verdict {
    let mut faults = Vec::new();
    for step in &recording.conversation {
        let Some((by, value)) = step.asked.look_up() else { continue };
        let look_up::LookUp::Searched(search) = manifest.look_up.by(by) else { continue };
        if search.matching == Match::Partial {
            continue;
        }
        let responses = step.exchanges.iter().filter(|it| it.kind == CallKind::LookUp);
        let returned =
            responses.filter(|it| it.status == 200).filter_map(|it| search.items.first(&it.body));
        let n_returned: usize = returned
            .map(|it| match it {
                serde_json::Value::Array(members) => members.len(),
                serde_json::Value::Null => 0,
                _ => 1,
            })
            .sum();
        let n_matching = step.products.len();
        if n_returned > n_matching {
            faults.push(format!(
                "{} {value}: the platform returned {n_returned}, of which {n_matching} match: say \
                 `match: partial`",
                name(by)
            ));
        }
    }
    verdict(faults)
}

/// Ids and look-up values of all connections.
fn id_values(bench: &TestBench, by: LookUpKey) -> Vec<(String, String)> {
    let connections = &bench.platform.recorded().connections;
    let mut seen = BTreeSet::new();
    let all = connections.iter().flat_map(|connection| {
        let values: Vec<String> = match by {
            LookUpKey::Id => vec![connection.id.clone()],
            LookUpKey::Number(kind) => {
                let numbers = connection.numbers.iter().filter(|(it, _)| *it == kind);
                let fit = numbers.filter(|(_, it)| Identifier::parse(kind, it).is_ok());
                fit.map(|(_, it)| it.clone()).collect()
            }
        };
        values.into_iter().map(|it| (connection.id.clone(), it))
    });
    all.filter(|(_, value)| seen.insert(value.clone())).collect()
}

async fn hits(
    bench: &TestBench,
    by: LookUpKey,
    id_values: &[(String, String)],
    look_up: LookUp,
) -> Result<(), String> {
    let account = bench.account()?;
    let values: Vec<String> = id_values.iter().map(|(_, it)| it.clone()).collect();
    let actual: BTreeSet<String> =
        ids_of(account.look_up(by, &values).await)?.into_iter().collect();
    let expected: BTreeSet<String> = id_values.iter().map(|(id, _)| id.clone()).collect();
    same("connections", &expected, &actual)?;
    if let LookUp::Searched { .. } = look_up {
        // Alone, so that no scan replaces the look-up.
        let (id, value) = &id_values[0];
        let account = bench.account()?;
        let actual = ids_of(account.look_up(by, std::slice::from_ref(value)).await)?;
        if !actual.contains(id) {
            return Err(format!("asked for {value}: expected {id:?}, {actual:?} came"));
        }
        same("pages of the list for one look-up", &0, &account.n_calls(CallKind::List))?;
    }
    Ok(())
}

async fn misses(bench: &TestBench, by: LookUpKey, value: &str) -> Result<(), String> {
    let miss = miss(by, value);
    let outcome = bench.account()?.look_up(by, std::slice::from_ref(&miss)).await;
    let n_missing = outcome.n_missing;
    let actual = ids_of(outcome)?;
    let carried = bench.platform.recorded().connections.iter().any(|it| it.id == miss);
    if carried {
        return Ok(());
    }
    same(&format!("connections for {miss}"), &Vec::new(), &actual)?;
    same("values that are surely missing", &1, &n_missing)
}

async fn batch(
    bench: &TestBench,
    by: LookUpKey,
    id_values: &[(String, String)],
    values_max: usize,
) -> Result<(), String> {
    let mut values: Vec<String> = id_values.iter().map(|(_, it)| it.clone()).collect();
    values.truncate(values_max + 1);
    let expected: BTreeSet<String> =
        id_values.iter().take(values.len()).map(|(id, _)| id.clone()).collect();
    let known: BTreeSet<&String> = id_values.iter().map(|(_, it)| it).collect();
    let mut fillers = Vec::new();
    for n in 0..FILLERS_MAX {
        if values.len() + fillers.len() > values_max {
            break;
        }
        let filler = filler(&values[0], n);
        if !known.contains(&filler) {
            fillers.push(filler);
        }
    }
    let n_fillers = fillers.len();
    values.extend(fillers);
    let outcome = bench.account()?.look_up(by, &values).await;
    let n_missing = outcome.n_missing;
    let actual: BTreeSet<String> = ids_of(outcome)?.into_iter().collect();
    same("connections", &expected, &actual)?;
    same("values that are surely missing", &n_fillers, &n_missing)
}

/// A similar value with another ending.
fn filler(value: &str, n: usize) -> String {
    let end = format!("{:03}", 999 - n.min(999));
    let kept = value.len().saturating_sub(end.len());
    format!("{}{end}", value.get(..kept).unwrap_or_default())
}

async fn both_notations(bench: &TestBench, id_values: &[(String, String)]) -> Result<(), String> {
    let (kind, account) = (IdentifierKind::Iccid, bench.account()?);
    for (id, value) in id_values {
        let short = identifier::key(kind, value);
        if short.len() != CARD_DIGITS {
            continue;
        }
        let long = format!("{short}{}", luhn_digit(short).unwrap_or('0'));
        for written in [short.to_owned(), long] {
            let actual = ids_of(
                account.look_up(LookUpKey::Number(kind), std::slice::from_ref(&written)).await,
            )?;
            if !actual.contains(id) {
                return Err(format!("asked for {written}: expected {id:?}, {actual:?} came"));
            }
        }
    }
    Ok(())
}

async fn never_carried(bench: &TestBench, by: LookUpKey) -> Result<(), String> {
    let value = match by {
        LookUpKey::Number(IdentifierKind::Iccid) => "8988000000000000000",
        _ => "123456789",
    };
    let account = bench.account()?;
    let actual = ids_of(account.look_up(by, &[value.to_owned()]).await)?;
    same("connections", &Vec::new(), &actual)?;
    same("calls", &0, &account.n_calls_all())
}

fn name(by: LookUpKey) -> &'static str {
    match by {
        LookUpKey::Id => "id",
        LookUpKey::Number(IdentifierKind::Iccid) => "iccid",
        LookUpKey::Number(IdentifierKind::Imsi) => "imsi",
        LookUpKey::Number(IdentifierKind::Msisdn) => "msisdn",
        LookUpKey::Number(IdentifierKind::SerialNumber) => "serial_number",
    }
}
