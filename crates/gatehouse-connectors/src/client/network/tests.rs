use super::*;

#[test]
fn a_network_contains_the_addresses_with_its_prefix() {
    #[rustfmt::skip]
    let cases = [
        ("10.20.0.0/16",  "10.20.255.255", true),
        ("10.20.0.0/16",  "10.21.0.0",     false),
        ("127.0.0.1",     "127.0.0.1",     true),
        ("127.0.0.1/32",  "127.0.0.2",     false),
        ("0.0.0.0/0",     "203.0.113.9",   true),
        ("0.0.0.0/0",     "::1",           false),
        ("::/0",          "fd12::1",       true),
        ("fd12::/48",     "fd12::9",       true),
        ("fd12::/48",     "fd12:0:1::9",   false),
        ("::1",           "::1",           true),
    ];
    for (network, address, expected) in cases {
        let read: Network = network.parse().unwrap();
        assert_eq!(read.contains(address.parse().unwrap()), expected, "{network} {address}");
    }
}

#[test]
fn an_invalid_network_is_rejected_with_an_example() {
    #[rustfmt::skip]
    let cases = [
        "", "localhost", "10.20.0.0/", "10.20.0.0/33", "10.20.0.0/+8", "10.20.0.0/-1", "10.20/16", "fd12::/129",
        "10.20.0.0/16/2", " 10.0.0.0/8", "*",
    ];
    for text in cases {
        let error = text.parse::<Network>().unwrap_err().to_string();
        assert!(error.starts_with("must be a network such as `10.20.0.0/16`"), "{text}: {error}");
    }
    assert_eq!(
        "10.20.30.40/16".parse::<Network>().unwrap_err().to_string(),
        "must be a network's first address: `10.20.0.0/16`, not `10.20.30.40/16`; a single address has no `/`"
    );
}

#[test]
fn a_network_is_shown_as_it_is_read() {
    for text in ["10.20.0.0/16", "127.0.0.1/32", "fd12::/48", "::/0"] {
        assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
    }
}
