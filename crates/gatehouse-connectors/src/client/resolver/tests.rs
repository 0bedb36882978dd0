use super::*;
use crate::client::tests::here;

fn resolved(
    rules: &AddressRules,
    is_plain_http: bool,
    found: &[&str],
) -> Result<Vec<String>, String> {
    let found = found.iter().map(|it| it.parse().unwrap()).collect();
    let allowed = allowed(rules, is_plain_http, found).map_err(|it| it.to_string())?;
    Ok(allowed.iter().map(ToString::to_string).collect())
}

const MIXED: [&str; 7] =
    ["10.0.0.7", "169.254.169.254", "127.0.0.1", "::1", "2001:db8::7", "fe80::1", "203.0.113.9"];

#[test]
fn a_name_resolves_to_allowed_addresses_only() {
    let none = AddressRules::default();
    assert_eq!(resolved(&none, false, &MIXED).unwrap(), ["2001:db8::7", "203.0.113.9"]);
    let expected = ["127.0.0.1", "::1", "2001:db8::7", "203.0.113.9"];
    assert_eq!(resolved(&here(), false, &MIXED).unwrap(), expected);
}

#[test]
fn over_plain_http_a_name_resolves_to_allowed_networks_only() {
    assert_eq!(resolved(&here(), true, &MIXED).unwrap(), ["127.0.0.1", "::1"]);
    let error = resolved(&here(), true, &["203.0.113.9"]).unwrap_err();
    let expected = "its name leads to a network that platforms.allowed_networks doesn't name, which is not called";
    assert_eq!(error, expected);
}

#[test]
fn a_name_without_allowed_addresses_is_refused_with_the_reason() {
    #[rustfmt::skip]
    let cases = [
        ("127.0.0.1",              "this machine"),
        ("::1",                    "this machine"),
        ("::ffff:127.0.0.1",       "this machine"),
        ("10.0.0.7",               "a private network"),
        ("169.254.0.1",            "a link-local address"),
        ("::ffff:169.254.169.254", "a cloud's metadata"),
        ("fd00:ec2::254",          "a cloud's metadata"),
        ("0.0.0.0",                "the unspecified address"),
    ];
    for (address, place) in cases {
        let expected = format!("its name leads to {place}, which is not called");
        let error = resolved(&AddressRules::default(), false, &[address]);
        assert_eq!(error, Err(expected), "{address}");
    }
}

#[test]
fn a_name_without_any_address_is_not_refused() {
    assert_eq!(resolved(&here(), true, &[]), Ok(Vec::new()));
}

#[test]
fn a_proxy_is_known_by_its_host() {
    let cases = [
        ("http://proxy.corp:3128", Some("proxy.corp")),
        ("proxy.corp:3128", Some("proxy.corp")),
        ("https://ann:secret@Proxy.corp/", Some("proxy.corp")),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(proxy_host(text).as_deref(), expected, "{text}");
    }
}

#[tokio::test]
async fn only_a_proxy_may_be_internal() {
    let look_up: HostLookUp = |_| Box::pin(async { Ok(vec![[10, 0, 0, 7].into()]) });
    let (rules, proxies) = (Arc::default(), ["proxy.corp".to_owned()].into());
    let resolver = Resolver { look_up, rules, is_plain_http: false, proxies };
    let resolve = async |name: &str| resolver.resolve(name.parse().unwrap()).await.is_ok();
    assert!(resolve("proxy.corp").await);
    assert!(!resolve("inside.corp").await);
}
