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

/// An issuer on this machine whose answers a test decides, and which counts who asks.
pub(crate) struct TestIssuer {
    pub(crate) url: String,
    key: StdMutex<TokenKeys>,
    answer: StdMutex<IssuerReply>,
    n_asked: AtomicUsize,
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
            answer: StdMutex::new(IssuerReply::Valid),
            n_asked: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&issuer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let issuer = Arc::clone(&serving);
                let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                    let answer = issuer.answer(request.uri().path());
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

    fn answer(&self, path: &str) -> Response<Full<Bytes>> {
        let answering = self.answer.lock().unwrap().clone();
        let json = |json: Value| Response::new(Full::new(Bytes::from(json.to_string())));
        let keys = || format!("{}/keys", self.url);
        match (path, answering) {
            (_, IssuerReply::Raw(status, body)) => {
                let body = Full::new(Bytes::from(body));
                Response::builder().status(status).header("location", keys()).body(body).unwrap()
            }
            ("/keys", IssuerReply::NoKeys) => json(json!({"keys": []})),
            ("/keys", _) => {
                self.n_asked.fetch_add(1, Ordering::SeqCst);
                json(self.key.lock().unwrap().jwks(Timestamp::EPOCH))
            }
            (_, IssuerReply::OtherIssuer(issuer)) => {
                json(json!({"issuer": issuer, "jwks_uri": keys()}))
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

    pub(crate) fn reply_with(&self, answering: IssuerReply) {
        *self.answer.lock().unwrap() = answering;
    }

    fn rotate(&self) {
        *self.key.lock().unwrap() = TokenKeys::generate();
    }

    fn n_asked(&self) -> usize {
        self.n_asked.load(Ordering::SeqCst)
    }

    /// A gatehouse that trusts this issuer.
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

async fn who(auth: &Auth, token: &str) -> Result<String, AuthError> {
    auth.authenticate(Some(token), at(0)).await.map(|caller| caller.subject.clone())
}

#[tokio::test]
async fn keys_are_fetched_once_and_tokens_are_remembered() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    for _ in 0..3 {
        assert_eq!(who(&auth, &issuer.token()).await.as_deref(), Ok("ann"));
    }
    assert_eq!(issuer.n_asked(), 1);
    // The built-in issuer is trusted beside it, and nobody else.
    let own =
        json!({"iss": "gatehouse", "aud": "gatehouse", "sub": "bob", "exp": at(9).as_second()});
    let own = format!("Bearer {}", auth.built_in.signing().sign(own.as_object().unwrap()));
    assert_eq!(who(&auth, &own).await.as_deref(), Ok("bob"));
    let mut other = issuer.claims();
    other["iss"] = "https://id.example".into();
    assert_eq!(who(&auth, &issuer.signed(other)).await, Err(AuthError::OtherIssuer));
}

#[tokio::test]
async fn one_issuer_can_not_speak_for_another() {
    let (issuer, near) = (TestIssuer::start().await, TestIssuer::start().await);
    let issuers = format!("[[issuers]]\nissuer = \"{}\"\n", near.url);
    let auth = issuer.auth(&issuers);
    assert!(who(&auth, &near.token()).await.is_ok());
    for claimed in [near.claims()["iss"].clone(), "gatehouse".into()] {
        let mut claims = issuer.claims();
        claims["iss"] = claimed;
        assert_eq!(who(&auth, &issuer.signed(claims)).await, Err(AuthError::NotTrusted));
    }
}

#[tokio::test]
async fn a_new_key_is_found_at_once_and_the_old_one_is_forgotten_with_its_tokens() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    let old = issuer.token();
    assert!(who(&auth, &old).await.is_ok());
    issuer.rotate();
    assert!(who(&auth, &old).await.is_ok(), "nobody has heard of it yet");
    assert!(who(&auth, &issuer.token()).await.is_ok());
    assert_eq!(issuer.n_asked(), 2);
    assert_eq!(who(&auth, &old).await, Err(AuthError::NotTrusted), "its key has been given up");
}

#[tokio::test]
async fn made_up_keys_cause_few_fetches_however_many_come() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    assert!(who(&auth, &issuer.token()).await.is_ok());
    let before = issuer.n_asked();
    let claims = issuer.claims();
    let made_up = || {
        let token = TokenKeys::generate().sign(claims.as_object().unwrap());
        format!("Bearer {token}")
    };
    let tokens: Vec<String> = (0..1000).map(|_| made_up()).collect();
    let all = tokens.iter().map(|token| who(&auth, token));
    for seen in futures_util::future::join_all(all).await {
        assert_eq!(seen, Err(AuthError::NotTrusted));
    }
    assert_eq!(issuer.n_asked() - before, 1, "those who come together share one");
    for token in &tokens {
        assert_eq!(who(&auth, token).await, Err(AuthError::NotTrusted));
    }
    assert!(issuer.n_asked() - before <= REQUESTED_MAX as usize, "{}", issuer.n_asked());
    assert!(who(&auth, &issuer.token()).await.is_ok(), "and who is known is let in all the while");
}

#[test]
fn fetches_that_were_used_up_come_back_one_by_one() {
    let start = Instant::now();
    let mut requested = Requested::new(start);
    let mut take = |seconds| requested.take(start + Duration::from_secs(seconds));
    assert_eq!([take(100), take(100), take(100), take(109)], [true, true, false, false]);
    assert_eq!([take(110), take(110), take(119)], [true, false, false]);
    assert_eq!([take(1000), take(1000), take(1000)], [true, true, false]);
}

#[tokio::test]
async fn an_issuer_that_is_down_is_not_the_fault_of_the_token() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    issuer.reply_with(IssuerReply::Raw(503, "down"));
    for _ in 0..5 {
        assert_eq!(who(&auth, &issuer.token()).await, Err(AuthError::IssuerDown));
    }
    issuer.reply_with(IssuerReply::Valid);
    // The server looks again by itself; here the test does.
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    let token = issuer.token();
    assert!(who(&auth, &token).await.is_ok());
    issuer.reply_with(IssuerReply::Raw(503, "down again"));
    assert!(!auth.issuers[0].fetch(auth.meter()).await);
    assert!(who(&auth, &token).await.is_ok(), "the keys that are known are good for a while");
    assert!(who(&auth, &issuer.token()).await.is_ok(), "for new tokens too");
}

#[tokio::test]
async fn an_issuer_that_gives_up_all_its_keys_is_believed() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    let token = issuer.token();
    assert!(who(&auth, &token).await.is_ok());
    issuer.reply_with(IssuerReply::NoKeys);
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    assert_eq!(who(&auth, &token).await, Err(AuthError::NotTrusted));
    assert_eq!(who(&auth, &issuer.token()).await, Err(AuthError::NotTrusted));
}

#[tokio::test]
async fn who_waits_for_a_fetch_that_fails_shares_the_failure() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    issuer.reply_with(IssuerReply::Raw(503, "down"));
    let claims = issuer.claims();
    let tokens: Vec<String> = (0..500).map(|_| issuer.signed(claims.clone())).collect();
    let all = tokens.iter().map(|token| who(&auth, token));
    for seen in futures_util::future::join_all(all).await {
        assert_eq!(seen, Err(AuthError::IssuerDown));
    }
    assert_eq!(auth.issuers[0].n_tried(), 1, "and nobody tries again for a while");
    assert_eq!(who(&auth, &issuer.token()).await, Err(AuthError::IssuerDown));
    assert_eq!(auth.issuers[0].n_tried(), 1);
}

#[tokio::test]
async fn what_an_issuer_may_not_answer() {
    let issuer = TestIssuer::start().await;
    let auth = issuer.auth("");
    let long = "x".repeat((1 << 20) + 1).leak();
    for (answering, said) in [
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
        issuer.reply_with(answering.clone());
        let why = auth.issuers[0].examine().await.unwrap_err().to_string();
        assert!(why.contains(said), "{answering:?}: {why}");
    }
    issuer.reply_with(IssuerReply::Valid);
    let examined = auth.issuers[0].examine().await.unwrap();
    assert!(examined.n_keys == 1 && examined.time.is_some(), "{examined:?}");
}

#[tokio::test]
async fn claims_are_called_as_the_settings_say() {
    let issuer = TestIssuer::start().await;
    let more = "audience = \"fleet\"\ntenants_claim = \"https://acme.example/tenants\"\n\
                scope_claim = \"realm.roles\"";
    let auth = issuer.auth(more);
    let mut claims = issuer.claims();
    assert_eq!(who(&auth, &issuer.signed(claims.clone())).await, Err(AuthError::OtherAudience));
    claims["aud"] = json!(["account", "fleet"]);
    claims["https://acme.example/tenants"] = "umbrella".into();
    claims["realm"] = json!({"roles": ["access:write", "admin", "uma_authorization"]});
    claims.as_object_mut().unwrap().remove("sub");
    claims["client_id"] = "robot".into();
    let caller = auth.authenticate(Some(&issuer.signed(claims)), at(0)).await.unwrap();
    assert_eq!(caller.subject, "robot");
    assert!(caller.rights.cover(&"umbrella".parse().unwrap()));
    assert!(!caller.rights.cover(&"acme".parse().unwrap()), "the usual claim is not looked at");
    let scopes: Vec<&str> = caller.rights.scopes.iter().map(|it| it.as_str()).collect();
    assert_eq!(scopes, ["access:write", "admin"]);
}

/// What an issuer says about signing in.
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
async fn people_sign_in_where_the_issuer_says() {
    let issuer = TestIssuer::start().await;
    issuer.reply_with(IssuerReply::WithFields(sign_in_document()));
    let auth = issuer.auth("console_client_id = \"console\"");
    let [unreached] = &auth.sign_ins()[..] else { panic!("it is offered before it is reached") };
    assert_eq!(
        (unreached.issuer.as_str(), unreached.client_id.as_str()),
        (&*issuer.url, "console")
    );
    assert_eq!(unreached.endpoints, None);

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
    assert!(auth.sign_ins()[0].endpoints.is_some(), "what it said last still holds");
}

#[tokio::test]
async fn the_settings_decide_who_may_and_what_is_asked_for() {
    let issuer = TestIssuer::start().await;
    issuer.reply_with(IssuerReply::WithFields(sign_in_document()));
    let auth = issuer.auth("");
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    assert_eq!(auth.sign_ins(), [], "nobody has said what the console is called there");
    let auth = issuer.auth("console_client_id = \"console\"\nconsole_scope = \"openid fleet\"");
    assert!(auth.issuers[0].fetch(auth.meter()).await);
    assert_eq!(auth.sign_ins()[0].endpoints.as_ref().unwrap().scope, "openid fleet");
}

#[tokio::test]
async fn an_address_to_sign_in_at_is_as_safe_as_the_issuer_or_there_is_none() {
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
