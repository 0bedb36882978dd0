use super::*;
use http::Request;

#[test]
fn a_request_names_its_host_once() {
    use Version as V;
    #[rustfmt::skip]
    let cases: [(Version, &str, &[&str], bool); 16] = [
        // version    // target              // Host            // accepted?
        (V::HTTP_10, "/",                   &[],               true),
        (V::HTTP_10, "/",                   &["a", "b"],       false),
        (V::HTTP_11, "/",                   &[],               false),
        (V::HTTP_11, "/",                   &["a"],            true),
        (V::HTTP_11, "/",                   &["a:80"],         true),
        (V::HTTP_11, "/",                   &["a", "a"],       false),
        (V::HTTP_11, "/",                   &["u@a"],          false),
        (V::HTTP_11, "http://a/",           &[],               false),
        (V::HTTP_11, "http://a/",           &["a"],            true),
        (V::HTTP_2,  "http://a:80/",        &[],               true),
        (V::HTTP_2,  "http://a:80/",        &["a:80"],         true),
        (V::HTTP_2,  "http://a/",           &["b"],            false),
        (V::HTTP_2,  "http://a/",           &["a", "a"],       false),
        (V::HTTP_2,  "http://u@a/",         &[],               false),
        (V::HTTP_2,  "/",                   &["a"],            true),
        (V::HTTP_2,  "/",                   &[],               false),
    ];
    for (version, target, hosts, accepted) in cases {
        let mut request = Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(check_host(&parts).is_ok(), accepted, "{version:?} {target} {hosts:?}");
    }
}

#[test]
fn headers_have_two_limits() {
    let many = |n: usize| -> HeaderMap {
        let name = |n| HeaderName::try_from(format!("x-{n}")).unwrap();
        (0..n).map(|n| (name(n), HeaderValue::from_static("y"))).collect()
    };
    assert!(check_headers(&many(HEADERS_MAX)).is_ok());
    assert!(check_headers(&many(HEADERS_MAX + 1)).is_err());
    let long = |n: usize| -> HeaderMap {
        // One byte of name, four of separators.
        let value = HeaderValue::try_from("y".repeat(n - 5)).unwrap();
        [(HeaderName::from_static("x"), value)].into_iter().collect()
    };
    assert!(check_headers(&long(HEADER_BYTES_MAX)).is_ok());
    assert!(check_headers(&long(HEADER_BYTES_MAX + 1)).is_err());
}
