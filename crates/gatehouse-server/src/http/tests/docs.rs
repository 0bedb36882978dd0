//! The page with the OpenAPI document.

use super::*;

/// The URLs in a page, as written.
fn urls(html: &str) -> Vec<&str> {
    let after = |name: &'static str| {
        html.split(name).skip(1).map(|rest| rest.split('"').next().unwrap()).collect::<Vec<_>>()
    };
    [after("href=\""), after("src=\"")].concat()
}

#[tokio::test]
async fn the_page_needs_no_token_and_no_other_host() {
    for base in ["", "/prefix"] {
        let base_path = base.to_owned().try_into().unwrap();
        let gate = Gatehouse::with(Config { base_path, ..Config::default() }).await;
        let page = gate.send("GET", &format!("{base}/-/docs"), &[], b"").await;
        assert_eq!(page.status, 200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(!page.body.contains("//"), "the page refers to another host: {}", page.body);
        assert!(!page.body.contains("<style") && !page.body.contains("style="), "inline style");
        for script in page.body.split("<script").skip(1) {
            assert!(script.contains("defer></script>"), "inline code: {script}");
        }
        let named = urls(&page.body);
        assert_eq!(named.len(), 6, "{named:?}");
        for name in named {
            // Resolved as in a browser at `/-/docs`. HEAD for the image, because it is no text.
            let method = if name.ends_with(".png") { "HEAD" } else { "GET" };
            let response = gate.send(method, &format!("{base}/-/{name}"), &[], b"").await;
            let kind = match name.rsplit('.').next().unwrap() {
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                "png" => "image/png",
                _ => "application/json",
            };
            assert_eq!(response.status_and("content-type"), (200, Some(kind)), "{name}");
        }
        let script = gate.send("GET", &format!("{base}/-/docs/page.js"), &[], b"").await.body;
        assert!(script.contains("fetch(\"openapi.json\")") && !script.contains("://"), "{script}");
        let licence = gate.send("GET", &format!("{base}/-/docs/LICENSE"), &[], b"").await.body;
        assert!(licence.contains("Apache License"), "{licence}");
    }
}

#[tokio::test]
async fn the_pages_policy_allows_only_this_server() {
    let gate = Gatehouse::new().await;
    for path in ["/-/docs", "/-/docs/page.js", "/-/docs/swagger-ui-bundle.js"] {
        let response = gate.send("GET", path, &[], b"").await;
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    }
}

#[tokio::test]
async fn a_cached_file_is_revalidated_with_a_304() {
    let gate = Gatehouse::new().await;
    let mut tags = Vec::new();
    for path in ["/-/docs", "/-/docs/page.js", "/-/docs/swagger-ui.css"] {
        let response = gate.send("GET", path, &[], b"").await;
        assert_eq!(response.header("cache-control"), Some("no-cache"), "{path}");
        let tag = response.header("etag").unwrap().to_owned();
        let same = gate.send("GET", path, &[("if-none-match", &tag)], b"").await;
        assert_eq!((same.status, same.body.as_str()), (304, ""), "{path}");
        assert_eq!(same.header("etag"), Some(tag.as_str()), "{path}");
        let other = gate.send("GET", path, &[("if-none-match", "\"other\"")], b"").await;
        assert_eq!((other.status, other.body), (200, response.body), "{path}");
        assert!(!tags.contains(&tag), "{path}: every file has a different tag");
        tags.push(tag);
    }
}

#[tokio::test]
async fn a_trailing_slash_redirects_and_an_unknown_file_is_a_404() {
    let gate = Gatehouse::new().await;
    let response = gate.send("GET", "/-/docs/", &[], b"").await;
    assert_eq!(response.status_and("location"), (307, Some("http://gate.example/-/docs")));
    for path in [
        "/-/docs/nothing",
        "/-/docs/page.html",
        "/-/docs/..%2Fpage.js",
        "/-/docs/page.js/",
        "/-/docs//",
    ] {
        let response = gate.send("GET", path, &[], b"").await;
        assert_eq!(response.problem(), (404, "Unknown path".into()), "{path}");
    }
}
