use super::*;

fn resolved(name: &str, found: &[&str]) -> Result<Vec<String>, String> {
    let found = found.iter().map(|it| it.parse().unwrap()).collect();
    let allowed = allowed(name, found).map_err(|it| it.to_string())?;
    Ok(allowed.iter().map(ToString::to_string).collect())
}

#[test]
fn a_name_leads_only_to_where_a_platform_may_be() {
    let mixed = ["10.0.0.7", "169.254.169.254", "127.0.0.1", "::1", "2001:db8::7", "fe80::1"];
    let expected = vec!["10.0.0.7".to_owned(), "2001:db8::7".to_owned()];
    assert_eq!(resolved("api.example.com", &mixed), Ok(expected));
}

#[test]
fn a_name_that_leads_nowhere_else_is_refused_with_the_reason() {
    #[rustfmt::skip]
    let cases = [
        ("api.example.com", "127.0.0.1",              "this machine"),
        ("api.example.com", "::1",                    "this machine"),
        ("api.example.com", "::ffff:127.0.0.1",       "this machine"),
        ("localhost.",      "127.0.0.1",              "this machine"),
        ("a.localhost",     "127.0.0.1",              "this machine"),
        ("api.example.com", "169.254.169.254",        "a link-local address"),
        ("api.example.com", "::ffff:169.254.169.254", "a link-local address"),
        ("api.example.com", "fd00:ec2::254",          "a cloud's metadata"),
        ("api.example.com", "0.0.0.0",                "the unspecified address"),
        ("localhost",       "10.0.0.7",               "another machine"),
    ];
    for (name, address, place) in cases {
        let expected = format!("its name leads to {place}, where nothing is asked");
        assert_eq!(resolved(name, &[address]), Err(expected), "{name} {address}");
    }
}

#[test]
fn localhost_is_this_machine() {
    let expected = vec!["::1".to_owned(), "127.0.0.1".to_owned()];
    assert_eq!(resolved("localhost", &["::1", "127.0.0.1", "10.0.0.7"]), Ok(expected));
}

#[test]
fn a_name_without_addresses_is_not_refused_for_them() {
    assert_eq!(resolved("api.example.com", &[]), Ok(Vec::new()));
}
