use proptest::prelude::*;

use super::*;

fn names(username: &str) -> PolicyNames<'_> {
    let access_id = "019a0000-0000-7000-8000-000000000000".parse().unwrap();
    PolicyNames { tenant: "acme", username, access_id, contract_id: "c-1" }
}

fn policy(topic: &str) -> Policy {
    let rule = TopicRule { topic: topic.parse().unwrap(), publish: true, subscribe: true };
    Policy { topics: vec![rule], ..Policy::default() }
}

fn may_publish(pattern: &str, topic: &str) -> bool {
    Topic::new(topic)
        .is_some_and(|topic| policy(pattern).allows(&names("u-1"), &TopicAction::Publish(topic)))
}

fn may_subscribe(pattern: &str, filter: &str) -> bool {
    TopicFilter::new(filter).is_some_and(|filter| {
        policy(pattern).allows(&names("u-1"), &TopicAction::Subscribe(filter))
    })
}

#[test]
fn a_topic_has_to_match_the_pattern() {
    for (pattern, topic, expected) in [
        ("a/b", "a/b", true),
        ("a/b", "a/b/c", false),
        ("a/b", "a", false),
        ("a/+", "a/b", true),
        ("a/+", "a/", true),
        ("a/+", "a", false),
        ("a/+/c", "a/b/c", true),
        ("a/#", "a", true),
        ("a/#", "a/b/c", true),
        ("a/#", "ab", false),
        ("#", "a/b", true),
        ("#", "$SYS/broker", false),
        ("+/broker", "$SYS/broker", false),
        ("devices/{username}/#", "devices/u-1/up", true),
        ("devices/{username}/#", "devices/u-2/up", false),
        ("{tenant}/{contractId}/{accessId}", "acme/c-1/019a0000-0000-7000-8000-000000000000", true),
        ("d-{username}-x", "d-u-1-x", true),
        ("#", "a/+", false),
        ("#", "a/#", false),
        ("#", "", false),
    ] {
        assert_eq!(may_publish(pattern, topic), expected, "{topic} by {pattern}");
    }
}

#[test]
fn a_subscription_gets_no_topic_that_the_pattern_has_not() {
    for (pattern, filter, expected) in [
        ("a/b", "a/b", true),
        ("a/b", "a/+", false),
        ("a/b", "a/#", false),
        ("a/b", "+/b", false),
        ("a/+", "a/b", true),
        ("a/+", "a/+", true),
        ("a/+", "a/#", false),
        ("a/+", "+/b", false),
        ("a/+", "a/+/c", false),
        ("a/#", "a", true),
        ("a/#", "a/#", true),
        ("a/#", "a/+/c", true),
        ("a/#", "#", false),
        ("#", "#", true),
        ("#", "+/b", true),
        ("#", "$SYS/#", false),
        ("a/#", "$share/group/a/b", true),
        ("a/#", "$share/group/b", false),
        ("a/#", "$share/group", false),
        ("#", "a+", false),
        ("#", "a/#/b", false),
        ("#", "", false),
    ] {
        assert_eq!(may_subscribe(pattern, filter), expected, "{filter} by {pattern}");
    }
}

#[test]
fn a_name_with_a_character_of_a_dialect_gives_no_right() {
    for username in ["+", "#", "a/b", "a.b", "*", ">", "${x}", "%u", "a b", "ä", "", "u{username}"]
    {
        assert_eq!("d/{username}".parse::<TopicPattern>().unwrap().fill(&names(username)), None);
    }
    let plain = "d/{username}".parse::<TopicPattern>().unwrap();
    assert_eq!(plain.fill(&names("a_B:9@x=-")).unwrap(), "d/a_B:9@x=-");
    // A pattern without the name is for every device.
    assert_eq!("d".parse::<TopicPattern>().unwrap().fill(&names("#")).unwrap(), "d");
}

#[test]
fn a_pattern_has_plain_levels() {
    for good in
        ["a", "a/b", "+", "#", "a/+/b/#", "{username}", "d-{username}-{tenant}", "a:b@c=d-e_f"]
    {
        assert!(good.parse::<TopicPattern>().is_ok(), "{good}");
    }
    for bad in [
        "/a",
        "a/",
        "a//b",
        "a+",
        "a/#/b",
        "a.b",
        "a*",
        "a>",
        "$SYS",
        "%u",
        "{user}",
        "{username",
        "a b",
        "ä",
        "}",
        "{{username}}",
    ] {
        let error = bad.parse::<TopicPattern>().unwrap_err();
        assert!(matches!(error, BadTopicPattern::Level(_)), "{bad}");
    }
    assert_eq!("".parse::<TopicPattern>(), Err(BadTopicPattern::Length(0)));
    let long = "a".repeat(TOPIC_CHARS_MAX + 1);
    assert_eq!(long.parse::<TopicPattern>(), Err(BadTopicPattern::Length(TOPIC_CHARS_MAX + 1)));
}

#[test]
fn publishing_and_subscribing_are_separate_rights() {
    let mut policy = policy("a");
    policy.topics[0].subscribe = false;
    let (topic, filter) = (Topic::new("a").unwrap(), TopicFilter::new("a").unwrap());
    let allows = |action| policy.allows(&names("u-1"), &action);
    assert!(allows(TopicAction::Publish(topic)));
    assert!(!allows(TopicAction::Subscribe(filter)) && !allows(TopicAction::Receive(topic)));
}

#[test]
fn a_policy_is_read_as_it_was_stored() {
    assert_eq!(Policy::default().stored(), None);
    let rule = |topic: &str, publish, subscribe| TopicRule {
        topic: topic.parse().unwrap(),
        publish,
        subscribe,
    };
    let topics = vec![
        rule("devices/{username}/#", true, true),
        rule("news/#", false, true),
        rule("+", true, false),
        rule("off", false, false),
    ];
    let policy = Policy { topics, tags: BTreeSet::from([Tag::Management, Tag::Monitoring]) };
    let stored = policy.stored().unwrap();
    let lines = "\
topic ps devices/{username}/#
topic s news/#
topic p +
topic  off
tag management
tag monitoring
";
    assert_eq!(stored, lines);
    assert_eq!(stored.parse(), Ok(policy));
    for bad in ["topic a", "tag root", "x y", "topic p a+", ""] {
        assert_eq!(bad.parse::<Policy>().is_err(), !bad.is_empty(), "{bad}");
    }
}

fn level() -> impl Strategy<Value = String> {
    prop_oneof![Just("+".to_owned()), "[ab]", Just("#".to_owned())]
}

fn filter() -> impl Strategy<Value = String> {
    prop::collection::vec(level(), 1..4).prop_map(|levels| levels.join("/"))
}

proptest! {
    /// A filter that a rule covers never gets a topic that the rule doesn't match.
    #[test]
    fn what_is_covered_is_matched(
        rule in filter(), asked in filter(), topic in "[ab](/[ab]){0,3}"
    ) {
        let (Ok(_), Some(asked)) = (rule.parse::<TopicPattern>(), TopicFilter::new(&asked)) else {
            return Ok(());
        };
        let topic = Topic::new(&topic).unwrap();
        if super::topic::covers(&rule, &asked) && super::topic::matches(asked.as_str(), &topic) {
            prop_assert!(super::topic::matches(&rule, &topic));
        }
    }
}
