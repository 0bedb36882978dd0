//! The right of a gateway to ask for checks: the key of its hook, or a token.
//!
//! Most gateways can't send a token, so the key stands in the path or in a header. The path loses the key before it is
//! routed, so that no route, log or trace has it.

use std::borrow::Cow;
use std::sync::Arc;

use gatehouse_core::event::audit::RefusalReason;
use gatehouse_core::{Dialect, Hook, TenantName};
use http::HeaderMap;

use super::dispatch::{RequestRecord, count_refusal};
use crate::app::Error;
use crate::app::hook::WrongHookKey;
use crate::http::HttpApi;
use crate::http::answer::correlation::Correlation;
use crate::http::answer::problem::Problem;
use crate::http::intake::connection_info::ConnectionInfo;

/// Header with the key of a hook.
pub(crate) const X_HOOK_KEY: &str = "x-hook-key";

/// Begins the segment of a path that is the key of a hook.
const KEY_MARK: char = '~';

/// Begins the path of a device's own request, behind that of the check.
const BASIC: &str = "basic/";

/// The path by which a request is routed, and the key that its own path has.
pub(crate) struct RoutedPath<'p> {
    pub(crate) path: Cow<'p, str>,
    key: Option<&'p str>,
}

impl<'p> RoutedPath<'p> {
    /// Cuts the key out of a path: `/demo/verify/~KEY/basic` is `/demo/verify/basic`. In HTTP Basic, the rest of the path
    /// is the device's: `/demo/verify/basic/its/own` is the same.
    pub(crate) fn of(path: &'p str) -> Self {
        let as_it_is = Self { path: path.into(), key: None };
        let Some((tenant, rest)) = path[1..].split_once("/verify/") else { return as_it_is };
        if tenant.contains('/') {
            return as_it_is;
        }
        let (key, rest) = match rest.strip_prefix(KEY_MARK) {
            None => (None, rest),
            Some(keyed) => match keyed.split_once('/') {
                Some((key, rest)) => (Some(key), rest),
                None => return Self { path: format!("/{tenant}/verify").into(), key: Some(keyed) },
            },
        };
        let is_of_device = rest.starts_with(BASIC);
        if key.is_none() && !is_of_device {
            return as_it_is;
        }
        let rest = if is_of_device { BASIC.trim_end_matches('/') } else { rest };
        Self { path: format!("/{tenant}/verify/{rest}").into(), key }
    }

    /// The key of a request, in its path or its header. Two are ambiguous.
    pub(crate) fn key<'r>(&self, headers: &'r HeaderMap) -> GivenKey<'r>
    where
        'p: 'r,
    {
        let mut given =
            headers.get_all(X_HOOK_KEY).iter().map(|it| it.to_str().unwrap_or_default());
        match (self.key, given.next(), given.next()) {
            (None, None, _) => GivenKey::None,
            (Some(key), None, _) | (None, Some(key), None) => GivenKey::One(key),
            _ => GivenKey::Several,
        }
    }
}

/// The key that a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenKey<'r> {
    None,
    One(&'r str),
    Several,
}

/// The hook of a gateway that asks for a check. A wrong key is refused like wrong credentials, but logged apart.
pub(super) async fn authenticate(
    api: &HttpApi,
    connection: ConnectionInfo,
    correlation: &Correlation,
    record: &mut RequestRecord<'_>,
    dialect: Dialect,
    key: GivenKey<'_>,
) -> Result<Arc<Hook>, Problem> {
    let tenant = record.tenant.as_ref().and_then(|name| name.parse::<TenantName>().ok());
    let (refused, reason) = match (&tenant, key) {
        (Some(tenant), GivenKey::One(key)) => {
            let _slot = api.server.slots.take(connection.listener)?;
            match api.server.app.hook_of_key(tenant, dialect, key).await? {
                Ok(hook) => {
                    record.subject = Some(hook.id.to_string());
                    return Ok(hook);
                }
                Err(wrong @ WrongHookKey { hook: Some(_) }) => (wrong, "for another dialect"),
                Err(wrong) => (wrong, "unknown"),
            }
        }
        (None, _) => (WrongHookKey::default(), "no tenant"),
        (_, GivenKey::None) => (WrongHookKey::default(), "missing"),
        (_, GivenKey::Several) => (WrongHookKey::default(), "given twice"),
    };
    record.subject = refused.hook.map(|id| id.to_string());
    tracing::info!(
        tenant = record.tenant,
        dialect = dialect.as_str(),
        hook = record.subject,
        peer = %connection.peer,
        correlation_id = correlation.id,
        reason,
        "a hook key was refused"
    );
    count_refusal(api, connection, correlation, record, RefusalReason::Hook);
    Err(Error::CredentialsRefused(None).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_cut_out_of_the_path_of_a_check() {
        for (given, path, key) in [
            ("/demo/verify/~abc/rabbitmq/user", "/demo/verify/rabbitmq/user", Some("abc")),
            ("/demo/verify/~abc/basic/a//b/%FF", "/demo/verify/basic", Some("abc")),
            ("/demo/verify/~abc/basic/", "/demo/verify/basic", Some("abc")),
            ("/demo/verify/basic/basic", "/demo/verify/basic", None),
            ("/demo/verify/basic/~abc", "/demo/verify/basic", None),
            ("/demo/verify/~abc", "/demo/verify", Some("abc")),
            ("/demo/verify/~/basic", "/demo/verify/basic", Some("")),
            ("/demo/verify/basic", "/demo/verify/basic", None),
            ("/demo/verify", "/demo/verify", None),
            ("/demo/verify/rabbitmq/~abc", "/demo/verify/rabbitmq/~abc", None),
            ("/demo/access/~abc/x", "/demo/access/~abc/x", None),
            ("/~abc/verify/x", "/~abc/verify/x", None),
            ("/", "/", None),
        ] {
            let keyed = RoutedPath::of(given);
            assert_eq!((&*keyed.path, keyed.key), (path, key), "{given}");
        }
    }

    #[test]
    fn a_request_has_one_key() {
        let headers = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(X_HOOK_KEY, value.parse().unwrap());
            }
            headers
        };
        let (with, without) = ("/demo/verify/~abc/basic", "/demo/verify/basic");
        for (path, given, expected) in [
            (without, &[][..], GivenKey::None),
            (with, &[], GivenKey::One("abc")),
            (without, &["def"], GivenKey::One("def")),
            (without, &["def", "def"], GivenKey::Several),
            (with, &["abc"], GivenKey::Several),
        ] {
            assert_eq!(RoutedPath::of(path).key(&headers(given)), expected, "{path} {given:?}");
        }
    }
}
