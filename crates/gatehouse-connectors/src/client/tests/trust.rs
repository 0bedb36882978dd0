//! Secrets in failures, and TLS certificates.

use super::*;

#[tokio::test]
async fn a_platforms_text_is_shown_without_secrets() {
    let platform = Platform::new(|_, head| {
        let body = format!("no such token {SECRET} in\n{head}{}", "x".repeat(SHOWN_BYTES_MAX));
        reply(401, "", &body)
    })
    .await;
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, "Bearer drawn-for-this-hour".parse().unwrap());
    let response = client(&platform.url()).get(patient(), "/x", headers).await.unwrap();
    let failure = response.failure("the platform refuses the credentials");
    let shown = format!("{failure:?} {response:?}");
    assert!(!shown.contains("hunter22") && !shown.contains("drawn-for-this-hour"), "{shown}");
    let shown = failure.response.unwrap();
    assert!(shown.body.starts_with("no such token *** in GET /x HTTP/1.1  "), "{shown:?}");
    assert!(shown.body.contains("authorization: ***"), "{shown:?}");
    assert_eq!((shown.status, shown.body.len()), (401, SHOWN_BYTES_MAX));
}

/// A client that trusts one certificate, valid in these years, and a platform that presents it.
async fn encrypted(years: (i32, i32), is_trusted: bool) -> (Platform, PlatformClient) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let platform = Platform::with_tls(acceptor, |_, _| reply(200, "", "{}")).await;
    let trusted = reqwest::Certificate::from_der(certificate.der()).unwrap();
    let pool = ClientPool::build(here(), CALLS_AT_ONCE, system_look_up, |builder| {
        if is_trusted { builder.tls_certs_only([trusted.clone()]) } else { builder }
    });
    let url = format!("https://{}", platform.address);
    let client = client_with(pool.unwrap(), &url, UNLIMITED);
    (platform, client)
}

#[tokio::test]
async fn a_certificate_must_be_valid_and_trusted() {
    let (platform, client) = encrypted((2020, 4096), true).await;
    assert_eq!(get(&client, patient()).await.unwrap().status, StatusCode::OK);
    assert_eq!(platform.n_requests(), 1);

    let cases = [
        ((2020, 2021), true, "the certificate has expired"),
        ((4095, 4096), true, "the certificate is not valid yet"),
        ((2020, 4096), false, "the certificate is not trusted: its issuer is unknown"),
    ];
    for (years, is_trusted, message) in cases {
        let (platform, client) = encrypted(years, is_trusted).await;
        let failure = get(&client, patient()).await.unwrap_err();
        assert_eq!(failure.detail, format!("the platform can't be reached: {message}"));
        assert_eq!((failure.kind, platform.n_requests()), (FailureKind::Error, 0));
    }
}
