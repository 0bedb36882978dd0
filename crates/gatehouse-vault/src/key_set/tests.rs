use super::*;
use crate::TokenKeys;
use crate::token::TokenKey;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
};
use jsonwebtoken::{EncodingKey, Header};
use serde_json::json;

/// A foreign key pair, and the algorithms that it can sign with.
struct Pair {
    signing: EncodingKey,
    algorithms: Vec<Algorithm>,
}

impl Pair {
    fn rsa() -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        let algorithms =
            vec![Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256];
        // The signer needs the bare key, which PKCS#8 wraps in 26 bytes that name its kind.
        Self { signing: EncodingKey::from_rsa_der(&der.as_ref()[26..]), algorithms }
    }

    fn p256() -> Self {
        let der =
            EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap().to_pkcs8v1().unwrap();
        let signing = EncodingKey::from_ec_der(der.as_ref());
        Self { signing, algorithms: vec![Algorithm::ES256] }
    }

    fn p384() -> Self {
        let der =
            EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap().to_pkcs8v1().unwrap();
        let signing = EncodingKey::from_ec_der(der.as_ref());
        Self { signing, algorithms: vec![Algorithm::ES384] }
    }

    fn ed25519() -> Self {
        let signing = EncodingKey::from_ed_der(TokenKey::generate().to_bytes());
        Self { signing, algorithms: vec![Algorithm::EdDSA] }
    }

    fn every() -> Vec<Self> {
        vec![Self::rsa(), Self::p256(), Self::p384(), Self::ed25519()]
    }

    fn jwk(&self, id: Option<&str>) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.signing, self.algorithms[0]).unwrap();
        jwk.common.key_id = id.map(str::to_owned);
        // A key without an algorithm may be used with each of its kind.
        jwk.common.key_algorithm = None;
        serde_json::to_value(jwk).unwrap()
    }

    fn sign(&self, algorithm: Algorithm, id: Option<&str>) -> String {
        let mut header = Header::new(algorithm);
        header.kid = id.map(str::to_owned);
        jsonwebtoken::encode(&header, &claims(), &self.signing).unwrap()
    }
}

fn claims() -> Claims {
    json!({"iss": "https://id.example", "sub": "ann"}).as_object().unwrap().clone()
}

fn set(keys: &[Value]) -> Result<KeySet, BadKeySet> {
    KeySet::parse(json!({"keys": keys}).to_string().as_bytes())
}

fn encoded(json: Value) -> String {
    BASE64URL.encode(json.to_string())
}

#[test]
fn every_listed_algorithm_needs_a_key_of_its_kind() {
    let pairs = Pair::every();
    for pair in &pairs {
        let keys = set(&[pair.jwk(Some("k"))]).unwrap();
        for algorithm in &pair.algorithms {
            assert_eq!(keys.verify(&pair.sign(*algorithm, Some("k"))), Ok(claims()));
            assert_eq!(keys.verify(&pair.sign(*algorithm, None)), Ok(claims()), "{algorithm:?}");
            let nameless = set(&[pair.jwk(None)]).unwrap();
            assert_eq!(nameless.verify(&pair.sign(*algorithm, Some("k"))), Ok(claims()));
            let unknown = keys.verify(&pair.sign(*algorithm, Some("new")));
            assert_eq!(unknown, Err(BadToken::UnknownKey), "{algorithm:?}");
        }
        for other in pairs.iter().filter(|it| it.algorithms != pair.algorithms) {
            let token = other.sign(other.algorithms[0], Some("k"));
            assert_eq!(keys.verify(&token), Err(BadToken::UnknownKey));
        }
    }
    let rsa = &pairs[0];
    let impostor = Pair::rsa().sign(Algorithm::RS256, Some("k"));
    let keys = set(&[rsa.jwk(Some("k"))]).unwrap();
    assert_eq!(keys.verify(&impostor), Err(BadToken::NotSigned));
    // Algorithms that the key supports, but that are not on the list.
    for algorithm in [Algorithm::PS384, Algorithm::PS512] {
        assert_eq!(keys.verify(&rsa.sign(algorithm, Some("k"))), Err(BadToken::NotSigned));
    }
    let mut only = rsa.jwk(Some("k"));
    only["alg"] = "RS256".into();
    let keys = set(&[only]).unwrap();
    assert!(keys.verify(&rsa.sign(Algorithm::RS256, Some("k"))).is_ok());
    assert_eq!(keys.verify(&rsa.sign(Algorithm::PS256, Some("k"))), Err(BadToken::UnknownKey));
}

#[test]
fn attacks_on_the_header_are_refused() {
    for pair in Pair::every() {
        let jwk = pair.jwk(Some("k"));
        let keys = set(std::slice::from_ref(&jwk)).unwrap();
        let good = pair.sign(pair.algorithms[0], Some("k"));
        let (header, rest) = good.split_once('.').unwrap();
        let (payload, signature) = rest.split_once('.').unwrap();
        let name = format!("{:?}", pair.algorithms[0]);

        let with = |header: Value| format!("{}.{payload}.{signature}", encoded(header));
        let mut attacks = vec![
            String::new(),
            "a.b.c".into(),
            format!("{header}.{payload}"),
            format!("{header}.{payload}."),
            format!("{good}x"),
            format!("{good}.{signature}"),
            format!("{header}.{}.{signature}", encoded(json!({"sub": "eve"}))),
            with(json!({"alg": "none", "kid": "k"})),
            with(json!({"alg": "None", "kid": "k"})),
            with(json!({"kid": "k"})),
            with(json!({"alg": name, "kid": "k", "crit": ["zz"], "zz": 1})),
            with(json!({"alg": name, "kid": 7})),
            format!("{}.{payload}.", encoded(json!({"alg": "none"}))),
        ];
        // A shared secret made of public data: the public key, in each of its forms.
        let key = |name: &str| jwk[name].as_str().unwrap_or_default().to_owned();
        let forms = [jwk.to_string(), key("n"), key("x"), key("k")];
        let decoded = BASE64URL.decode(key("x")).unwrap_or_default();
        let forms = forms.iter().map(|it| it.as_bytes().to_vec()).chain([decoded]);
        for secret in forms {
            for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
                let mut header = Header::new(algorithm);
                header.kid = Some("k".into());
                let secret = EncodingKey::from_secret(&secret);
                attacks.push(jsonwebtoken::encode(&header, &claims(), &secret).unwrap());
            }
        }
        // The attacker's own key, in the header.
        let mut header = Header::new(Algorithm::ES256);
        let own = Pair::p256();
        header.jwk = serde_json::from_value(own.jwk(Some("k"))).ok();
        header.kid = Some("k".into());
        attacks.push(jsonwebtoken::encode(&header, &claims(), &own.signing).unwrap());
        for token in attacks {
            assert!(keys.verify(&token).is_err(), "{name}: {token}");
        }
        assert_eq!(keys.verify(&good), Ok(claims()));
    }
}

#[test]
fn keys_for_other_uses_are_left_out() {
    let pair = Pair::p256();
    let good = pair.jwk(Some("k"));
    let changed = |name: &str, value: Value| {
        let mut jwk = good.clone();
        jwk[name] = value;
        jwk
    };
    for (jwk, is_taken) in [
        (good.clone(), true),
        (changed("use", json!("sig")), true),
        (changed("use", json!("enc")), false),
        (changed("key_ops", json!(["verify"])), true),
        (changed("key_ops", json!(["encrypt"])), false),
        (changed("alg", json!("ES384")), false),
        (changed("alg", json!("HS256")), false),
        (changed("alg", json!("made-up")), false),
        (changed("crv", json!("P-521")), false),
        (changed("kty", json!("made-up")), false),
        (json!({"kty": "oct", "k": "c2VjcmV0", "kid": "k"}), false),
        (json!("key"), false),
    ] {
        let keys = set(std::slice::from_ref(&jwk)).unwrap();
        assert_eq!(keys.n_keys(), usize::from(is_taken), "{jwk}");
        let seen = keys.verify(&pair.sign(Algorithm::ES256, None));
        assert_eq!(seen.is_ok(), is_taken, "{jwk}");
        // Next to a usable key, it changes nothing.
        assert!(
            set(&[jwk, good.clone()]).unwrap().verify(&pair.sign(Algorithm::ES256, None)).is_ok()
        );
    }
    for none in ["", "{}", "[]", r#"{"keys": 7}"#, "<html>"] {
        assert_eq!(KeySet::parse(none.as_bytes()).unwrap_err(), BadKeySet::Malformed, "{none}");
    }
    let many = vec![good; KEYS_MAX + 1];
    assert_eq!(set(&many[1..]).map(|it| it.n_keys()), Ok(KEYS_MAX));
    assert_eq!(set(&many).unwrap_err(), BadKeySet::TooMany(KEYS_MAX + 1));
}

#[test]
fn tokens_of_the_built_in_issuer_are_verified_like_others() {
    let key = TokenKeys::generate();
    let now = gatehouse_core::Timestamp::EPOCH;
    let token = key.sign(&claims());
    assert_eq!(key.key_set(now).verify(&token), Ok(claims()));
    let again = TokenKeys::from_text(&key.to_text()).unwrap();
    assert_eq!(again.key_set(now).verify(&token), Ok(claims()));
    assert_eq!(again.key_set(now).digest(), key.key_set(now).digest());
    let other = TokenKeys::generate();
    assert_eq!(other.key_set(now).verify(&token), Err(BadToken::UnknownKey));
    assert_ne!(other.key_set(now).digest(), key.key_set(now).digest());
    assert_eq!(named_issuer(&token).as_deref(), Some("https://id.example"));
    assert_eq!((named_issuer("a.b.c"), named_issuer("")), (None, None));
}
