use super::*;
use crate::client::oauth::Proof;
use crate::client::session::{ClientCredentials, TokenSpec};
use std::os::unix::fs::PermissionsExt;

fn stored() -> StoredSession {
    let renewal = Renewal::ClientCredentials(ClientCredentials {
        token_endpoint: "https://a/-/oauth2/token".into(),
        client_id: "acme~x".into(),
        client_secret: Secret::new("the secret"),
        proof: Proof::Basic,
        spec: TokenSpec { scope: Some("access:read".into()), ..TokenSpec::default() },
    });
    StoredSession {
        url: "https://a".into(),
        access_token: Secret::new("the token"),
        expires_at: Some("2026-11-16T17:20:00Z".parse().unwrap()),
        renewal: Some(renewal),
    }
}

#[test]
fn a_stored_session_is_read_back_and_never_printed() {
    let home = tempfile::tempdir().unwrap();
    let file = SessionFile::at(&home.path().join("sessions"), &"prod".parse().unwrap());
    assert!(file.read().unwrap().is_none());
    assert!(!file.remove().unwrap());
    file.write(&stored()).unwrap();
    let read = file.read().unwrap().unwrap();
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        serde_json::json!({
            "url": "https://a", "accessToken": "the token", "expiresAt": "2026-11-16T17:20:00.000Z",
            "renewal": {
                "by": "clientCredentials", "tokenEndpoint": "https://a/-/oauth2/token",
                "clientId": "acme~x", "clientSecret": "the secret", "proof": "basic",
                "scope": "access:read",
            },
        })
    );
    let printed = format!("{read:?}");
    assert!(!printed.contains("the token") && !printed.contains("the secret"), "{printed}");
    assert!(file.remove().unwrap());
}

#[test]
fn a_file_that_others_can_read_and_a_malformed_one_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let file = SessionFile::at(home.path(), &"prod".parse().unwrap());
    file.write(&stored()).unwrap();
    for (mode, is_taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(file.path(), permissions).unwrap();
        let read = file.read();
        assert_eq!(read.is_ok(), is_taken, "{mode:o}");
        if let Err(why) = read {
            assert_eq!(why.kind, FailureKind::NotAllowed);
            assert!(why.to_string().contains(&format!("{mode:04o}")), "{why}");
        }
    }
    std::fs::remove_file(file.path()).unwrap();
    home_file::write(file.path(), b"{\"accessToken\": 1, \"url\": \"hunter2\"}").unwrap();
    let why = file.read().unwrap_err();
    assert_eq!(why.kind, FailureKind::Input);
    assert!(!why.to_string().contains("hunter2"), "{why}");
}

#[test]
fn a_token_is_valid_until_it_expires() {
    let stored = stored();
    let end = stored.expires_at.unwrap();
    for (now, more_seconds, expected) in [
        (end.plus_milliseconds(-30_001), 30, true),
        (end.plus_milliseconds(-30_000), 30, false),
        (end.plus_milliseconds(-1), 0, true),
        (end, 0, false),
    ] {
        assert_eq!(stored.is_valid_for(now, more_seconds), expected, "{now} and {more_seconds} s");
    }
    let timeless = StoredSession { expires_at: None, ..stored };
    assert!(timeless.is_valid_for(Timestamp::LATEST, 0));
}
