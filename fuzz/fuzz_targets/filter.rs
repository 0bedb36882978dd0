//! Any text is a query: it is read without panicking, and means the same when it is printed and when
//! links keep it. `gatehouse-core` holds the seeds against the same checks in its tests.

#![no_main]

use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, VOCABULARY};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| {
    let expression = Expression::parse(query, &VOCABULARY);
    let printed = Expression::parse(&expression.filter.to_string(), &VOCABULARY);
    assert_eq!(printed.filter, expression.filter);
    assert!(printed.ignored.is_empty() && printed.request.is_empty());

    let kept = Expression::parse(&expression.kept, &VOCABULARY);
    assert_eq!(kept.filter, expression.filter);
    assert!(kept.request.is_empty());

    let _ = AccessFilter::read(&expression);
});
