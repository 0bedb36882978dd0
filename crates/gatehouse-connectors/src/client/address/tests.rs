use super::*;
use crate::client::tests::here;

#[test]
fn allowed_addresses_are_normalised() {
    let cases = [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("https://API.example.com:443/v1//", "https://api.example.com/v1"),
        ("http://127.0.0.1:9700", "http://127.0.0.1:9700"),
        ("http://127.1.2.3", "http://127.1.2.3"),
        ("http://[::1]:9700/a", "http://[::1]:9700/a"),
        ("http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]"),
        ("http://localhost:9700", "http://localhost:9700"),
        ("http://0x7f000001", "http://127.0.0.1"),
    ];
    for (text, expected) in cases {
        let base = BaseUrl::parse(text, &here()).map(|it| it.to_string());
        assert_eq!(base.as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn https_is_required_outside_the_allowed_networks() {
    let none = AddressRules::default();
    for text in ["http://api.example.com", "http://203.0.113.9", "http://localhost.example.com"] {
        let error = BaseUrl::parse(text, &none).unwrap_err().to_string();
        assert!(error.starts_with("must be an https address such as"), "{error}");
        assert!(error.contains("platforms.allow_insecure_urls"), "{error}");
        let plain = AddressRules { allow_insecure_urls: true, ..AddressRules::default() };
        assert!(BaseUrl::parse(text, &plain).is_ok(), "{text}");
    }
    // The resolver checks the name's addresses at connection time.
    assert!(BaseUrl::parse("http://api.example.com", &here()).is_ok());
    assert!(BaseUrl::parse("http://203.0.113.9", &here()).is_err());
}

#[test]
fn internal_networks_must_be_allowed() {
    #[rustfmt::skip]
    let cases = [
        ("127.0.0.1",            "127.0.0.0/8"),
        ("2130706433",           "127.0.0.0/8"),
        ("0x7f.1",               "127.0.0.1"),
        ("localhost",            "127.0.0.1"),
        ("LOCALHOST.",           "::1"),
        ("a.localhost",          "::1"),
        ("[::1]",                "::1"),
        ("[::ffff:127.0.0.1]",   "127.0.0.0/8"),
        ("10.1.2.3",             "10.0.0.0/8"),
        ("172.31.255.1",         "172.16.0.0/12"),
        ("192.168.0.9",          "192.168.0.9"),
        ("169.254.0.1",          "169.254.0.0/16"),
        ("100.64.3.4",           "100.64.0.0/10"),
        ("198.19.0.1",           "198.18.0.0/15"),
        ("240.0.0.1",            "240.0.0.0/4"),
        ("[fd12::1]",            "fd12::/48"),
        ("[fc00::1]",            "fc00::/7"),
        ("[fe80::1]",            "fe80::/10"),
        ("[fec0::1]",            "fec0::/10"),
        ("[::ffff:10.1.2.3]",    "10.1.0.0/16"),
        ("[64:ff9b::10.1.2.3]",  "10.1.0.0/16"),
        ("[64:ff9b::10.1.2.3]",  "64:ff9b::/96"),
        ("[2002:a01:203::1]",    "10.1.2.3"),
        ("[64:ff9b:1::a:0:100:0]", "64:ff9b:1::/48"),
        ("[2001:0:a00:1::1]",    "2001::/32"),
    ];
    for (host, network) in cases {
        for scheme in ["http", "https"] {
            let text = format!("{scheme}://{host}:8080/v1");
            let plain = AddressRules { allow_insecure_urls: true, ..AddressRules::default() };
            let error = BaseUrl::parse(&text, &plain).unwrap_err().to_string();
            assert!(
                error.ends_with("unless platforms.allowed_networks names its network"),
                "{error}"
            );
            let networks = vec![network.parse().unwrap()];
            let rules = AddressRules { allowed_networks: networks, ..AddressRules::default() };
            assert!(BaseUrl::parse(&text, &rules).is_ok(), "{text} {network}");
        }
    }
}

#[test]
fn an_allowed_socket_includes_its_port() {
    let allowed_sockets = vec!["127.0.0.1:9700".parse().unwrap()];
    let rules = AddressRules { allowed_sockets, ..AddressRules::default() };
    for text in ["http://127.0.0.1:9700/v1", "https://[::ffff:127.0.0.1]:9700"] {
        assert!(BaseUrl::parse(text, &rules).is_ok(), "{text}");
    }
    for text in [
        "http://127.0.0.1:9701",
        "http://127.0.0.2:9700",
        "http://localhost:9700",
        "http://[::1]:9700",
    ] {
        assert!(BaseUrl::parse(text, &rules).is_err(), "{text}");
    }
}

#[test]
fn forbidden_addresses_are_refused_in_every_notation() {
    let hosts = [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[2002:a9fe:a9fe::1]",
        "[64:ff9b::127.0.0.1]",
        "[::127.0.0.1]",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "[fd00:ec2::254]",
        "[fd00:ec2::23]",
        "[fd00:ec2:1:2:3:4:5:6]",
        "[::ffff:0:169.254.169.254]",
        "[::ffff:0:127.0.0.1]",
        "192.0.0.192",
        "[fd20:ce::254]",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "0",
        "0.1.2.3",
        "[::]",
        "[::ffff:0.0.0.0]",
        "224.0.0.1",
        "239.255.255.255",
        "[ff02::1]",
        "255.255.255.255",
    ];
    for host in hosts {
        for scheme in ["http", "https"] {
            let text = format!("{scheme}://{host}:8080/v1");
            let error = BaseUrl::parse(&text, &AddressRules::anywhere()).unwrap_err().to_string();
            assert!(
                error.starts_with("must be the address of a platform, not "),
                "{text}: {error}"
            );
        }
    }
    let neighbours = [
        "169.253.255.255",
        "169.255.0.1",
        "[fec0::1]",
        "100.100.100.201",
        "192.0.0.191",
        "223.0.0.1",
        "[fd00:ec1::254]",
        "[fd00:ec3::254]",
        "[::ffff:0:10.1.2.3]",
    ];
    for host in neighbours {
        assert!(
            BaseUrl::parse(&format!("https://{host}"), &AddressRules::anywhere()).is_ok(),
            "{host}"
        );
    }
}

#[test]
fn an_invalid_address_is_reported_without_secrets() {
    #[rustfmt::skip]
    let cases = [
        ("",                                    "must be an https address such as `https://api.example.com/v1`, not ``"),
        ("api.example.com",                     "must be an https address such as `https://api.example.com/v1`, not `api.example.com`"),
        ("ftp://api.example.com",               "must be an https address such as `https://api.example.com/v1`, not `ftp://api.example.com`"),
        ("file:///etc/passwd",                  "must be an https address such as `https://api.example.com/v1`, not `file:///etc/passwd`"),
        ("https://ann:hunter2@",                "must be an https address such as `https://api.example.com/v1`"),
        ("https://ann:hunter2@api.example.com", "must not hold a user name or password: they belong into credentials"),
        ("https://ann@api.example.com",         "must not hold a user name or password: they belong into credentials"),
        ("https://api.example.com?key=hunter2", "must end with its path, without `?` and `#`"),
        ("https://api.example.com/#hunter2",    "must end with its path, without `?` and `#`"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            BaseUrl::parse(text, &AddressRules::anywhere()).unwrap_err().to_string(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn targets_are_behind_the_base_or_on_its_origin() {
    let base = BaseUrl::parse("https://api.example.com/v1/", &AddressRules::default()).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("/sims?size=10",                        Some("https://api.example.com/v1/sims?size=10")),
        ("",                                     Some("https://api.example.com/v1")),
        ("?size=10",                             Some("https://api.example.com/v1?size=10")),
        ("/a/../b",                              Some("https://api.example.com/v1/b")),
        ("https://api.example.com/other?c=1",    Some("https://api.example.com/other?c=1")),
        ("https://API.example.com:443/x",        Some("https://api.example.com/x")),
        ("/../admin",                            None),
        ("/%2e%2E/admin",                        None),
        ("/a/..\\../admin",                      None),
        ("sims",                                 None),
        ("@evil.example/",                       None),
        (".evil.example/",                       None),
        (":8443/",                               None),
        ("/sims#x",                              None),
        ("http://api.example.com/x",             None),
        ("https://api.example.com:8443/x",       None),
        ("https://evil.example/x",               None),
        ("https://a:b@api.example.com/x",        None),
    ];
    for (target, expected) in cases {
        let url = base.join(target).map(String::from);
        assert_eq!(url.as_deref(), expected, "{target}");
    }
    let bare = BaseUrl::parse("https://api.example.com", &AddressRules::default()).unwrap();
    assert_eq!(bare.join("/x").unwrap().as_str(), "https://api.example.com/x");
    assert_eq!(bare.join("//evil.example/x").unwrap().host_str(), Some("api.example.com"));
}

#[test]
fn a_url_is_checked_again_before_each_call() {
    let route = |text: &str, rules: &AddressRules| rules.route(&Url::parse(text).unwrap());
    let (none, anywhere) = (AddressRules::default(), AddressRules::anywhere());
    assert_eq!(route("https://api.example.com/x?y", &none), Ok(Route::Public));
    assert_eq!(route("http://api.example.com", &none), Err(AddressRefused::PlainHttp));
    assert_eq!(route("http://api.example.com", &here()), Ok(Route::Internal));
    assert_eq!(route("http://api.example.com", &anywhere), Ok(Route::Public));
    assert_eq!(route("https://127.0.0.1", &here()), Ok(Route::Internal));
    assert_eq!(route("https://127.0.0.1", &none), Err(AddressRefused::Internal(THIS_MACHINE)));
    let metadata = Err(AddressRefused::Forbidden("a cloud's metadata"));
    assert_eq!(route("https://169.254.169.254", &anywhere), metadata);
    assert_eq!(route("gopher://api.example.com", &anywhere), Err(AddressRefused::Scheme));
}

proptest::proptest! {
    #[test]
    fn any_text_parses_as_an_address_or_is_rejected(text in "\\PC*", is_anywhere: bool) {
        let rules = if is_anywhere { AddressRules::anywhere() } else { AddressRules::default() };
        if let Ok(base) = BaseUrl::parse(&text, &rules) {
            proptest::prop_assert_eq!(BaseUrl::parse(&base.to_string(), &rules), Ok(base));
        }
    }

    #[test]
    fn no_target_leaves_the_platform(target in "[/?.%2eE\\\\@:#a-z0-9-]{0,24}") {
        let base = BaseUrl::parse("https://api.example.com/v1", &AddressRules::default()).unwrap();
        if let Some(url) = base.join(&target) {
            proptest::prop_assert!(url.as_str().starts_with("https://api.example.com/v1"), "{}", url);
        }
    }

    #[test]
    fn a_mapped_ipv4_address_has_the_same_scope(bits: u32) {
        let address = Ipv4Addr::from(bits);
        proptest::prop_assert_eq!(scope_of(address.to_ipv6_mapped().into()), scope_of(address.into()));
    }
}
