use super::access::FILTER_FIELDS;
use super::*;
use proptest::prelude::*;

/// The filter in words: decoded values, `or` between alternatives.
fn in_words(expression: &Expression) -> String {
    let alternatives = expression.filter.alternatives.iter().map(|conditions| {
        let conditions = conditions.iter().map(|Condition { name, key, operator, value }| {
            let key = key.as_ref().map(|key| format!(".{key}")).unwrap_or_default();
            format!("{name}{key} {} {value}", operator.as_str())
        });
        conditions.collect::<Vec<_>>().join(" and ")
    });
    alternatives.collect::<Vec<_>>().join(" or ")
}

fn ignored(expression: &Expression) -> String {
    expression.ignored.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(",")
}

#[test]
fn a_query_is_one_expression() {
    #[rustfmt::skip]
    let cases = [
        // query                                     // means                                      // ignored
        ("",                                         "",                                           ""),
        ("contractId=A",                             "contractId = A",                             ""),
        ("filter=contractId=A",                      "contractId = A",                             ""),
        ("filter=contractId=A&productOfferingId=B",  "contractId = A and productOfferingId = B",   ""),
        ("contractId=A&filter=username=B",           "contractId = A and username = B",            ""),
        ("filter=contractId=A&filter=username=B",    "contractId = A and username = B",            ""),
        ("contractId=A;contractId=B",                "contractId = A or contractId = B",           ""),
        ("contractId=A;filter=contractId=B",         "contractId = A or contractId = B",           ""),
        ("contractId=A&productOfferingId=B;username=C",
                              "contractId = A and productOfferingId = B or username = C",          ""),
        // every operator, raw and encoded
        ("createdAt=2026",                           "createdAt = 2026",                           ""),
        ("createdAt>2026",                           "createdAt > 2026",                           ""),
        ("createdAt>=2026",                          "createdAt >= 2026",                          ""),
        ("createdAt<2026",                           "createdAt < 2026",                           ""),
        ("createdAt<=2026",                          "createdAt <= 2026",                          ""),
        ("createdAt%3E2026",                         "createdAt > 2026",                           ""),
        ("createdAt%3C2026",                         "createdAt < 2026",                           ""),
        ("createdAt%3E%3D2026",                      "createdAt >= 2026",                          ""),
        ("createdAt%3e%3d2026",                      "createdAt >= 2026",                          ""),
        ("createdAt%3E=2026",                        "createdAt >= 2026",                          ""),
        ("createdAt>%3D2026",                        "createdAt >= 2026",                          ""),
        ("createdAt%3D2026",                         "createdAt = 2026",                           ""),
        ("filter=createdAt%3E%3D2026",               "createdAt >= 2026",                          ""),
        ("createdAt=>2026",                          "createdAt = >2026",                          ""),
        ("createdAt==2026",                          "createdAt = =2026",                          ""),
        // values
        ("username=A%26B",                           "username = A&B",                             ""),
        ("username=A%3BB",                           "username = A;B",                             ""),
        ("username=A=B",                             "username = A=B",                             ""),
        ("username=A%3DB",                           "username = A=B",                             ""),
        ("username%3DA=B",                           "username = A=B",                             ""),
        ("username=a+b",                             "username = a+b",                             ""),
        ("username=a%2Bb",                           "username = a+b",                             ""),
        ("username=a%20b",                           "username = a b",                             ""),
        ("username=100%",                            "username = 100%",                            ""),
        ("username=%zz",                             "username = %zz",                             ""),
        ("username=%4",                              "username = %4",                              ""),
        ("username=%2541",                           "username = %41",                             ""),
        ("username=%C3%A9",                          "username = é",                               ""),
        ("username=é",                               "username = é",                               ""),
        ("username=%00",                             "username = \0",                              ""),
        ("username=",                                "username = ",                                ""),
        ("name=filter=x",                            "name = filter=x",                            ""),
        // names
        ("%63ontractId=A",                           "contractId = A",                             ""),
        ("%66ilter=contractId=A",                    "contractId = A",                             ""),
        ("contractid=A",                             "",                                           "contractid"),
        ("contractId =A",                            "",                                           "contractId "),
        // labels
        ("label.site=hamburg",                       "label.site = hamburg",                       ""),
        ("filter=label.a.b-c_d=x%26y",               "label.a.b-c_d = x&y",                        ""),
        ("label.site",                               "label.site  ",                               ""),
        ("filter=label.site&contractId=A",           "label.site   and contractId = A",            ""),
        ("label%2Esite;label.team=x",                "label.site   or label.team = x",             ""),
        ("label.site=",                              "label.site = ",                              ""),
        ("label.site>x",                             "",                                           "label.site"),
        ("label.Site=x&label.=x&label=x&labels.a=x", "",                         "label.Site,label.,label,labels.a"),
        // whole expressions, encoded once
        ("filter=contractId%3DA%26productOfferingId%3DB",
                                                     "contractId = A and productOfferingId = B",   ""),
        ("filter=contractId%3DA%3Busername%3DB&name=C",
                                                     "contractId = A or username = B and name = C", ""),
        ("contractId%3DA%26username%3DB",            "contractId = A and username = B",            ""),
        ("filter%3DcontractId%3DA",                  "contractId = A",                             ""),
        ("filter=filter%3DcontractId%3DA",           "contractId = A",                             ""),
        ("filter=username%3DA%2526B",                "username = A&B",                             ""),
        ("filter=username%3D100%25",                 "username = 100%",                            ""),
        ("filter=createdAt%3E%3D2026-01-01T00%3A00%3A00%2B01%3A00",
                                                     "createdAt >= 2026-01-01T00:00:00+01:00",     ""),
        // Encoded twice: decoded only once.
        ("filter=contractId%253DA",                  "",                                           "contractId=A"),
        ("contractId%253DA",                         "",                                           "contractId=A"),
        ("filter%3DcontractId=A",                    "contractId = A",                             ""),
        ("filter=filter=contractId=A",               "contractId = A",                             ""),
        // Ignored conditions have no effect.
        ("color=red",                                "",                                           "color"),
        ("color=red&contractId=A",                   "contractId = A",                             "color"),
        ("color=red;contractId=A",                   "contractId = A",                             "color"),
        ("contractId>A",                             "",                                           "contractId"),
        ("contractId%3E=A;username=B",               "username = B",                               "contractId"),
        ("contractId!=A",                            "",                                           "contractId!"),
        ("usage=ACTIVE",                             "",                                           "usage"),
        ("contractId",                               "",                                           "contractId"),
        ("filter=color",                             "",                                           "color"),
        ("=A",                                       "",                                           ""),
        ("%FF=A",                                    "",                                           "\u{fffd}"),
        // No conditions.
        ("filter=",                                  "",                                           ""),
        ("filter",                                   "",                                           ""),
        ("&&;;&;",                                   "",                                           ""),
        (";contractId=A;",                           "contractId = A",                             ""),
    ];
    for (query, means, names) in cases {
        let expression = Expression::parse(query, &FILTER_FIELDS);
        assert_eq!(
            (in_words(&expression), ignored(&expression)),
            (means.into(), names.into()),
            "{query}"
        );
        assert_eq!(expression.faults, [], "{query}");
    }
}

#[test]
fn a_value_that_is_not_utf8_is_a_fault_of_its_name() {
    for (query, name) in
        [("pageSize=%FF", "pageSize"), ("name=%FF", "name"), ("label.site=%FF", "label.site")]
    {
        let faults = Expression::parse(query, &FILTER_FIELDS).faults;
        let names: Vec<&str> = faults.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, [name], "{query}");
    }
}

#[test]
fn an_empty_part_is_noticed() {
    for query in ["name=a&", ";name=a", "name=a&&name=b", "name=a&filter=", "name%3Da%26", ""] {
        assert!(Expression::parse(query, &FILTER_FIELDS).has_empty_part, "{query}");
    }
    for query in ["name=a", "filter=name=a&name=b", "name%3Da%3Bname%3Db", "name="] {
        assert!(!Expression::parse(query, &FILTER_FIELDS).has_empty_part, "{query}");
    }
}

#[test]
fn parameters_of_the_request_may_stand_anywhere() {
    #[rustfmt::skip]
    let cases = [
        // query                                      // request                     // kept
        ("pageSize=10",                               "pageSize=10",                 ""),
        ("contractId=A&pageSize=10&x=1",              "pageSize=10",                 "contractId=A&x=1"),
        ("pageSize=10;contractId=A",                  "pageSize=10",                 "contractId=A"),
        ("contractId=A;pageNumber=2&username=B",      "pageNumber=2",                "contractId=A;username=B"),
        ("contractId=A&pageSize=1;username=B&pageNumber=3",
                                                      "pageSize=1 pageNumber=3",     "contractId=A;username=B"),
        ("filter=pageSize=10",                        "pageSize=10",                 ""),
        ("filter=contractId%3DA%26pageSize%3D5",      "pageSize=5",                  "filter=contractId%3DA"),
        ("filter=contractId%3DA%26pageSize%3D5%3Bname%3D%26&x=%41",
                                         "pageSize=5",  "filter=contractId%3DA%3Bname%3D%26&x=%41"),
        ("contractId=A&filter=pageSize%3D5%3B&name=B",  "pageSize=5",     "contractId=A&filter=%3B&name=B"),
        ("pageSize",                                  "pageSize=",                   ""),
        ("pageSize=1&pageSize=2",                     "pageSize=1 pageSize=2",       ""),
        ("page%53ize=%31",                            "pageSize=1",                  ""),
        ("pageSize%3E=10",                            "",                            "pageSize%3E=10"),
        ("x=%zz&contractId=%41;&y",                   "",                            "x=%zz&contractId=%41;y"),
    ];
    for (query, request, link_query) in cases {
        let expression = Expression::parse(query, &FILTER_FIELDS);
        let shown: Vec<_> =
            expression.request.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            (shown.join(" ").as_str(), expression.link_query.as_str()),
            (request, link_query),
            "{query}"
        );
    }
}

#[test]
fn a_value_that_is_not_utf_8_is_a_fault_unless_it_is_ignored() {
    for query in ["username=%FF", "filter=username%3D%25FF", "contractId=A;createdAt%3E=%C3"] {
        let expression = Expression::parse(query, &FILTER_FIELDS);
        assert_eq!(expression.faults.len(), 1, "{query}");
        assert!(expression.faults[0].reason.contains("UTF-8"), "{query}");
    }
    assert_eq!(Expression::parse("color=%FF", &FILTER_FIELDS).faults, []);
}

#[test]
fn a_filter_has_bounds() {
    let alternatives = |n: usize| vec!["contractId=A"; n].join(";");
    let conditions = |n: usize| vec!["contractId=A"; n].join("&");
    let faults = |query: String| Expression::parse(&query, &FILTER_FIELDS).faults;
    assert_eq!(faults(alternatives(ALTERNATIVES_MAX)), []);
    assert_eq!(faults(conditions(CONDITIONS_MAX)), []);
    assert_eq!(faults(alternatives(33))[0].reason, "may have at most 32 alternatives, not 33");
    assert_eq!(faults(conditions(65))[0].reason, "may have at most 64 conditions, not 65");
    // Encoding makes no difference, and ignored conditions don't count.
    let encoded = format!("filter={}", encoded(alternatives(33).as_bytes()));
    assert_eq!(faults(encoded).len(), 1);
    assert_eq!(faults(vec!["color=red"; 100].join(";")), []);
    assert_eq!(faults("x".repeat(100_000)), []);
}

fn keeps_its_meaning_when_printed(query: &str) {
    for fields in [&FILTER_FIELDS, &super::product::FILTER_FIELDS] {
        keeps_its_meaning(query, fields);
    }
}

fn keeps_its_meaning(query: &str, fields: &FilterFields) {
    let expression = Expression::parse(query, fields);
    let printed = expression.filter.to_string();
    let again = Expression::parse(&printed, fields);
    assert_eq!(again.filter, expression.filter, "{query:?} printed as {printed:?}");
    assert!(again.ignored.is_empty() && again.request.is_empty(), "{printed:?}");
    assert!(printed.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"#".contains(&byte)));
    // Links keep the client's text, so it must keep its meaning.
    let link_query = Expression::parse(&expression.link_query, fields);
    assert_eq!(
        link_query.filter, expression.filter,
        "{query:?} kept as {:?}",
        expression.link_query
    );
    assert_eq!(link_query.request, []);
    let names = |expression: &Expression| {
        expression.ignored.iter().map(|it| it.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&link_query), names(&expression));
}

/// Filters that can be printed: `<` followed by `=` is always `<=`.
fn any_filter() -> impl Strategy<Value = Filter> {
    let word = prop::sample::select(FILTER_FIELDS.filterable);
    let condition = word.prop_flat_map(|word| {
        (prop::sample::select(word.operators), any::<String>(), "[a-z0-9._-]{1,63}")
            .prop_filter("can't be printed", |(operator, value, _)| {
                matches!(operator.as_str(), "=" | ">=" | "<=") || !value.starts_with('=')
            })
            .prop_map(move |(operator, value, key)| Condition {
                name: word.name,
                key: word.has_key.then(|| key.parse().unwrap()),
                operator,
                value: if operator == Operator::Present { String::new() } else { value },
            })
    });
    prop::collection::vec(prop::collection::vec(condition, 1..5), 0..6)
        .prop_map(|alternatives| Filter { alternatives })
}

/// Text that resembles a query.
fn any_query() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(vec![
            "contractId",
            "label.site",
            "createdAt",
            "pageSize",
            "filter",
            "filter=",
            "=",
            ">",
            "<",
            ">=",
            "&",
            ";",
            "%3D",
            "%3E",
            "%26",
            "%3B",
            "%25",
            "%253D",
            "%",
            "%FF",
            "A",
            "+",
            "2026-01-01",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(query in any::<String>()) {
        keeps_its_meaning_when_printed(&query);
    }

    #[test]
    fn no_malformed_query_makes_the_parser_panic(query in any_query()) {
        keeps_its_meaning_when_printed(&query);
    }

    #[test]
    fn a_printed_filter_parses_to_itself(filter in any_filter()) {
        let read = Expression::parse(&filter.to_string(), &FILTER_FIELDS);
        prop_assert_eq!(read.filter, filter);
        prop_assert!(read.ignored.is_empty() && read.request.is_empty() && read.faults.is_empty());
    }
}
