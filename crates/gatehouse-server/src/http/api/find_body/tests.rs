use gatehouse_connectors::{AccountFailure, Failure, FailureKind};
use serde_json::{Value, json};

use super::super::product_body::tests::account;
use super::*;

const CARD: &str = "8944500102000000012";

/// The faults of a body that is refused, by name and reason.
fn refused(body: &Value) -> Vec<String> {
    let problem = read(body.to_string().as_bytes()).map(|_| ()).unwrap_err();
    let fields = Value::from(problem.body("c-1"));
    assert_eq!(fields["status"], 400);
    let params = fields["invalidParams"].as_array().unwrap();
    let line = |it: &Value| format!("{} {}", it["name"], it["reason"]).replace('"', "");
    params.iter().map(line).collect()
}

fn accepted(body: &Value) -> Asked {
    read(body.to_string().as_bytes()).map_err(|problem| problem.body("c-1")).unwrap()
}

/// Everything that is wrong, as status, type and detail.
fn told(asked: Asked, mut finding: FindResult) -> Vec<String> {
    let problems = asked.problems(&mut finding);
    let line = |problem: &Problem| {
        let fields = Value::from(problem.body("c-1"));
        let text = |name: &str| fields[name].as_str().unwrap().to_owned();
        format!("{} {}: {}", fields["status"], text("type"), text("detail"))
    };
    problems.iter().map(line).collect()
}

#[test]
fn every_list_says_what_kind_its_items_are() {
    let asked = accepted(&json!({
        "iotConnectionProductIdList": ["ALPHA-4-7"], "terminalSNList": ["SL-DF-1", "12345"],
        "msisdnList": ["123456"], "imsiList": ["123456"], "iccidList": [CARD],
    }));
    let shown: Vec<String> = asked.wanted().identifiers.iter().map(ToString::to_string).collect();
    let expected = [
        "ICCID 8944500102000000012",
        "IMSI 123456",
        "MSISDN 123456",
        "SERIAL_NUMBER SL-DF-1",
        "SERIAL_NUMBER 12345",
    ];
    assert_eq!(shown, expected);
    assert_eq!(asked.wanted().ids, ["ALPHA-4-7".parse().unwrap()]);
    assert_eq!(asked.n_items, 6);
}

#[test]
fn a_body_that_is_no_search_is_refused_with_every_fault_by_position() {
    let nothing = "body must have a list that is not empty: iccidList, imsiList, msisdnList, \
                   terminalSNList, iotConnectionProductIdList";
    assert_eq!(refused(&json!({})), [nothing]);
    assert_eq!(refused(&json!({"iccidList": [], "imsiList": []})), [nothing]);
    assert_eq!(refused(&json!({"iccidList": null})), [nothing]);
    assert_eq!(refused(&json!([])), ["body must be an object, not a list"]);
    assert_eq!(
        refused(
            &json!({"imsiList": ["123456"], "iccidList": [CARD, null, 7], "msisdnList": {}, "terminalSNList": null})
        ),
        [
            "iccidList[1] must be a string, not null",
            "iccidList[2] must be a string, not a number",
            "msisdnList must be a list, not an object",
        ]
    );
    let unknown = refused(&json!({"iccidList": [CARD], "iccids": []}));
    assert!(unknown[0].starts_with("iccids is not a field of this object; it may have iccidList"));
    assert_eq!(refused(&json!({"imsiList": vec![Value::Null; 5000]})).len(), 100);
}

#[test]
fn what_is_malformed_is_told_and_the_others_are_looked_for() {
    let long = "9".repeat(500);
    let asked = accepted(&json!({
        "iccidList": ["1", CARD, "1"], "imsiList": ["12345"], "terminalSNList": [long],
        "iotConnectionProductIdList": ["alpha-1", "ALPHA-1"],
    }));
    assert_eq!(asked.wanted().identifiers.len() + asked.wanted().ids.len(), 2);
    assert_eq!(asked.n_items, 6, "what is malformed counts too, once");
    let told = told(asked, FindResult::default());
    assert_eq!(
        told,
        [
            "400 Bad Request: iccidList[0] must be `89` followed by 14 to 18 digits, not `1`".into(),
            "400 Bad Request: imsiList[0] must be 6 to 15 digits, not `12345`".into(),
            format!(
                "400 Bad Request: terminalSNList[0] must be 5 to 22 digits, or `SL-DF-` followed by 1 to 64 \
                 letters, digits or hyphens, not `{}`",
                "9".repeat(64)
            ),
            "400 Bad Request: iotConnectionProductIdList[0] must be the canonical name of a platform, `-`, \
             and what the platform calls the connection, such as `ALPHA-4711`, not `alpha-1`"
                .into(),
        ]
    );
}

#[test]
fn a_card_counts_once_however_it_is_written() {
    let digit = gatehouse_core::identifier::luhn_digit(CARD).unwrap();
    let checked = format!("{CARD}{digit}");
    let asked = accepted(&json!({"iccidList": [checked, CARD, CARD], "terminalSNList": [CARD]}));
    assert_eq!(asked.n_items, 2, "as a card, and as a terminal");
    assert_eq!(asked.wanted().identifiers[0].value(), checked, "as it was written first");
}

#[test]
fn more_than_a_thousand_different_items_are_not_looked_for() {
    let numbers = |n: usize| (0..n).map(|n| format!("{}", 1_000_000 + n)).collect::<Vec<_>>();
    let mut twice = numbers(500);
    twice.extend(numbers(500));
    let asked = accepted(&json!({"imsiList": twice, "msisdnList": numbers(500)}));
    assert_eq!(asked.wanted().identifiers.len(), 1000);
    assert!(told(asked, FindResult::default()).is_empty());

    let asked = accepted(
        &json!({"imsiList": numbers(500), "msisdnList": numbers(500), "iccidList": ["x"]}),
    );
    assert_eq!(asked.wanted(), FindRequest::default());
    assert_eq!(
        told(asked, FindResult::default()),
        [
            "400 Bad Request: the request looks for 1001 different items, and may look for at most 1000; ask for \
          1000 items or fewer"
        ]
    );
}

#[test]
fn what_is_malformed_failed_or_missing_is_told_in_that_order() {
    let asked = accepted(&json!({
        "iotConnectionProductIdList": ["ALPHA-1", "ALPHA-2"], "terminalSNList": ["SL-DF-1", "?"],
        "msisdnList": ["123456"], "imsiList": ["123456"], "iccidList": [CARD, "8944500102000000020"],
    }));
    // In another order than they were asked for, and with what is never told.
    let mut missing = asked.wanted();
    missing.identifiers.reverse();
    missing.identifiers.retain(|it| it.value() != "8944500102000000020");
    missing.ids.reverse();
    let failure = Failure::new(FailureKind::Timeout, "the platform did not answer in time");
    let troubles = vec![AccountFailure { account: account("acme-eu"), failure }];
    let finding = FindResult { products: Vec::new(), troubles, missing };
    let told = told(asked, finding);
    let (malformed, others) = told.split_first().unwrap();
    assert!(malformed.starts_with("400 Bad Request: terminalSNList[1] must be"), "{malformed}");
    assert_eq!(
        others,
        [
            "504 Gateway Timeout: account `acme-eu` at ALPHA: the platform did not answer in time",
            "404 Product not found: there is no product with the ICCID `8944500102000000012`",
            "404 Product not found: there is no product with the serial number `SL-DF-1`",
            "404 Product not found: there is no product `ALPHA-1`",
            "404 Product not found: there is no product `ALPHA-2`",
        ]
    );
}
