use std::convert::Infallible;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use gatehouse_vault::TokenKeys;
use http::{Request, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::auth::Auth;

/// A local issuer with replies that a test chooses. Counts fetches of its keys.
pub(crate) struct TestIssuer {
    pub(crate) url: String,
    key: StdMutex<TokenKeys>,
    reply: StdMutex<IssuerReply>,
    n_fetched: AtomicUsize,
}

#[derive(Clone, Debug)]
pub(crate) enum IssuerReply {
    Valid,
    Raw(u16, &'static str),
    OtherIssuer(&'static str),
    KeysAt(String),
    NoKeys,
    WithFields(Value),
}

impl TestIssuer {
    pub(crate) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            key: StdMutex::new(TokenKeys::generate()),
            reply: StdMutex::new(IssuerReply::Valid),
            n_fetched: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&issuer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let issuer = Arc::clone(&serving);
                let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                    let answer = issuer.respond(request.uri().path());
                    async move { Ok::<_, Infallible>(answer) }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        issuer
    }

    fn respond(&self, path: &str) -> Response<Full<Bytes>> {
        let reply = self.reply.lock().unwrap().clone();
        let json = |json: Value| Response::new(Full::new(Bytes::from(json.to_string())));
        let keys = || format!("{}/keys", self.url);
        match (path, reply) {
            (_, IssuerReply::Raw(status, body)) => {
                let body = Full::new(Bytes::from(body));
                Response::builder().status(status).header("location", keys()).body(body).unwrap()
            }
            ("/keys", IssuerReply::NoKeys) => json(json!({"keys": []})),
            ("/keys", _) => {
                self.n_fetched.fetch_add(1, Ordering::SeqCst);
                json(self.key.lock().unwrap().jwks(Timestamp::EPOCH))
            }
            (_, IssuerReply::OtherIssuer(name)) => {
                json(json!({"issuer": name, "jwks_uri": keys()}))
            }
            (_, IssuerReply::KeysAt(place)) => json(json!({"issuer": self.url, "jwks_uri": place})),
            (_, IssuerReply::Valid | IssuerReply::NoKeys) => {
                json(json!({"issuer": self.url, "jwks_uri": keys()}))
            }
            (_, IssuerReply::WithFields(mut more)) => {
                more["issuer"] = self.url.as_str().into();
                more["jwks_uri"] = keys().into();
                json(more)
            }
        }
    }

    pub(crate) fn reply_with(&self, reply: IssuerReply) {
        *self.reply.lock().unwrap() = reply;
    }

    fn rotate(&self) {
        *self.key.lock().unwrap() = TokenKeys::generate();
    }

    fn n_fetched(&self) -> usize {
        self.n_fetched.load(Ordering::SeqCst)
    }

    /// An `Auth` that trusts this issuer.
    fn auth(&self, more: &str) -> Auth {
        let text = format!("[[issuers]]\nissuer = \"{}\"\n{more}", self.url);
        let settings: config::Auth = toml::from_str(&text).unwrap();
        Auth::new(TokenKeys::generate(), "gatehouse".into())
            .trusting(Issuer::all(&settings).unwrap())
    }

    fn claims(&self) -> Value {
        json!({"iss": self.url, "aud": "gatehouse", "sub": "ann", "exp": at(100).as_second(),
               "tenants": ["acme"], "scope": "access:read"})
    }

    fn token(&self) -> String {
        self.signed(self.claims())
    }

    pub(crate) fn signed(&self, claims: Value) -> String {
        format!("Bearer {}", self.key.lock().unwrap().sign(claims.as_object().unwrap()))
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond((1_800_000_000 + second) * 1000).unwrap()
}

async fn subject(auth: &Auth, token: &str) -> Result<String, AuthError> {
    auth.authenticate(Some(token), at(0)).await.map(|caller| caller.subject.clone())
}

#[tokio::test]
async fn keys_are_fetched_once_and_tokens_are_cached() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    for _ in 0..3 {
        assert_eq!(subject(&auth, &issuer.token()).await.as_deref(), Ok("ann"));
    }
    assert_eq!(issuer.n_fetched(), 1);
    // The built-in issuer is trusted as well, and no other.
    let own =
        json!({"iss": "gatehouse", "aud": "gatehouse", "sub": "bob", "exp": at(9).as_second()});
    let own = format!("Bearer {}", auth.built_in.signing().sign(own.as_object().unwrap()));
    assert_eq!(subject(&auth, &own).await.as_deref(), Ok("bob"));
    let mut other = issuer.claims();
    other["iss"] = "https://id.example".into();
    assert_eq!(subject(&auth, &issuer.signed(other)).await, Err(AuthError::OtherIssuer));
}

#[tokio::test]
async fn an_issuer_cannot_sign_for_another() {
    let (issuer, other) = (TestIssuer::start().await, TestIssuer::start().await);
    let issuers = format!("[[issuers]]\nissuer = \"{}\"\n", other.url);
    let auth = issuer.auth(&issuers);
    assert!(subject(&auth, &other.token()).await.is_ok());
    for claimed in [other.claims()["iss"].clone(), "gatehouse".into()] {
        let mut claims = issuer.claims();
        claims["iss"] = claimed;
        assert_eq!(subject(&auth, &issuer.signed(claims)).await, Err(AuthError::NotTrusted));
    }
}

#[tokio::test]
async fn a_new_key_is_fetched_at_once_and_tokens_of_the_old_one_are_refused() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    let old = issuer.token();
    assert!(subject(&auth, &old).await.is_ok());
    issuer.rotate();
    assert!(subject(&auth, &old).await.is_ok(), "the new keys are not fetched yet");
    assert!(subject(&auth, &issuer.token()).await.is_ok());
    assert_eq!(issuer.n_fetched(), 2);
    assert_eq!(subject(&auth, &old).await, Err(AuthError::NotTrusted), "its key is dropped");
}

#[tokio::test]
async fn invented_key_ids_trigger_few_fetches() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    assert!(subject(&auth, &issuer.token()).await.is_ok());
    let before = issuer.n_fetched();
    let claims = issuer.claims();
    let made_up = || {
        let token = TokenKeys::generate().sign(claims.as_object().unwrap());
        format!("Bearer {token}")
    };
    let tokens: Vec<String> = (0..1000).map(|_| made_up()).collect();
    let all = tokens.iter().map(|token| subject(&auth, token));
    for subject in futures_util::future::join_all(all).await {
        assert_eq!(subject, Err(AuthError::NotTrusted));
    }
    assert_eq!(issuer.n_fetched() - before, 1, "concurrent requests share one fetch");
    for token in &tokens {
        assert_eq!(subject(&auth, token).await, Err(AuthError::NotTrusted));
    }
    assert!(issuer.n_fetched() - before <= FETCHES_MAX as usize, "{}", issuer.n_fetched());
    assert!(subject(&auth, &issuer.token()).await.is_ok(), "valid tokens stay accepted");
}

#[test]
fn the_fetch_limit_refills_one_by_one() {
    let start = Instant::now();
    let mut limit = FetchLimit::new(start);
    let mut take = |seconds| limit.take(start + Duration::from_secs(seconds));
    assert_eq!([take(100), take(100), take(100), take(109)], [true, true, false, false]);
    assert_eq!([take(110), take(110), take(119)], [true, false, false]);
    assert_eq!([take(1000), take(1000), take(1000)], [true, true, false]);
}

#[tokio::test]
async fn an_unreachable_issuer_is_reported_and_its_last_keys_stay_valid() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    issuer.reply_with(IssuerReply::Raw(503, "down"));
    for _ in 0..5 {
        assert_eq!(subject(&auth, &issuer.token()).await, Err(AuthError::IssuerDown));
    }
    issuer.reply_with(IssuerReply::Valid);
    // The server fetches again by itself; here the test does.
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    let token = issuer.token();
    assert!(subject(&auth, &token).await.is_ok());
    issuer.reply_with(IssuerReply::Raw(503, "down again"));
    assert!(!auth.issuers[0].fetch(auth.meter()).await);
    assert!(subject(&auth, &token).await.is_ok(), "the last keys stay valid for a while");
    assert!(subject(&auth, &issuer.token()).await.is_ok(), "for new tokens too");
}

#[tokio::test]
async fn an_issuer_without_keys_has_no_valid_tokens() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    let token = issuer.token();
    assert!(subject(&auth, &token).await.is_ok());
    issuer.reply_with(IssuerReply::NoKeys);
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    assert_eq!(subject(&auth, &token).await, Err(AuthError::NotTrusted));
    assert_eq!(subject(&auth, &issuer.token()).await, Err(AuthError::NotTrusted));
}

#[tokio::test]
async fn requests_that_wait_for_a_failed_fetch_share_its_failure() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    issuer.reply_with(IssuerReply::Raw(503, "down"));
    let claims = issuer.claims();
    let tokens: Vec<String> = (0..500).map(|_| issuer.signed(claims.clone())).collect();
    let all = tokens.iter().map(|token| subject(&auth, token));
    for subject in futures_util::future::join_all(all).await {
        assert_eq!(subject, Err(AuthError::IssuerDown));
    }
    assert_eq!(auth.issuers[0].n_fetches(), 1, "no request fetches again for a while");
    assert_eq!(subject(&auth, &issuer.token()).await, Err(AuthError::IssuerDown));
    assert_eq!(auth.issuers[0].n_fetches(), 1);
}

#[tokio::test]
async fn invalid_responses_of_an_issuer_are_refused() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    let long = "x".repeat((1 << 20) + 1).leak();
    for (reply, expected) in [
        (IssuerReply::Raw(404, "no"), "answers 404"),
        (IssuerReply::Raw(302, ""), "answers 302"),
        (IssuerReply::Raw(200, "<html>"), "has no JSON"),
        (IssuerReply::Raw(200, "{}"), "the document of `nothing`"),
        (IssuerReply::Raw(200, long), "more than 1 MiB"),
        (IssuerReply::OtherIssuer("https://id.example"), "`https://id.example`"),
        (IssuerReply::KeysAt("http://id.example/keys".into()), "no https address"),
        (IssuerReply::KeysAt("file:///etc/passwd".into()), "no https address"),
        (IssuerReply::KeysAt(format!("{}/document", issuer.url)), "not a JSON Web Key Set"),
        (IssuerReply::KeysAt("http://127.0.0.1:1/keys".into()), "can't be reached"),
    ] {
        issuer.reply_with(reply.clone());
        let why = auth.issuers[0].examine().await.unwrap_err().to_string();
        assert!(why.contains(expected), "{reply:?}: {why}");
    }
    issuer.reply_with(IssuerReply::Valid);
    let examined = auth.issuers[0].examine().await.unwrap();
    assert!(examined.n_keys == 1 && examined.time.is_some(), "{examined:?}");
}

#[tokio::test]
async fn the_settings_name_the_claims() {
    let issuer = TestIssuer::start().await;
    let more = "audience = \"fleet\"\ntenants_claim = \"https://acme.example/tenants\"\n\
                scope_claim = \"realm.roles\"";
    let auth = issuer.auth(more);
    let mut claims = issuer.claims();
    assert_eq!(subject(&auth, &issuer.signed(claims.clone())).await, Err(AuthError::OtherAudience));
    claims["aud"] = json!(["account", "fleet"]);
    claims["https://acme.example/tenants"] = "umbrella".into();
    claims["realm"] = json!({"roles": ["access:write", "admin", "uma_authorization"]});
    claims.as_object_mut().unwrap().remove("sub");
    claims["client_id"] = "robot".into();
    let caller = auth.authenticate(Some(&issuer.signed(claims)), at(0)).await.unwrap();
    assert_eq!(caller.subject, "robot");
    assert!(caller.rights.cover(&"umbrella".parse().unwrap()));
    assert!(!caller.rights.cover(&"acme".parse().unwrap()), "the default claim is ignored");
    let scopes: Vec<&str> = caller.rights.scopes.iter().map(|it| it.as_str()).collect();
    assert_eq!(scopes, ["access:write", "admin"]);
}

/// Sign-in fields of a discovery document.
fn sign_in_document() -> Value {
    json!({
        "authorization_endpoint": "https://id.example/auth",
        "token_endpoint": "https://id.example/token",
        "end_session_endpoint": "https://id.example/logout",
        "revocation_endpoint": "https://id.example/revoke",
        "scopes_supported": ["offline_access", "profile", "admin", "access:read", "openid"],
        "authorization_response_iss_parameter_supported": true,
    })
}

#[tokio::test]
async fn users_sign_in_at_the_endpoints_of_the_document() {
    let issuer = TestIssuer::start().await;
    issuer.reply_with(IssuerReply::WithFields(sign_in_document()));
    let auth = issuer.auth("console_client_id = \"console\"");
    let [offer] = &auth.sign_ins()[..] else { panic!("it is offered before it is fetched") };
    assert_eq!((offer.issuer.as_str(), offer.client_id.as_str()), (&*issuer.url, "console"));
    assert_eq!(offer.endpoints, None);

    assert!(auth.issuers[0].fetch(auth.meter()).await);
    let endpoints = auth.sign_ins()[0].endpoints.clone().unwrap();
    assert_eq!(endpoints.authorization.as_str(), "https://id.example/auth");
    assert_eq!(endpoints.token.as_str(), "https://id.example/token");
    assert_eq!(endpoints.end_session.unwrap().as_str(), "https://id.example/logout");
    assert_eq!(endpoints.revocation.unwrap().as_str(), "https://id.example/revoke");
    assert_eq!(endpoints.scope, "openid access:read admin offline_access");
    assert!(endpoints.sends_issuer);

    issuer.reply_with(IssuerReply::Raw(503, "down"));
    assert!(!auth.issuers[0].fetch(auth.meter()).await);
    assert!(auth.sign_ins()[0].endpoints.is_some(), "the last document stays valid");
}

#[tokio::test]
async fn the_settings_enable_sign_in_and_choose_its_scope() {
    let issuer = TestIssuer::start().await;
    issuer.reply_with(IssuerReply::WithFields(sign_in_document()));
    let auth = issuer.auth("");
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    assert_eq!(auth.sign_ins(), [], "without a client id there is no sign-in");
    let auth = issuer.auth("console_client_id = \"console\"\nconsole_scope = \"openid fleet\"");
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    assert_eq!(auth.sign_ins()[0].endpoints.as_ref().unwrap().scope, "openid fleet");
}

#[tokio::test]
async fn an_unsafe_sign_in_endpoint_is_ignored() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("console_client_id = \"console\"");
    for (name, address, is_offered) in [
        ("authorization_endpoint", json!("http://id.example/auth"), false),
        ("authorization_endpoint", json!("javascript:alert(1)"), false),
        ("authorization_endpoint", json!(null), false),
        ("token_endpoint", json!("http://id.example/token"), false),
        ("token_endpoint", json!(["https://id.example/token"]), false),
        ("token_endpoint", json!("http://localhost/token"), true),
        ("end_session_endpoint", json!("http://id.example/logout"), true),
        ("revocation_endpoint", json!("revoke"), true),
    ] {
        let mut document = sign_in_document();
        document[name] = address.clone();
        issuer.reply_with(IssuerReply::WithFields(document));
        assert!(auth.issuers[0].fetch(auth.meter()).await);
        let offered = auth.sign_ins();
        assert_eq!(offered.len(), usize::from(is_offered), "{name} {address}");
        if let [SignIn { endpoints: Some(endpoints), .. }] = &offered[..] {
            assert_eq!(endpoints.end_session.is_none(), name == "end_session_endpoint");
            assert_eq!(endpoints.revocation.is_none(), name == "revocation_endpoint");
        }
    }
}
