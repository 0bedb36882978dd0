//! The console's files and their headers.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use super::*;

const GZIP: [(&str, &str); 1] = [("accept-encoding", "gzip, br")];

#[tokio::test]
async fn the_page_and_its_files_need_no_token() {
    for base in ["", "/prefix"] {
        let base_path = base.to_owned().try_into().unwrap();
        let gate = Gatehouse::with(Config { base_path, ..Config::default() }).await;
        let page = gate.send("GET", &format!("{base}/-/console/"), &[], b"").await;
        assert_eq!(page.status, 200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.body.starts_with("<!doctype html>"), "{}", page.body);
        let script = gate.send("GET", &format!("{base}/-/console/console.js"), &[], b"").await;
        assert_eq!(script.status, 200);
        assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));

        let redirect = gate.send("GET", &format!("{base}/-/console"), &[], b"").await;
        let location = format!("http://gate.example{base}/-/console/");
        assert_eq!(redirect.status_and("location"), (307, Some(location.as_str())));
    }
}

/// The files below a directory, by relative path.
fn files_below(dir: &Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|it| !it.file_name().to_string_lossy().starts_with('.'));
    let files = files.flat_map(|entry| {
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => files_below(&entry.path(), &format!("{name}/")),
            false => vec![(name, std::fs::read(entry.path()).unwrap())],
        }
    });
    files.collect()
}

#[tokio::test]
async fn every_file_of_the_console_is_served() {
    let gate = Gatehouse::new().await;
    let files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console"), "");
    assert!(files.iter().any(|(name, _)| name == "index.html"));
    for (name, bytes) in files {
        let (parts, body) = gate.fetch("GET", &format!("/-/console/{name}"), &[]).await;
        assert_eq!(parts.status, 200, "{name}");
        assert!(body == bytes, "{name}");
    }
}

#[tokio::test]
async fn an_unknown_file_of_the_console_is_a_404() {
    let gate = Gatehouse::new().await;
    for name in
        ["nothing", "view/nothing.js", "console.js/", "..%2Fconsole.js", "/", "../docs", "%FF"]
    {
        let response = gate.send("GET", &format!("/-/console/{name}"), &[], b"").await;
        assert_eq!(response.problem(), (404, "Unknown path".into()), "{name}");
    }
}

#[tokio::test]
async fn the_console_runs_only_its_own_code_and_is_isolated_from_other_pages() {
    let gate = Gatehouse::new().await;
    for path in ["/-/console/", "/-/console/console.js"] {
        let response = gate.send("GET", path, &[], b"").await;
        assert_eq!(
            response.header("content-security-policy"),
            Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                 require-trusted-types-for 'script'"
            ),
            "{path}"
        );
        assert_eq!(response.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(response.header("cache-control"), Some("no-cache"));
    }
}

#[tokio::test]
async fn text_files_are_compressed_if_the_browser_accepts_gzip() {
    let gate = Gatehouse::new().await;
    for path in ["/-/console/", "/-/console/console.js", "/-/docs", "/-/docs/swagger-ui-bundle.js"]
    {
        let plain = gate.send("GET", path, &[], b"").await;
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        let (parts, body) = gate.fetch("GET", path, &GZIP).await;
        assert_eq!(parts.headers["content-encoding"], "gzip", "{path}");
        assert_eq!(parts.headers["content-length"], body.len().to_string(), "{path}");
        for (headers, what) in [(&plain.headers, "plain"), (&parts.headers, "compressed")] {
            assert_eq!(headers["vary"], "Accept-Encoding", "{path} {what}");
        }
        assert_eq!(parts.headers["content-type"], plain.headers["content-type"], "{path}");
        let mut unpacked = String::new();
        GzDecoder::new(&body[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain.body, "{path}");

        // Each encoding has its own tag, so that caches don't mix them up.
        let tags = [&plain.headers, &parts.headers].map(|it| it["etag"].to_str().unwrap());
        assert_ne!(tags[0], tags[1], "{path}");
        for (headers, own, other) in [(&[][..], tags[0], tags[1]), (&GZIP[..], tags[1], tags[0])] {
            let with = |tag| [headers, &[("if-none-match", tag)]].concat();
            let (same, body) = gate.fetch("GET", path, &with(own)).await;
            assert_eq!((same.status.as_u16(), body.len()), (304, 0), "{path}");
            assert_eq!(
                (&same.headers["etag"], &same.headers["vary"]),
                (&own.parse().unwrap(), &"Accept-Encoding".parse().unwrap())
            );
            assert_eq!(same.headers.get("content-encoding"), None, "{path}");
            assert_eq!(gate.fetch("GET", path, &with(other)).await.0.status, 200, "{path}");
        }

        let (head, nothing) = gate.fetch("HEAD", path, &GZIP).await;
        assert_eq!((head.status.as_u16(), nothing.len()), (200, 0), "{path}");
        for name in ["content-length", "content-encoding", "etag"] {
            assert_eq!(head.headers[name], parts.headers[name], "{path} {name}");
        }
    }
    let picture = gate.fetch("GET", "/-/docs/favicon-32x32.png", &GZIP).await.0;
    assert_eq!(picture.headers.get("content-encoding"), None, "PNG is compressed already");
}
