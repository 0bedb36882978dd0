use super::*;

#[test]
fn a_platform_is_where_it_may_be() {
    let cases = [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("https://API.example.com:443/v1//", "https://api.example.com/v1"),
        ("https://10.1.2.3:8443/x", "https://10.1.2.3:8443/x"),
        ("https://[fd12::1]", "https://[fd12::1]"),
        ("http://127.0.0.1:9700", "http://127.0.0.1:9700"),
        ("http://127.1.2.3", "http://127.1.2.3"),
        ("http://[::1]:9700/a", "http://[::1]:9700/a"),
        ("http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]"),
        ("http://localhost:9700", "http://localhost:9700"),
        ("http://0x7f000001", "http://127.0.0.1"),
    ];
    for (text, expected) in cases {
        let base = BaseUrl::parse(text, false).map(|it| it.to_string());
        assert_eq!(base.as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn encryption_is_asked_for_except_on_this_machine() {
    for text in ["http://api.example.com", "http://10.1.2.3", "http://localhost.example.com"] {
        let error = BaseUrl::parse(text, false).unwrap_err().to_string();
        assert!(error.starts_with("must be an https address such as"), "{error}");
        assert!(error.contains("platforms.allow_insecure_urls"), "{error}");
        assert!(BaseUrl::parse(text, true).is_ok(), "{text}");
    }
}

#[test]
fn places_that_are_no_platforms_are_refused_in_every_spelling() {
    let hosts = [
        "169.254.169.254",
        "169.254.0.1",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::169.254.169.254]",
        "[2002:a9fe:a9fe::1]",
        "[64:ff9b::127.0.0.1]",
        "[::127.0.0.1]",
        "[fe80::1]",
        "[febf::1]",
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
            let error = BaseUrl::parse(&text, true).unwrap_err().to_string();
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
        assert!(BaseUrl::parse(&format!("https://{host}"), false).is_ok(), "{host}");
    }
}

#[test]
fn what_is_no_address_is_told_without_a_secret() {
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
        assert_eq!(BaseUrl::parse(text, true).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn targets_are_behind_the_base_or_on_its_origin() {
    let base = BaseUrl::parse("https://api.example.com/v1/", false).unwrap();
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
    let bare = BaseUrl::parse("https://api.example.com", false).unwrap();
    assert_eq!(bare.join("/x").unwrap().as_str(), "https://api.example.com/x");
    assert_eq!(bare.join("//evil.example/x").unwrap().host_str(), Some("api.example.com"));
}

#[test]
fn an_address_is_looked_at_again_before_it_is_gone_to() {
    let check = |text: &str, allow| check(&Url::parse(text).unwrap(), allow);
    assert_eq!(check("https://api.example.com/x?y", false), Ok(()));
    assert_eq!(check("http://api.example.com", false), Err(Refused::Plain));
    assert_eq!(check("http://api.example.com", true), Ok(()));
    assert_eq!(check("https://169.254.169.254", true), Err(Refused::Host(LINK_LOCAL)));
    assert_eq!(check("gopher://api.example.com", true), Err(Refused::Scheme));
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed_or_told_about(text in "\\PC*", allow: bool) {
        if let Ok(base) = BaseUrl::parse(&text, allow) {
            proptest::prop_assert_eq!(BaseUrl::parse(&base.to_string(), allow), Ok(base));
        }
    }

    #[test]
    fn no_target_leaves_the_platform(target in "[/?.%2eE\\\\@:#a-z0-9-]{0,24}") {
        let base = BaseUrl::parse("https://api.example.com/v1", false).unwrap();
        if let Some(url) = base.join(&target) {
            proptest::prop_assert!(url.as_str().starts_with("https://api.example.com/v1"), "{}", url);
        }
    }

    #[test]
    fn an_ipv4_address_leads_to_the_same_place_when_it_is_mapped(bits: u32) {
        let address = Ipv4Addr::from(bits);
        proptest::prop_assert_eq!(reach(address.to_ipv6_mapped().into()), reach(address.into()));
    }
}
