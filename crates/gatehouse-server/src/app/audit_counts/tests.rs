use super::*;

fn refusal(tenant: &str, subject: &'static str) -> Refusal<'static> {
    Refusal {
        tenant: tenant.parse().ok(),
        reason: RefusalReason::Scope,
        client: None,
        subject,
        correlation_id: "c",
        peer: "192.0.2.7".to_owned(),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + seconds * 1000).unwrap()
}

/// Finds out that only these are tenants.
fn sort(counts: &AuditCounts, tenants: &[&str]) {
    let tenants = tenants.iter().map(|name| name.parse().unwrap()).collect();
    let names = counts.new_names();
    counts.sort(tenants, names);
}

/// Tenants, subjects and counts of refusals.
fn shown(entries: Vec<AuditedEntry>) -> Vec<(Option<String>, String, u64)> {
    let mut shown: Vec<_> = entries
        .into_iter()
        .filter_map(|(tenant, entry)| {
            let Entry::Refusals(entry) = entry else { return None };
            let Cause::Request(subject) = entry.origin.cause else { return None };
            Some((tenant.map(|it| it.to_string()), subject, entry.n))
        })
        .collect();
    shown.sort();
    shown
}

fn one(subject: &str, n: u64) -> (Option<String>, String, u64) {
    (Some("acme".to_owned()), subject.to_owned(), n)
}

#[test]
fn the_first_of_a_minute_is_due_at_once_and_the_others_at_its_end() {
    let counts = AuditCounts::default();
    counts.count_refusal(refusal("acme", "crm"), at(0));
    assert_eq!(shown(counts.take(at(0), false)), [], "not before it is known whether it is one");
    sort(&counts, &["acme"]);
    for second in [1, 2] {
        counts.count_refusal(refusal("acme", "crm"), at(second));
    }
    counts.count_refusal(refusal("acme", "billing"), at(3));
    assert_eq!(shown(counts.take(at(4), false)), [one("billing", 1), one("crm", 1)]);
    assert_eq!(shown(counts.take(at(59), false)), []);
    assert_eq!(shown(counts.take(at(60), false)), [one("crm", 2)]);
    counts.count_refusal(refusal("acme", "crm"), at(61));
    counts.count_refusal(refusal("acme", "crm"), at(62));
    assert_eq!(shown(counts.take(at(63), true)), [one("crm", 1), one("crm", 1)]);
    assert_eq!(shown(counts.take(at(200), true)), []);
}

#[test]
fn strangers_who_invent_names_fill_no_disk_and_hide_nothing_of_a_tenant() {
    let counts = AuditCounts::default();
    counts.set_tenants(["acme".parse().unwrap()].into(), at(0));
    let mut due = Vec::new();
    for second in 0..60 {
        for n in 0..3000 {
            counts.count_refusal(refusal(&format!("t{second}-{n}"), "stranger"), at(second));
        }
        counts.count_refusal(refusal("acme", "crm"), at(second));
        sort(&counts, &[]);
        due.extend(counts.take(at(second), false));
    }
    due.extend(counts.take(at(60), false));
    let due = shown(due);
    assert!(due.len() <= 6, "{due:?}");
    let of = |tenant: Option<&str>| -> u64 {
        due.iter().filter(|it| it.0.as_deref() == tenant).map(|(.., n)| n).sum()
    };
    let total = 60 * 3001;
    assert_eq!(of(None) + of(Some("acme")), total, "{due:?}");
    assert_eq!(of(Some("acme")), 60, "{due:?}");
}

#[test]
fn too_many_subjects_of_a_tenant_are_counted_together_and_without_names() {
    let counts = AuditCounts::default();
    counts.set_tenants(["acme".parse().unwrap()].into(), at(0));
    let subjects: Vec<&'static str> =
        (0..200).map(|n| &*Box::leak(format!("s{n}").into_boxed_str())).collect();
    for subject in &subjects {
        counts.count_refusal(refusal("acme", subject), at(0));
    }
    let due = shown(counts.take(at(60), false));
    assert_eq!(due.len(), KINDS_MAX + 2, "{due:?}");
    assert_eq!(due.iter().map(|(.., n)| n).sum::<u64>(), 200);
    let further: u64 = due.iter().filter(|it| it.1.is_empty()).map(|(.., n)| n).sum();
    assert_eq!(further, 150, "{due:?}");
}

#[test]
fn what_could_not_be_written_comes_again() {
    let counts = AuditCounts::default();
    counts.set_tenants(["acme", "zoo"].map(|it| it.parse().unwrap()).into(), at(0));
    counts.count_refusal(refusal("acme", "crm"), at(0));
    let due = counts.take(at(0), false);
    counts.count_refusal(refusal("zoo", "crm"), at(1));
    counts.put_back(due);
    assert_eq!(shown(counts.take(at(2), false)).len(), 2);
}
