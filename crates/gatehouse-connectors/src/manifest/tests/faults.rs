//! Faults of a manifest, with their positions.

use proptest::prelude::*;

use super::GOOD;
use crate::manifest::Manifest;
use crate::manifests::Manifests;

/// Faults of the good manifest after a replacement.
fn faults_after(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    Manifest::parse("m.yaml", &GOOD.replace(from, to))
        .map_or_else(|it| it.to_string(), |_| String::new())
}

#[test]
fn the_good_manifest_is_good() {
    Manifest::parse("m.yaml", GOOD).unwrap_or_else(|faults| panic!("{faults}"));
}

#[test]
fn contradictions_are_reported_with_their_line() {
    #[rustfmt::skip]
    let cases = [
        ("title: Alpha",            "title: ' '",              3,  "`title` must say"),
        ("refusals_max: 3",         "refusals_max: 0",         20, "`session.refusals_max` must be at least 1"),
        ("lifetime: 1h",            "lifetime: 0s",            19, "`session.lifetime` must be longer than nothing"),
        ("X-Next }",                "'no header' }",           26, "`paging.next.header` must be the name of a header"),
        ("items: $.data\nlook_up",  "items: $.data[*]\nlook_up", 30, "`list.items` must lead to the list itself"),
        ("get: \"/sims/{value}\"",  "get: \"/{settings.org}/{value}\"", 32, "`look_up.id.call.get` mentions settings.org, which is optional"),
        ("get: \"/sims/{value}\"",  "get: \"/{credentials.pin}/{value}\"", 32, "`look_up.id.call.get` mentions credentials.pin, which is optional"),
        ("limit: \"{page.size}\"",  "limit: \"{settings.baseUrl}{page.size}\"", 29, "`list.call.query.limit` mentions settings.baseUrl"),
        ("serial_number: never_carried", "serial_number: not_searchable", 36, "`look_up.serial_number` must be never_carried"),
        ("imsi: not_searchable",    "imsi: never_carried",     34, "`look_up.imsi` can't be never_carried"),
        ("  belongs_to: $.sim\n",   "",                        38, "`detail` must say whose each answer is"),
        ("{ path: $.satellite, equals: true }", "{ status: 200 }", 58, "`product.satellite_when.status` is the status of an answer"),
        ("per: 1s",                 "per: 0s",                 66, "`limits.buckets[0].per` must be longer"),
        ("calls_at_once: 16",       "calls_at_once: 0",        64, "`limits.calls_at_once` must be 1 to 1000"),
    ];
    for (from, to, line, expected) in cases {
        let faults_after = faults_after(from, to);
        let (place, what) =
            faults_after.split_once(": ").unwrap_or_else(|| panic!("nothing for {to}"));
        assert!(
            place.starts_with(&format!("m.yaml:{line}:")) && what.starts_with(expected),
            "{to}: {faults_after}"
        );
    }
}

#[test]
fn every_other_mistake_is_reported_with_position_and_advice() {
    #[rustfmt::skip]
    let cases = [
        // The account.
        ("https://api.alpha.example/v1", "http://api.alpha.example", "6:13: `account.base_url` "),
        ("authUrl: {", "baseUrl: {", "8:14: `account.settings.baseUrl` is a setting that every account has: leave it out"),
        ("org: { desc", "or_g: { desc", "9:11: `account.settings.or_g` must be named by letters and digits alone"),
        ("default: \"https://auth.alpha.example\"", "default: nowhere", "8:76: `account.settings.authUrl.default` "),
        ("A part of the platform, optional: true", "A part, default: c, matches: a|b", "9:42: `account.settings.org.default` must be like `matches`"),
        ("pin: { desc", "p.n: { desc", "12:10: `account.credentials.p.n` must be named by letters and digits alone"),
        ("A part of the platform, optional: true", "A size, narrows: page_size, default: '101'", "9:62: `account.settings.org.default` must be a whole number, 1 to 100"),
        ("A part of the platform, optional: true", "A size, narrows: look_up, default: many", "9:60: `account.settings.org.default` must be a whole number, 1 to 50"),
        ("A part of the platform, optional: true", "A way, default: a, variants: { b: { paging: { by: offset, size: { max: 0 } }, list: { call: { get: /a, query: { n: '{page.size}', o: '{page.offset}' } }, items: $ } } }", "9:89: `account.settings.org.variants.b.paging.size` must be sizes from 1 to 10000"),
        ("A part of the platform, optional: true", "A way, default: a, variants: { b: { paging: { by: offset, size: { fixed: 5 } }, list: { call: { get: /a }, items: $ } } }", "9:119: `account.settings.org.variants.b.list.call` must mention `{page.offset}`"),
        ("A part of the platform, optional: true", "A way, default: a, variants: { a: { paging: { by: offset, size: { fixed: 5 } }, list: { call: { get: '/{page.offset}' }, items: $ } } }", "9:59: `account.settings.org.variants.a` is the default"),
        ("A part of the platform, optional: true", "A way, variants: { a: { paging: { by: offset, size: { fixed: 5 } }, list: { call: { get: '/{page.offset}' }, items: $ } } }", "9:10: `account.settings.org` must have `default`"),
        // Calls.
        ("post: /session,", "", "17:13: `session.calls[1].call` must say where to ask: `get: /path` or `post: /path`"),
        ("post: /session,", "get: /a, post: /b,", "17:13: `session.calls[1].call` must have `get` or `post`, not both"),
        ("post: /session,", "post: /a, json: {}, form: {},", "17:13: `session.calls[1].call` must have `json` or `form`, not both"),
        ("post: /session,", "get: /a, json: {},", "17:13: `session.calls[1].call` has a body, which is for `post`"),
        ("post: /session,", "post: session,", "17:21: `session.calls[1].call.post` must ask at a path that begins with `/`, or with a setting that `is_url`, not at `session`"),
        ("post: /session,", "post: '{settings.org}/a',", "17:21: `session.calls[1].call.post` must ask at a path that begins with `/`"),
        ("X-Code:", "X Code:", "17:50: `session.calls[1].call.headers.X Code` must be the name of a header such as `X-Total-Count`, not `X Code`"),
        ("{session.code}", "{session.token}", "17:50: `session.calls[1].call.headers.X-Code` mentions session.token, which no call of the session takes before it"),
        ("{session.code}", "{page.size}", "17:50: `session.calls[1].call.headers.X-Code` mentions a page, where there is none"),
        ("{session.code}", "{value}", "17:50: `session.calls[1].call.headers.X-Code` mentions a value that is looked up, where there is none"),
        ("{credentials.apiKey}", "{credentials.key}", "15:55: `session.calls[0].call.json` mentions credentials.key, which account.credentials doesn't name"),
        ("take: { token: { header: X-Token } }", "take: {}", "22:29: `every_call.headers.Authorization` mentions session.token, which no call"),
        ("Bearer {session.token}", "Bearer x", "14:3: `session` takes what no call is made with: mention it in `every_call`"),
        ("headers: { Authorization:", "headers: { 'A:':", "22:20: `every_call.headers.A:` must be the name of a header"),
        // Pages.
        ("by: cursor", "by: number", "26:9: `paging.next` is for pages that are found `by: cursor`"),
        ("  next: { header: X-Next }\n", "", "24:3: `paging` must say what leads to the next page (`next`)"),
        ("size: { max: 100 }", "size: { max: 10001 }", "25:9: `paging.size` must be sizes from 1 to 10000"),
        ("size: { max: 100 }", "size: { max: 0 }", "25:9: `paging.size` must be sizes from 1 to 10000"),
        ("size: { max: 100 }", "size: {}", "25:9: `paging.size` must have `max`, or `fixed`"),
        ("size: { max: 100 }", "size: { fixed: 5, max: 5 }", "25:9: `paging.size` has `fixed`, and then neither `max` nor `min`"),
        ("size: { max: 100 }", "size: { min: 5, max: 4 }", "25:9: `paging.size` has `min` 5, which is more than `max` 4"),
        ("last: { path: $.last, equals: true }", "last: { equals: true }", "27:9: `paging.last` needs `path`, which says where to look"),
        ("last: { path: $.last, equals: true }", "last: { status: 204 }", "27:19: `paging.last.status` can't tell the last page: say `path`"),
        (", after: \"{page.cursor}\"", "", "29:9: `list.call` must mention `{page.cursor}`, or every page would be the same"),
        ("limit: \"{page.size}\", ", "", "29:9: `list.call` must mention `{page.size}`, or paging.size must be `fixed`"),
        // Look-ups and details.
        ("at_once: 50", "at_once: 0", "33:88: `look_up.iccid.at_once` must be 1 to 1000"),
        ("at_once: 50", "at_once: 1001", "33:88: `look_up.iccid.at_once` must be 1 to 1000"),
        ("{values}", "x", "33:18: `look_up.iccid.call` must mention `{value}` or `{values}`: nothing says what is looked up"),
        ("\"/sims/{value}\" }, items: $ }", "\"/sims/{value}\" }, items: '$.a[*]' }", "32:48: `look_up.id.items` must lead to the list itself (`$.data`), not into it (`$.data[*]`): an empty list and none at all are different things"),
        ("at_once: 20", "at_once: 0", "39:12: `detail.at_once` must be 1 to 1000"),
        ("[\"{value}\"]", "[x]", "38:9: `detail.call` must mention `{value}` or `{values}`"),
        ("items: $.data\n  belongs", "items: $.data[*]\n  belongs", "40:10: `detail.items` must lead to the list itself"),
        // Products.
        ("id: $.id", "id: []", "48:7: `product.id` must say where the platform's own name for it is"),
        ("status: { word: $.status }", "status: {}", "43:13: `detail.adds.status` must have `word`, or `otherwise`"),
        ("    word: $.state\n", "    otherwise: ACTIVE\n", "51:12: `product.status.words` are of no use without `word`"),
        ("on: ACTIVE", "on: Active", "50:5: `product.status` must be in upper case, such as ACTIVE, not `Active`"),
        ("is: TERMINATED", "is: ''", "50:5: `product.status` must be in upper case, such as ACTIVE, not ``"),
        ("when: { path: $.gone }", "when: {}", "53:17: `product.status.rules[0].when` must have `status` or `path`"),
        ("when: { path: $.gone }", "when: { status: 404 }", "53:27: `product.status.rules[0].when.status` is the status of an answer, which says nothing here"),
        ("{ name: tag, value: $.tags }", "{ name: tag }", "46:9: `detail.adds.properties[0]` must have both a name (`name` or `name_from`) and `value`"),
        ("entries: $.labels, keys", "name: a, value: $.a, keys", "57:7: `product.properties[0]` has `keys`, which are those of `entries`"),
        ("{ path: $.satellite, equals: true }", "{ exists: true }", "58:19: `product.satellite_when` needs `path`, which says where to look"),
        // Errors and limits.
        ("status: 4xx, path: $.code, one_of: [7, 8]", "one_of: [7, 8]", "62:15: `errors.rules[0].when` needs `path`, which says where to look"),
        ("calls_at_once: 16", "calls_at_once: 1001", "64:18: `limits.calls_at_once` must be 1 to 1000"),
        ("calls: 10,", "calls: 0,", "66:16: `limits.buckets[0].calls` must be 1 to 10000"),
        ("calls: 10,", "calls: 10001,", "66:16: `limits.buckets[0].calls` must be 1 to 10000"),
        ("reset: X-Reset", "reset: X Reset", "67:37: `limits.wait.reset` must be the name of a header"),
        ("remaining: X-Left", "remaining: ''", "67:22: `limits.wait.remaining` must be the name of a header"),
        // Texts that can't be parsed.
        ("manifest: 1", "manifest: 2", "1:11: must be 1, not 2"),
        ("name: alpha", "name: Alpha", "2:7: "),
        ("title: Alpha", "titel: Alpha", "3:1: unknown field `titel`"),
        ("title: Alpha\n", "", "62:1: missing field `title`"),
        ("CELLULAR", "CELULAR", "4:15: unknown variant `CELULAR`"),
        ("imsi: not_searchable", "imsi: unknown", "34:9: must be never_carried, not_searchable, or how it is asked (`call`, `items`), not `unknown`"),
        ("lifetime: 1h", "lifetime: 1w", "19:13: must be a whole number and s, m, h or d, such as `90s` or `365d`, not `1w`"),
        ("belongs_to: $.sim", "belongs_to: sim", "41:15: must be a JSONPath such as `$.data`"),
        ("status: 4xx", "status: 4yy", "62:25: must be a status such as `404`, a list of them, or `4xx` for a hundred, not \"4yy\""),
        ("{page.cursor}", "{page.curser}", "29:61: has `{page.curser}`, which is no placeholder"),
    ];
    let mut misses = Vec::new();
    for (from, to, expected) in cases {
        let faults_after = faults_after(from, to);
        let is_told = faults_after.lines().any(|it| it.starts_with(&format!("m.yaml:{expected}")));
        if !is_told {
            misses.push(format!("{to}\n  wanted {expected}\n  actual {faults_after}"));
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[test]
fn a_session_has_one_or_two_calls_that_give_a_value() {
    let calls = &GOOD[GOOD.find("  calls:\n").unwrap()..GOOD.find("  lifetime").unwrap()];
    let one = "    - call: { post: /a }\n      take: { token: $.a }\n";
    for (to, expected) in [
        (
            "  calls: []\n".to_owned(),
            "m.yaml:14:10: `session.calls` must be one call or two, not 0",
        ),
        (
            format!("  calls:\n{one}{one}{one}"),
            "m.yaml:15:5: `session.calls` must be one call or two, not 3",
        ),
        (
            "  calls:\n    - call: { post: /a }\n".to_owned(),
            "m.yaml:15:5: `session.calls` must take something from their answers (`take`)",
        ),
    ] {
        let faults_after = faults_after(calls, &to);
        assert!(faults_after.lines().any(|it| it == expected), "{to}: {faults_after}");
    }
    let from = &GOOD[GOOD.find("detail:").unwrap()..GOOD.find("product:").unwrap()];
    let faults_after = faults_after("msisdn: not_searchable", "msisdn: never_carried");
    assert!(
        faults_after.starts_with("m.yaml:35:11: `look_up.msisdn` can't be never_carried"),
        "{faults_after}"
    );
    let (text, adds) =
        (GOOD.replace("msisdn: not_searchable", "msisdn: never_carried"), "  adds: {}\n");
    let bare = format!("{}{adds}", &from[..from.find("  adds").unwrap()]);
    let faults = Manifest::parse("m.yaml", &text.replace(from, &bare)).unwrap_err().to_string();
    assert_eq!(faults, "m.yaml:42:9: `detail.adds` must add something");
    let search = "{ call: { get: \"/sims/{value}\" }, items: $, is_detailed: true }";
    let text =
        text.replace(from, "").replace("{ call: { get: \"/sims/{value}\" }, items: $ }", search);
    let faults = Manifest::parse("m.yaml", &text).unwrap_err().to_string();
    assert_eq!(faults, "m.yaml:32:64: `look_up.id.is_detailed` is for a manifest with `detail`");
}

#[test]
fn all_faults_are_reported_at_once() {
    let text = GOOD.replace("title: Alpha", "title: ''").replace("per: 1s", "per: 0s");
    let faults = Manifest::parse("m.yaml", &text).unwrap_err();
    assert_eq!(faults.each().iter().map(|it| it.line).collect::<Vec<_>>(), [3, 66]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_changed_manifest_parses_or_has_faults_on_existing_lines(
        which in 0usize..8, at: prop::sample::Index, n in 0usize..12, with in r#"[{}\[\]$:,'" \n#&*!a-z0-9-]{0,8}"#,
    ) {
        let shipped = Manifests::shipped();
        let name = shipped.all().nth(which).unwrap().name().to_string();
        let mut text: Vec<char> = shipped.text(&name).unwrap().chars().collect();
        let from = at.index(text.len());
        let to = (from + n).min(text.len());
        text.splice(from..to, with.chars());
        let text: String = text.into_iter().collect();
        if let Err(faults) = Manifest::parse("m.yaml", &text) {
            let n_lines = text.split('\n').count() as u64;
            prop_assert!(!faults.each().is_empty());
            for fault in faults.each() {
                prop_assert!((1..=n_lines + 1).contains(&fault.line), "{faults}");
            }
        }
    }
}
