use gatehouse_connectors::{AccountFailure, Failure, FailureKind};
use serde_json::{Value, json};

use super::super::product_body::tests::account;
use super::*;

const CARD: &str = "8944500102000000012";

/// The faults of a refused body, by name and reason.
fn refused(body: &Value) -> Vec<String> {
    let problem = read(body.to_string().as_bytes()).map(|_| ()).unwrap_err();
    let fields = Value::from(problem.body("c-1"));
    assert_eq!(fields["status"], 400);
    let params = fields["invalidParams"].as_array().unwrap();
    let line = |it: &Value| format!("{} {}", it["name"], it["reason"]).replace('"', "");
    params.iter().map(line).collect()
}

fn accepted(body: &Value) -> SearchRequest {
    read(body.to_string().as_bytes()).map_err(|problem| problem.body("c-1")).unwrap()
}

/// All problems, as status, type and detail.
fn problems_of(search: SearchRequest, mut result: FindResult) -> Vec<String> {
    let problems = search.problems(&mut result);
    let line = |problem: &Problem| {
        let fields = Value::from(problem.body("c-1"));
        let text = |name: &str| fields[name].as_str().unwrap().to_owned();
        format!("{} {}: {}", fields["status"], text("type"), text("detail"))
    };
    problems.iter().map(line).collect()
}

#[test]
fn every_list_defines_the_kind_of_its_items() {
    let search = accepted(&json!({
        "iotConnectionProductIdList": ["ALPHA-4-7"], "terminalSNList": ["SL-DF-1", "12345"],
        "msisdnList": ["123456"], "imsiList": ["123456"], "iccidList": [CARD],
    }));
    let shown: Vec<String> =
        search.find_request().identifiers.iter().map(ToString::to_string).collect();
    let expected = [
        "ICCID 8944500102000000012",
        "IMSI 123456",
        "MSISDN 123456",
        "SERIAL_NUMBER SL-DF-1",
        "SERIAL_NUMBER 12345",
    ];
    assert_eq!(shown, expected);
    assert_eq!(search.find_request().ids, ["ALPHA-4-7".parse().unwrap()]);
    assert_eq!(search.n_items, 6);
}

#[test]
fn an_invalid_body_is_refused_with_every_fault_by_position() {
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
fn malformed_items_are_reported_and_the_search_goes_on() {
    let long = "9".repeat(500);
    let search = accepted(&json!({
        "iccidList": ["1", CARD, "1"], "imsiList": ["12345"], "terminalSNList": [long],
        "iotConnectionProductIdList": ["alpha-1", "ALPHA-1"],
    }));
    assert_eq!(search.find_request().identifiers.len() + search.find_request().ids.len(), 2);
    assert_eq!(search.n_items, 6, "a malformed item counts once");
    let problems = problems_of(search, FindResult::default());
    assert_eq!(
        problems,
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
fn a_card_with_and_without_its_check_digit_counts_once() {
    let digit = gatehouse_core::identifier::luhn_digit(CARD).unwrap();
    let checked = format!("{CARD}{digit}");
    let search = accepted(&json!({"iccidList": [checked, CARD, CARD], "terminalSNList": [CARD]}));
    assert_eq!(search.n_items, 2, "as a card, and as a terminal");
    assert_eq!(search.find_request().identifiers[0].value(), checked, "as it was written first");
}

#[test]
fn more_than_a_thousand_different_items_are_refused() {
    let numbers = |n: usize| (0..n).map(|n| format!("{}", 1_000_000 + n)).collect::<Vec<_>>();
    let mut twice = numbers(500);
    twice.extend(numbers(500));
    let search = accepted(&json!({"imsiList": twice, "msisdnList": numbers(500)}));
    assert_eq!(search.find_request().identifiers.len(), 1000);
    assert!(problems_of(search, FindResult::default()).is_empty());

    let search = accepted(
        &json!({"imsiList": numbers(500), "msisdnList": numbers(500), "iccidList": ["x"]}),
    );
    assert_eq!(search.find_request(), FindRequest::default());
    assert_eq!(
        problems_of(search, FindResult::default()),
        [
            "400 Bad Request: the request looks for 1001 different items, and may look for at most 1000; ask for \
          1000 items or fewer"
        ]
    );
}

#[test]
fn malformed_failed_and_missing_items_are_reported_in_that_order() {
    let search = accepted(&json!({
        "iotConnectionProductIdList": ["ALPHA-1", "ALPHA-2"], "terminalSNList": ["SL-DF-1", "?"],
        "msisdnList": ["123456"], "imsiList": ["123456"], "iccidList": [CARD, "8944500102000000020"],
    }));
    // In another order than in the request, and with kinds whose absence isn't reported.
    let mut missing = search.find_request();
    missing.identifiers.reverse();
    missing.identifiers.retain(|it| it.value() != "8944500102000000020");
    missing.ids.reverse();
    let failure = Failure::new(FailureKind::Timeout, "the platform did not answer in time");
    let failures = vec![AccountFailure { account: account("acme-eu"), failure }];
    let result = FindResult { products: Vec::new(), failures, missing };
    let problems = problems_of(search, result);
    let (malformed, others) = problems.split_first().unwrap();
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
