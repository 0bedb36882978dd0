use super::*;

const AVAILABLE: [&str; 2] = ["application/json", "text/csv; charset=utf-8"];

fn with(name: HeaderName, values: &[&'static str]) -> HeaderMap {
    values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
}

#[test]
fn the_preferred_media_type_is_chosen() {
    #[rustfmt::skip]
    let cases: [(&[&'static str], Option<&str>); 22] = [
        // Accept                                            // chosen
        (&[],                                                Some("application/json")),
        (&[""],                                              Some("application/json")),
        (&["*/*"],                                           Some("application/json")),
        (&["application/*"],                                 Some("application/json")),
        (&["text/csv"],                                      Some("text/csv")),
        (&["TEXT/CSV"],                                      Some("text/csv")),
        (&["text/csv; charset=utf-8"],                       Some("text/csv")),
        (&["text/*"],                                        Some("text/csv")),
        (&["text/csv, */*"],                                 Some("text/csv")),
        (&["text/csv;q=0.5, */*"],                           Some("application/json")),
        (&["text/csv, application/json"],                    Some("application/json")),
        (&["text/csv", "application/json;q=0.9"],            Some("text/csv")),
        (&["text/csv;q=0.9, application/json;Q=0.91"],       Some("application/json")),
        (&["application/json;q=0, */*"],                     Some("text/csv")),
        (&["text/html, */*;q=0.1"],                          Some("application/json")),
        (&["text/csv;q=0.001"],                              Some("text/csv")),
        (&["text/csv;q=nan"],                                Some("text/csv")),
        (&["text/csv;q=7, application/json;q=0.9"],          Some("text/csv")),
        (&["text/csv;q=0"],                                  None),
        (&["*/*;q=0"],                                       None),
        (&["text/html, application/xml"],                    None),
        (&["*"],                                             None),
    ];
    for (accept, chosen) in cases {
        let given = media_type(&with(header::ACCEPT, accept), AVAILABLE.into_iter());
        assert_eq!(given.ok().map(essence), chosen, "{accept:?}");
    }
}

#[test]
fn a_406_names_the_available_media_types() {
    let accept = with(header::ACCEPT, &["text/html", "image/png"]);
    let reply = media_type(&accept, AVAILABLE.into_iter()).unwrap_err();
    assert_eq!(reply.status, StatusCode::NOT_ACCEPTABLE);
    let detail =
        "answers with application/json or text/csv, which Accept excludes: `text/html, image/png`";
    assert!(format!("{reply:?}").contains(detail), "{reply:?}");
}

#[test]
fn gzip_needs_an_accept_encoding() {
    #[rustfmt::skip]
    let cases: [(&[&'static str], bool); 19] = [
        (&[],                                     false),
        (&[""],                                   false),
        (&["gzip"],                               true),
        (&["GZIP"],                               true),
        (&["x-gzip"],                             true),
        (&["deflate, gzip, br, zstd"],            true),
        (&["br", "gzip;q=0.1"],                   true),
        (&["br"],                                 false),
        (&["*"],                                  true),
        (&["*;q=0.5"],                            true),
        (&["*;q=0"],                              false),
        (&["gzip;q=0, *"],                        false),
        (&["gzip;q=0"],                           false),
        (&["gzip;q=0.000"],                       false),
        (&["identity"],                           false),
        (&["identity;q=0, gzip"],                 true),
        (&["identity;q=0.5, gzip;q=0.4"],         false),
        (&["identity;q=0.5, gzip;q=0.5"],         true),
        (&["identity;q=0.5, *;q=1"],              true),
    ];
    for (accept, expected) in cases {
        assert_eq!(prefers_gzip(&with(header::ACCEPT_ENCODING, accept)), expected, "{accept:?}");
    }
}

#[test]
fn vary_is_one_list() {
    let mut headers = HeaderMap::new();
    vary(&mut headers, "Accept");
    vary(&mut headers, "Accept-Encoding");
    assert_eq!(headers[header::VARY], "Accept, Accept-Encoding");
}
