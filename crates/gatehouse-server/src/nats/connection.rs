//! The connection to NATS: how gatehouse signs in there, and what is logged of the connection.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};

use super::NatsMeter;
use crate::config::Nats;

/// Longest pause between two attempts to connect.
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Connects in the background, now and whenever the connection is lost.
pub(super) async fn connect(settings: &Nats, meter: Arc<NatsMeter>) -> Result<Client, String> {
    let options = options(settings, meter)?;
    options.connect(settings.servers.clone()).await.map_err(|why| format!("events.nats: {why}"))
}

/// How to sign in. Reads the files that the settings name.
pub(super) fn options(settings: &Nats, meter: Arc<NatsMeter>) -> Result<ConnectOptions, String> {
    let mut options = ConnectOptions::new()
        .name("gatehouse")
        .retry_on_initial_connect()
        .reconnect_delay_callback(|attempt| {
            let milliseconds = 100_u64.saturating_mul(1 << attempt.min(10));
            Duration::from_millis(milliseconds).min(RECONNECT_PAUSE_MAX)
        })
        .event_callback(move |event| {
            let meter = Arc::clone(&meter);
            async move { observe(&meter, &event) }
        });
    if let Some(path) = &settings.credentials {
        let text = Nats::read_file("credentials", path)?;
        let bad =
            |_| format!("events.nats.credentials: {} has no user's JWT and key", path.display());
        options = options.credentials(&text).map_err(bad)?;
    }
    if let (Some(user), Some(path)) = (&settings.user, &settings.password_file) {
        let password = Nats::read_file("password_file", path)?;
        options = options.user_and_password(user.clone(), password.trim().to_owned());
    }
    if let Some(path) = &settings.token_file {
        options = options.token(Nats::read_file("token_file", path)?.trim().to_owned());
    }
    if let Some(path) = &settings.authorities {
        Nats::read_file("authorities", path)?;
        options = options.add_root_certificates(path.clone());
    }
    if let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) {
        Nats::read_file("certificate", certificate)?;
        Nats::read_file("key", key)?;
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options.require_tls(settings.servers.iter().any(|it| it.starts_with("tls://"))))
}

fn observe(meter: &NatsMeter, event: &Event) {
    match event {
        Event::Connected => {
            meter.connected.set(1);
            tracing::info!("connected to NATS");
        }
        Event::Disconnected => {
            meter.connected.set(0);
            tracing::warn!("the connection to NATS is lost; events wait until it is there again");
        }
        Event::ServerError(error) => tracing::warn!(%error, "NATS reports an error"),
        Event::ClientError(error) => tracing::warn!(%error, "NATS can't be reached"),
        other => tracing::info!("NATS: {other}"),
    }
}
