use super::*;
use crate::app::access::NewPassword;
use crate::app::batch::{AccessSelection, BatchOperation, NewItem, NewItems};
use crate::app::chosen_password::ChosenPassword;
use crate::http::intake::large_bodies::SMALL_BYTES_MAX;
use crate::reader::FAULTS_MAX;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use gatehouse_core::{LabelKey, Labels};

mod model;

const ID: &str = "019f0000-0000-7000-8000-000000000000";

/// The faults of a body, one per line; or its content in short.
fn shown_or_faults<T>(read: Result<T, Problem>, show: impl Fn(&T) -> String) -> String {
    match read {
        Ok(value) => show(&value),
        Err(problem) => {
            let reply = problem.into_reply("id");
            let body: Value = serde_json::from_slice(reply.body.bytes()).unwrap();
            assert_eq!(body["status"], 400);
            match body["invalidParams"].as_array() {
                None => body["detail"].as_str().unwrap().to_owned(),
                Some(faults) => {
                    let line = |it: &Value| format!("{} {}", it["name"], it["reason"]);
                    let lines: Vec<String> = faults.iter().map(line).collect();
                    lines.join("\n").replace(['"'], "")
                }
            }
        }
    }
}

fn show_labels(labels: &Labels) -> String {
    labels.stored().map(|text| format!(" {text:?}")).unwrap_or_default()
}

fn show_item(item: &NewItem) -> String {
    match item {
        NewItem::Valid(it) => {
            let username = it.username.as_ref().map(|it| it.as_str());
            let password = it.password.as_ref().map(|it| match it {
                ChosenPassword::Clear(it) => it.reveal(),
                ChosenPassword::Hash(it) => it.reveal(),
            });
            let device_name = it.device_name.as_ref().map(|it| it.as_str());
            format!("fit {username:?} {password:?} {device_name:?}{}", show_labels(&it.labels))
        }
        NewItem::Invalid(it) => {
            let faults: Vec<&str> = it.faults.iter().map(|it| it.name.as_str()).collect();
            format!("unfit {:?} {:?} {faults:?}", it.username.as_deref(), it.device_name.as_deref())
        }
    }
}

fn show_new(batch: &NewBatch) -> String {
    let items = match &batch.items {
        NewItems::Count(count, labels) => format!("count {count}{}", show_labels(labels)),
        NewItems::Explicit(items) => items.iter().map(show_item).collect::<Vec<_>>().join("\n"),
    };
    format!("{}\n{items}", batch.contract_id)
}

/// The keys of a tenant that filters by the label `site`.
fn site() -> BTreeSet<LabelKey> {
    BTreeSet::from(["site".parse().unwrap()])
}

fn show_change(batch: &BatchChange) -> String {
    let what = match &batch.operation {
        BatchOperation::Terminate => "terminate".to_owned(),
        BatchOperation::Update { status, password, labels } => {
            let status = status.map(|it| it.as_str());
            let labels = labels.as_ref().map(|it| format!(" {:?}", it.0)).unwrap_or_default();
            format!("update {status:?} {:?}{labels}", password.as_ref().map(show_password))
        }
    };
    let named = match &batch.selection {
        AccessSelection::Named(named) => named,
        AccessSelection::Matching { filter, n_max } => {
            let filter = filter.clone().with_labels(&site());
            let n_alternatives = filter.unwrap().alternatives().len();
            return format!("{what}\nat most {n_max} of {n_alternatives} alternatives");
        }
    };
    let ids = named.iter().map(|it| match &it.id {
        Ok(id) => format!("\n{} {id}", it.index),
        Err(text) => format!("\n{} no {text}", it.index),
    });
    what + &ids.collect::<String>()
}

fn show_password(password: &NewPassword) -> &str {
    match password {
        NewPassword::Chosen(chosen) => chosen.reveal(),
        NewPassword::Generated => "generated",
    }
}

fn new(body: &str) -> String {
    shown_or_faults(super::new::read(body.as_bytes(), 3), show_new)
}

fn change(body: &str) -> String {
    shown_or_faults(super::change::read(body.as_bytes(), 3, &site()), show_change)
}

#[test]
fn a_change_may_have_a_filter_in_which_nothing_is_ignored() {
    let of = |filter: &str| {
        let body =
            json!({"operationType": "terminate", "operationBody": {}, "accessFilter": filter});
        change(&body.to_string())
    };
    for (filter, n_alternatives) in [
        ("contractId=c", 1),
        ("filter=contractId=c&status=ACTIVE;label.site", 2),
        ("contractId%3Dc%3BcontractId%3Dd", 2),
        ("createdAt>=2027-01-01T00:00:00+02:00", 1),
        ("label.site=a+b", 1),
        // No access has this value.
        ("contractId=", 0),
    ] {
        let expected = format!("terminate\nat most 3 of {n_alternatives} alternatives");
        assert_eq!(of(filter), expected, "{filter}");
    }
    let faults = [
        "",
        "&;",
        "filter=",
        "contractId=c;",
        "contractId=c&&status=ACTIVE",
        "contractId=c&filter=",
        "contractId%3Dc%26",
        "status=ACTIVE&foo=1;label.x",
        "label.site=%FF",
        "colour=red",
        "contractId=c&colour=red",
        "contractId",
        "status<ACTIVE",
        "status=ended",
        "pageNumber=1",
        "sort=createdAt",
        "label.Site=x",
        "createdAt>soon",
    ];
    let faults = faults.map(|filter| format!("{filter}: {}", of(filter)));
    insta::assert_snapshot!(faults.join("\n"), @r"
    : accessFilter must hold a condition, such as `contractId=C-PAYG`
    &;: accessFilter must hold a condition, such as `contractId=C-PAYG`
    filter=: accessFilter must hold a condition, such as `contractId=C-PAYG`
    contractId=c;: accessFilter has a `&`, `;` or `filter=` without a condition beside it
    contractId=c&&status=ACTIVE: accessFilter has a `&`, `;` or `filter=` without a condition beside it
    contractId=c&filter=: accessFilter has a `&`, `;` or `filter=` without a condition beside it
    contractId%3Dc%26: accessFilter has a `&`, `;` or `filter=` without a condition beside it
    status=ACTIVE&foo=1;label.x: accessFilter `foo` is not known here; known are contractId, productOfferingId, createdBy, name, username, status, label.KEY, createdAt, startDateTime, endDateTime
    accessFilter `label.x` can't be filtered by: the tenant's `labelKeys` are site
    label.site=%FF: accessFilter `label.site` must be UTF-8 once it is percent-decoded
    colour=red: accessFilter `colour` is not known here; known are contractId, productOfferingId, createdBy, name, username, status, label.KEY, createdAt, startDateTime, endDateTime
    contractId=c&colour=red: accessFilter `colour` is not known here; known are contractId, productOfferingId, createdBy, name, username, status, label.KEY, createdAt, startDateTime, endDateTime
    contractId: accessFilter `contractId` needs an operator (=) and a value
    status<ACTIVE: accessFilter `status` can't be compared with `<`, only with =
    status=ended: accessFilter `status` must be one of PENDING_ACTIVE, ACTIVE, SUSPENDED, PENDING_TERMINATE, TERMINATED, not `ended`
    pageNumber=1: accessFilter `pageNumber` is not known here; known are contractId, productOfferingId, createdBy, name, username, status, label.KEY, createdAt, startDateTime, endDateTime
    sort=createdAt: accessFilter `sort` is not known here; known are contractId, productOfferingId, createdBy, name, username, status, label.KEY, createdAt, startDateTime, endDateTime
    label.Site=x: accessFilter `label.Site` is not known here; known are contractId, productOfferingId, createdBy, name, username, status, label.KEY, createdAt, startDateTime, endDateTime
    createdAt>soon: accessFilter `createdAt` must be an RFC 3339 time such as `2026-11-01T12:30:00Z` or a date such as `2026-11-01`, not `soon`
    ");
}

#[test]
fn a_change_has_either_a_list_or_a_filter() {
    let of = |list: Value, filter: Value| {
        let body = json!({"operationType": "update", "operationBody": {"rotatePassword": true},
                          "accessesIdList": list, "accessFilter": filter});
        change(&body.to_string())
    };
    let faults = [
        of(json!([ID]), Value::Null),
        of(Value::Null, json!("contractId=c")),
        of(json!([ID]), json!("contractId=c")),
        of(Value::Null, Value::Null),
        of(json!([ID]), json!(["contractId=c"])),
        change(
            r#"{"operationType": "update", "operationBody": {"password": "a password", "rotatePassword": true}}"#,
        ),
    ];
    insta::assert_snapshot!(faults.join("\n"), @"
    update None Some(\"generated\")
    0 019f0000-0000-7000-8000-000000000000
    update None Some(\"generated\")
    at most 3 of 1 alternatives
    body must hold `accessesIdList` or `accessFilter`, and holds both
    accessesIdList must be a list, not null
    accessFilter must be a string, not a list
    body must hold `accessesIdList` or `accessFilter`, and holds both
    accessesIdList is missing; give it, or `accessFilter`
    operationBody.rotatePassword can't be combined with `password`; send one of them
    ");
}

#[test]
fn a_batch_has_a_number_or_a_list() {
    assert_eq!(new(r#"{"contractId": "c", "numberOfAccesses": 3}"#), "c\ncount 3");
    assert_eq!(new(r#"{"numberOfAccesses": 2.0, "contractId": "c"}"#), "c\ncount 2");
    assert_eq!(new(r#"{"numberOfAccesses": 0.3e1, "contractId": "c"}"#), "c\ncount 3");
    let body = r#"{"accesses": [{}, {"username": "ann", "password": "p:\u0000", "deviceName": "d"},
                   {"deviceName": "é"}], "contractId": "c"}"#;
    insta::assert_snapshot!(new(body), @r#"
    c
    fit None None None
    fit Some("ann") Some("p:\0") Some("d")
    fit None None Some("é")
    "#);
}

#[test]
fn a_bad_hash_is_a_fault_of_its_item_alone() {
    let hash = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
    let costly = hash.replace("$05$", "$31$");
    let items = json!([
        {"username": "ann", "passwordHash": hash},
        {"username": "bob", "passwordHash": costly},
        {"password": "", "passwordHash": null},
    ]);
    insta::assert_snapshot!(new(&json!({"contractId": "c", "accesses": items}).to_string()), @r#"
    c
    fit Some("ann") Some("$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396") None
    unfit Some("bob") None ["passwordHash"]
    unfit None None ["password"]
    "#);
}

#[test]
fn a_batch_has_not_both_a_number_and_a_list() {
    insta::assert_snapshot!(new(r#"{"contractId": "c"}"#), @"body must hold `numberOfAccesses` or `accesses`");
    insta::assert_snapshot!(
        new(r#"{"contractId": "c", "numberOfAccesses": 1, "accesses": [{}]}"#),
        @"body must hold `numberOfAccesses` or `accesses`, and holds both"
    );
    insta::assert_snapshot!(new(r#"{}"#), @r"
    body must hold `numberOfAccesses` or `accesses`
    contractId is missing
    ");
}

#[test]
fn a_number_of_accesses_is_whole_and_within_its_bounds() {
    for bad in ["0", "-1", "1.5", "4", "1e1", "1e30", "99999999999999999999", "-0.5"] {
        let shown = new(&format!(r#"{{"contractId": "c", "numberOfAccesses": {bad}}}"#));
        let expected = "numberOfAccesses must be a whole number from 1 to 3, not ";
        assert!(shown.starts_with(expected), "{bad}: {shown}");
    }
    for (bad, kind) in [("\"2\"", "a string"), ("[]", "a list"), ("{}", "an object")] {
        let shown = new(&format!(r#"{{"contractId": "c", "numberOfAccesses": {bad}}}"#));
        assert_eq!(shown, format!("numberOfAccesses must be a whole number, not {kind}"));
    }
    let shown = new(r#"{"contractId": "c", "numberOfAccesses": 1e999}"#);
    assert!(shown.starts_with("the body can't be read as JSON: number out of range"), "{shown}");
}

#[test]
fn a_list_has_at_least_one_element_and_no_more_than_are_allowed() {
    for (n, is_fine) in [(0, false), (1, true), (3, true), (4, false), (5000, false)] {
        let body = json!({"contractId": "c", "accesses": vec![json!({}); n]}).to_string();
        let shown = format!("accesses must have 1 to 3 elements, not {n}");
        assert_eq!(new(&body) != shown, is_fine, "{n}");
        let body = json!({"operationType": "terminate", "operationBody": {},
                          "accessesIdList": vec![ID; n]});
        let shown = format!("accessesIdList must have 1 to 3 elements, not {n}");
        assert_eq!(change(&body.to_string()) != shown, is_fine, "{n}");
    }
}

#[test]
fn ill_formed_items_are_faults_of_the_request() {
    let body = r#"{"contractId": 7, "accesses": [{"usrname": "x", "username": 1, "password": true}, 5,
                   {"deviceName": {"a": [1]}, "deviceName": "d"}], "colour": 1, "contractId": "c"}"#;
    insta::assert_snapshot!(new(body), @r"
    contractId must be a string, not a number
    accesses[0].username must be a string, not a number
    accesses[0].password must be a string, not a boolean
    accesses[0].usrname is not a field of this object; it may have username, password, passwordHash, deviceName, labels
    accesses[1] must be an object, not a number
    accesses[2].deviceName must be a string, not an object
    accesses[2].deviceName is there more than once
    colour is not a field of this object; it may have contractId, numberOfAccesses, accesses, labels
    contractId is there more than once
    ");
}

#[test]
fn ignored_fields_hide_no_fault() {
    let ignored = r#""@type": 0,"#.repeat(200);
    let body = format!(
        r#"{{{ignored} "contractId": "c", "accesses": [{{{ignored} "usrname": "x"}}], "x": 1}}"#
    );
    let shown = new(&body);
    assert!(
        shown.starts_with("accesses[0].usrname is not") && shown.contains("\nx is not"),
        "{shown}"
    );
    let change = change(
        r#"{"operationType": "terminate", "accessesIdList": ["x"], "operationBody": {}, "@type": 1}"#,
    );
    assert!(change.starts_with("@type is not a field"), "{change}");
}

#[test]
fn a_value_out_of_bounds_is_a_fault_of_its_item() {
    let long = "x".repeat(129);
    let body = json!({"contractId": "c", "accesses": [
        {"username": "a\u{7}b", "deviceName": "d"},
        {"username": long, "deviceName": "\u{0}", "password": "x".repeat(73)},
        {"password": "", "username": "fine"},
    ]});
    insta::assert_snapshot!(new(&body.to_string()), @r#"
    c
    unfit Some("a�b") Some("d") ["username"]
    unfit Some("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") Some("�") ["username", "password", "deviceName"]
    unfit Some("fine") None ["password"]
    "#);
}

#[test]
fn a_list_of_another_kind_is_a_fault() {
    for (bad, kind) in [
        ("{\"a\": 1}", "an object"),
        ("\"x\"", "a string"),
        ("7", "a number"),
        ("-7", "a number"),
        ("0.5", "a number"),
        ("true", "a boolean"),
    ] {
        let shown = new(&format!(r#"{{"contractId": "c", "accesses": {bad}}}"#));
        assert_eq!(shown, format!("accesses must be a list, not {kind}"));
        assert_eq!(
            new(bad).lines().next().unwrap(),
            match kind {
                "an object" => "body must hold `numberOfAccesses` or `accesses`".to_owned(),
                _ => format!("body must be an object, not {kind}"),
            }
        );
    }
    assert_eq!(new("[[1], {}]"), "body must be an object, not a list");
}

#[test]
fn a_batch_of_changes_names_each_access_once() {
    let other = ID.replace('0', "1");
    let body = json!({"operationType": "terminate", "operationBody": {},
                      "accessesIdList": [ID, other, ID]});
    assert_eq!(change(&body.to_string()), format!("terminate\n0 {ID}\n1 {other}"));
    let long = "y".repeat(100);
    let body = json!({"operationType": "update", "operationBody": {"status": "SUSPENDED", "password": "p"},
                      "accessesIdList": [long, "x", long]});
    let shown = "y".repeat(64);
    let shown = format!("update Some(\"SUSPENDED\") Some(\"p\")\n0 no {shown}\n1 no x");
    assert_eq!(change(&body.to_string()), shown);
}

#[test]
fn all_faults_of_a_change_are_reported_at_once() {
    insta::assert_snapshot!(change("{}"), @r"
    operationType is missing
    accessesIdList is missing; give it, or `accessFilter`
    operationBody is missing
    ");
    let body = r#"{"operationType": "Update", "accessesIdList": [1, null, "x"], "operationBody": [], "x": 1}"#;
    insta::assert_snapshot!(change(body), @r"
    operationType must be one of update, terminate, not `Update`
    accessesIdList[0] must be a string, not a number
    accessesIdList[1] must be a string, not null
    operationBody must be an object, not a list
    x is not a field of this object; it may have operationType, accessFilter, accessesIdList, operationBody
    ");
    let long = "x".repeat(73);
    for (kind, body, shown) in [
        (
            "update",
            "{}".to_owned(),
            "operationBody must hold at least one of `status`, `password`, `rotatePassword` and `labels`",
        ),
        (
            "update",
            format!(r#"{{"password": "{long}"}}"#),
            "operationBody.password must have 1 to 72 bytes of UTF-8, not 73",
        ),
        (
            "update",
            r#"{"status": "PENDING_ACTIVE"}"#.into(),
            "operationBody.status must be one of ACTIVE, SUSPENDED, TERMINATED, not `PENDING_ACTIVE`",
        ),
        ("update", r#"{"status": null}"#.into(), "operationBody.status must be a string, not null"),
        (
            "update",
            r#"{"status": "ACTIVE", "username": "x"}"#.into(),
            "operationBody.username can't be changed; an update may hold `status`, `labels`, and `password` or `rotatePassword`",
        ),
        (
            "update",
            r#"{"status": "ACTIVE", "status": "ACTIVE"}"#.into(),
            "operationBody.status is there more than once",
        ),
        (
            "terminate",
            r#"{"status": "TERMINATED"}"#.into(),
            "operationBody must be empty, `{}`, for `terminate`",
        ),
        ("terminate", r#"{"x": {}}"#.into(), "operationBody must be empty, `{}`, for `terminate`"),
    ] {
        let body = format!(
            r#"{{"operationBody": {body}, "operationType": "{kind}", "accessesIdList": ["x"]}}"#
        );
        assert_eq!(change(&body), shown, "{body}");
    }
}

#[test]
fn invalid_json_has_the_same_error_as_in_other_bodies() {
    let deep = format!(r#"{{"accesses": [{}"#, "[".repeat(200));
    for body in [
        &b""[..],
        b"  ",
        b"{",
        b"{\"accesses\": [{}",
        b"{\"accesses\": [{},]}",
        b"{} x",
        b"{\"a\xFF\": 1}",
        b"{\"accesses\": [{\"username\": \"\xC3\"}]}",
        b"{\"x\": [{\"y\": \"\xFF\"}]}",
        deep.as_bytes(),
        b"{\"accesses\": [{\"a\": 1, }]}",
        b"nothing",
    ] {
        let shown = crate::reader::Json::parse(body).unwrap_err();
        assert_eq!(shown_or_faults(super::new::read(body, 3), show_new), shown);
        assert_eq!(shown_or_faults(super::change::read(body, 3, &site()), show_change), shown);
    }
}

#[test]
fn a_hundred_faults_are_reported_and_later_fields_are_still_read() {
    let many: String = (0..5000).map(|n| format!("\"x{n}\": [[{n}]], ")).collect();
    let shown = new(&format!(r#"{{{many} "contractId": "c", "numberOfAccesses": 1}}"#));
    assert_eq!(shown.lines().count(), FAULTS_MAX);
    assert!(shown.lines().all(|line| line.contains("is not a field")), "{shown}");
    let item = format!(r#"{{"contractId": "c", "accesses": [{{{many} "username": 7}}]}}"#);
    assert!(new(&item).starts_with("accesses[0].username must be a string, not a number\n"));
}

#[tokio::test]
async fn small_and_large_bodies_are_read_and_a_panic_is_an_error() {
    let small = format!(r#"{{"contractId": "c", "numberOfAccesses": 1{}}}"#, " ".repeat(100));
    for body in [small.clone(), small.replace("1 ", &format!("1{}", " ".repeat(SMALL_BYTES_MAX)))] {
        let read = read_bytes(body.into(), 3, super::new::read).await;
        assert_eq!(shown_or_faults(read, show_new), "c\ncount 1");
    }
    let panics: fn(&[u8], u64) -> Result<(), Problem> = |_, _| panic!("a defect");
    let large = vec![b' '; SMALL_BYTES_MAX + 1].into();
    assert_eq!(read_bytes(large, 3, panics).await.unwrap_err().status, 500);
}

/// Any JSON, often with names and values of batches.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "update",
        "terminate",
        "ACTIVE",
        "SUSPENDED",
        "c",
        "a:b",
        "",
        ID,
        "\u{0}",
        "é",
    ]);
    let scalar = prop_oneof![
        4 => word.prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => (-1_i64..6).prop_map(Value::from),
        1 => prop::sample::select(vec![0.5, 2.0, 1e30]).prop_map(Value::from),
        1 => (70_usize..131).prop_map(|n| "x".repeat(n).into()),
    ];
    let name = prop::sample::select(vec![
        "contractId",
        "numberOfAccesses",
        "accesses",
        "username",
        "password",
        "deviceName",
        "operationType",
        "accessesIdList",
        "operationBody",
        "status",
        "x",
    ]);
    scalar.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
            }),
        ]
    })
}

/// A mostly valid body.
fn likely(fields: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let item = prop::collection::btree_map(
        prop::sample::select(vec!["username", "password", "deviceName", "x"]),
        prop::sample::select(vec!["ann", "a:b", "", "\u{7}"]).prop_map(Value::from),
        0..3,
    );
    let item = item.prop_map(|it| json!(it));
    let value = prop_oneof![
        2 => any_json(),
        3 => prop::collection::vec(prop_oneof![4 => item, 1 => any_json()], 0..5).prop_map(Value::from),
        1 => Just(json!("update")),
        1 => Just(json!("terminate")),
        1 => Just(json!({"status": "ACTIVE"})),
        1 => Just(json!({})),
        2 => Just(json!("c")),
        1 => Just(json!([ID, "x", ID])),
        2 => (0_u64..5).prop_map(Value::from),
    ];
    prop::collection::btree_map(prop::sample::select(fields), value, 0..4)
        .prop_map(|fields| json!(fields))
}

const NEW_FIELDS: &[&str] = &["contractId", "numberOfAccesses", "accesses", "@type", "x"];
const CHANGE_FIELDS: &[&str] = &["operationType", "accessesIdList", "operationBody", "x"];

fn names<T>(
    read: Result<T, Problem>,
    show: impl Fn(&T) -> String,
) -> Result<String, BTreeSet<String>> {
    let is_good = read.is_ok();
    let shown = shown_or_faults(read, show);
    match is_good {
        true => Ok(shown),
        false => Err(shown.lines().map(|it| it.split(' ').next().unwrap().to_owned()).collect()),
    }
}

proptest! {
    #[test]
    fn no_json_makes_a_reader_panic(json in any_json(), cut in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = json.to_string().into_bytes();
        let _ = super::new::read(&bytes, 3);
        let _ = super::change::read(&bytes, 3, &site());
        let at = cut.index(bytes.len());
        bytes[at] = byte;
        let _ = super::new::read(&bytes, 3);
        let _ = super::change::read(&bytes, 3, &site());
    }

    #[test]
    fn a_new_batch_matches_the_model(json in prop_oneof![1 => any_json(), 3 => likely(NEW_FIELDS)]) {
        let read = super::new::read(json.to_string().as_bytes(), 3);
        prop_assert_eq!(names(read, show_new), model::new(&json, 3));
    }

    #[test]
    fn a_change_matches_the_model(json in prop_oneof![1 => any_json(), 3 => likely(CHANGE_FIELDS)]) {
        let read = super::change::read(json.to_string().as_bytes(), 3, &site());
        prop_assert_eq!(names(read, show_change), model::change(&json, 3));
    }
}
