//! Any text is a query: it is read without panicking, and means the same when it is printed and when
//! links keep it, whatever is listed. `gatehouse-core` holds the seeds against the same checks in its tests.

#![no_main]

use gatehouse_core::filter::access::{self, AccessFilter};
use gatehouse_core::filter::product::{self, ProductFilter};
use gatehouse_core::filter::{Expression, Vocabulary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| {
    let _ = AccessFilter::read(&checked(query, &access::VOCABULARY));
    let _ = ProductFilter::read(&checked(query, &product::VOCABULARY));
});

fn checked(query: &str, vocabulary: &Vocabulary) -> Expression {
    let expression = Expression::parse(query, vocabulary);
    let printed = Expression::parse(&expression.filter.to_string(), vocabulary);
    assert_eq!(printed.filter, expression.filter);
    assert!(printed.ignored.is_empty() && printed.request.is_empty());

    let kept = Expression::parse(&expression.kept, vocabulary);
    assert_eq!(kept.filter, expression.filter);
    assert!(kept.request.is_empty());
    expression
}
