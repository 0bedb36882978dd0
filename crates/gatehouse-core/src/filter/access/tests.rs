use super::*;

fn read(query: &str) -> Result<AccessFilter, Vec<FilterFault>> {
    let expression = Expression::parse(query, &FILTER_FIELDS);
    assert!(expression.faults.is_empty() && expression.ignored.is_empty(), "{query}");
    AccessFilter::read(&expression)
}

#[test]
fn without_conditions_every_access_passes() {
    assert_eq!(read("").unwrap().alternatives(), [Alternative::ANY]);
}

#[test]
fn no_access_passes_a_contradiction() {
    let too_long = format!("username={}", "x".repeat(129));
    for query in [
        "contractId=A&contractId=B",
        "createdBy=job-1&createdBy=job-2",
        "createdBy=nonsense",
        "contractId=",
        "username=a%07b",
        "username=%00",
        "name=%00",
        "createdAt%3E=2026-01-02&createdAt%3C2026-01-01",
        "endDateTime=2026-01-01&endDateTime=2026-01-02",
        "createdAt=2026-01-01T00:00:00.0001Z",
        "status=ACTIVE&status=SUSPENDED",
        &too_long,
    ] {
        assert_eq!(read(query).unwrap().alternatives(), [], "{query}");
        // The other alternatives still pass.
        assert_eq!(read(&format!("{query};contractId=C")).unwrap().alternatives().len(), 1);
    }
}

#[test]
fn repeated_conditions_count_once() {
    let once = read("contractId=A").unwrap();
    assert_eq!(read("contractId=A&contractId=A;contractId=A").unwrap(), once);
}

#[test]
fn an_unknown_status_is_a_fault() {
    for word in ["", "active", "PAUSED"] {
        let faults = read(&format!("status={word};status=ACTIVE")).unwrap_err();
        let expected = format!(
            "must be one of PENDING_ACTIVE, ACTIVE, SUSPENDED, PENDING_TERMINATE, TERMINATED, not `{word}`"
        );
        assert_eq!(faults, [FilterFault { name: "status".into(), reason: expected }]);
    }
    assert_eq!(read("status=SUSPENDED").unwrap().alternatives()[0].status, Some(Status::Suspended));
}

#[test]
fn every_malformed_time_is_reported() {
    let faults =
        read("createdAt%3E=soon;contractId=A&contractId=B&endDateTime=;startDateTime=2026-13-01");
    let faults = faults.unwrap_err();
    let names: Vec<_> = faults.iter().map(|fault| fault.name.as_str()).collect();
    assert_eq!(names, ["createdAt", "endDateTime", "startDateTime"]);
    assert!(faults[0].reason.contains("RFC 3339") && faults[0].reason.contains("`soon`"));
}
