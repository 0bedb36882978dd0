//! Makes a recording: sends a few requests to an account, and records the calls.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_core::account::Credentials;
use gatehouse_core::{Connection, Identifier, IdentifierKind};
use http::HeaderMap;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::cleaning::ReadParts;
use super::disguise::Disguise;
use super::{RecordedCall, RecordedProduct, RecordedRequest, RecordedStep, Recording, VERSION};
use crate::account_settings::Settings;
use crate::client::{Exchange, Observer, forms};
use crate::connector::{CallKind, LookUp, LookUpKey};
use crate::manifest::Manifest;
use crate::manifest::format::path::text_of;
use crate::manifest::format::source::Source;
use crate::testing::one_account::{Access, OneAccount, Outcome};

const TIME_LIMIT: Duration = Duration::from_secs(60);

pub(crate) const PAGES_MAX: u32 = 20;

/// Shorter secrets are not searched for in a recording: they would match everywhere.
const SECRET_CHARS_MIN: usize = 6;

/// Placeholder for the platform's address in responses.
pub(in crate::testing) const BASE: &str = "{base}";

/// Options of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordOptions {
    /// Number of the platform's largest pages.
    pub pages: u32,
    /// Whether numbers and names of connections stay as they are.
    pub keep_numbers: bool,
    /// Whether plain http is allowed.
    pub allow_insecure_urls: bool,
}

/// A call before cleaning.
struct RawCall {
    kind: CallKind,
    method: String,
    url: String,
    sent: String,
    status: u16,
    headers: Vec<(http::HeaderName, String)>,
    body: Vec<u8>,
}

#[derive(Default)]
struct CallRecorder(Mutex<Vec<RawCall>>);

impl Observer for CallRecorder {
    fn observe(&self, exchange: &Exchange<'_>) {
        let Ok(response) = &exchange.result else { return };
        self.0.lock().push(RawCall {
            kind: exchange.kind,
            method: exchange.method.to_string(),
            url: exchange.raw_url().to_owned(),
            sent: exchange.body.clone(),
            status: response.status.as_u16(),
            headers: response.headers.clone(),
            body: exchange.raw_body().unwrap_or_default().to_vec(),
        });
    }
}

impl CallRecorder {
    fn take(&self) -> Vec<RawCall> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Records some pages of an account, and a hit and a miss of each kind of look-up.
pub fn record<'a>(
    manifest: &'a Arc<Manifest>,
    settings: &'a Settings,
    credentials: &'a Credentials,
    options: RecordOptions,
) -> BoxFuture<'a, Result<Recording, String>> {
    Box::pin(async move {
        if !(1..=PAGES_MAX).contains(&options.pages) {
            return Err(format!("pages must be 1 to {PAGES_MAX}, not {}", options.pages));
        }
        let manifest = &manifest.for_account(settings);
        let access = Access {
            settings: settings.clone(),
            credentials: credentials.clone(),
            allow_insecure_urls: options.allow_insecure_urls,
        };
        let recorder = Arc::new(CallRecorder::default());
        let observer: Arc<dyn Observer> = Arc::clone(&recorder) as Arc<dyn Observer>;
        let account = OneAccount::open(manifest, &access, TIME_LIMIT, Some(observer))?;
        let cleaner = Cleaner::new(manifest, &access);
        let mut conversation = Vec::new();
        let request = RecordedRequest::Pages(options.pages);
        let listed = connections(&request, send(&account, manifest, &request).await)?;
        if listed.is_empty() {
            return Err("the account has no connections: there is nothing to record".into());
        }
        conversation.push(cleaner.step(request, &listed, recorder.take()));
        for by in LookUpKey::ALL {
            if !matches!(manifest.capabilities().look_up(by), LookUp::Searched { .. }) {
                continue;
            }
            let Some(value) = listed.iter().find_map(|it| value_of(it, by)) else { continue };
            for request in [value.clone(), miss(by, &value)].map(|it| RecordedRequest::of(by, it)) {
                let found = connections(&request, send(&account, manifest, &request).await)?;
                conversation.push(cleaner.step(request, &found, recorder.take()));
            }
        }
        let mut recording = Recording {
            recording: VERSION,
            connector: manifest.name().to_string(),
            settings: cleaner.recorded_settings(),
            conversation,
        };
        if !options.keep_numbers {
            disguise(&mut recording);
        }
        cleaner.check(&recording)?;
        Ok(recording)
    })
}

/// Sends a request to the engine.
pub(in crate::testing) async fn send(
    account: &OneAccount,
    manifest: &Manifest,
    request: &RecordedRequest,
) -> Outcome {
    match request {
        RecordedRequest::Pages(n_pages) => {
            let (_, size) = manifest.paging.size.bounds();
            account.page(1, u64::from(*n_pages) * u64::from(size)).await
        }
        other => match other.look_up() {
            Some((by, value)) => account.look_up(by, &[value.to_owned()]).await,
            None => Outcome::default(),
        },
    }
}

fn connections(
    request: &RecordedRequest,
    outcome: Outcome,
) -> Result<Vec<Arc<Connection>>, String> {
    match outcome.failures.first() {
        Some(failure) => Err(format!("asked for {request:?}, it failed: {}", failure.detail)),
        None => Ok(outcome.connections),
    }
}

/// Value by which a connection is looked up.
pub(crate) fn value_of(connection: &Connection, by: LookUpKey) -> Option<String> {
    let LookUpKey::Number(kind) = by else { return Some(connection.local_id.to_string()) };
    let mut numbers = connection.identifiers.iter().filter(|(it, _)| *it == kind);
    let is_valid = |it: &str| Identifier::parse(kind, it).is_ok();
    numbers.find(|(_, it)| is_valid(it)).map(|(_, it)| it.to_string())
}

/// A missing value similar to an existing one: shorter, or with another ending.
pub(crate) fn miss(by: LookUpKey, value: &str) -> String {
    let shorter = match by {
        // Nineteen digits of twenty are the same ICCID.
        LookUpKey::Number(IdentifierKind::Iccid) => value.get(..18),
        _ => value.get(..value.len().saturating_sub(1)),
    };
    let is_valid = |it: &&str| match by {
        LookUpKey::Id => false,
        LookUpKey::Number(kind) => *it != value && Identifier::parse(kind, it).is_ok(),
    };
    if let Some(shorter) = shorter.filter(is_valid) {
        return shorter.to_owned();
    }
    // Some kinds have a fixed length.
    let last = value.chars().last().unwrap_or('0');
    let other = if last == '9' { '8' } else { '9' };
    let mut miss: String = value.to_owned();
    miss.pop();
    miss.push(other);
    miss
}

struct Cleaner<'m> {
    manifest: &'m Manifest,
    parts: ReadParts,
    access: &'m Access,
    base: String,
    /// Tokens of log-ins.
    tokens: Mutex<Vec<String>>,
}

impl<'m> Cleaner<'m> {
    fn new(manifest: &'m Manifest, access: &'m Access) -> Self {
        let base = access.settings.get("baseUrl").and_then(text_of);
        let base = base.or(manifest.account.base_url.as_deref().map(Cow::from)).unwrap_or_default();
        let base = base.trim_end_matches('/').to_owned();
        Self { manifest, parts: ReadParts::of(manifest), access, base, tokens: Mutex::default() }
    }

    fn step(
        &self,
        asked: RecordedRequest,
        found: &[Arc<Connection>],
        calls: Vec<RawCall>,
    ) -> RecordedStep {
        let mut exchanges: Vec<RecordedCall> =
            calls.into_iter().map(|it| self.recorded(it)).collect();
        // Concurrent calls come in any order.
        exchanges.sort_by(|a, b| (a.kind, &a.request).cmp(&(b.kind, &b.request)));
        let products = found.iter().map(|it| RecordedProduct::from(&**it)).collect();
        RecordedStep { asked, exchanges, products }
    }

    fn recorded(&self, call: RawCall) -> RecordedCall {
        let mut body = match serde_json::from_slice(&call.body) {
            Ok(body) => body,
            Err(_) if call.body.is_empty() => Value::Null,
            Err(_) => Value::from("not JSON"),
        };
        self.parts.clean(&mut body);
        let mut headers = Map::new();
        for (name, value) in &call.headers {
            if self.parts.reads(name) {
                headers.insert(name.to_string(), self.relative(value).into());
            }
        }
        let is_log_in = call.kind == CallKind::Session;
        if is_log_in {
            self.hide_tokens(&mut body, &mut headers);
        }
        self.make_relative(&mut body);
        let sent = (!is_log_in && !call.sent.is_empty())
            .then(|| serde_json::from_str(&call.sent).unwrap_or(Value::String(call.sent)));
        let request = format!("{} {}", call.method, self.target(&call.url));
        RecordedCall { kind: call.kind, request, sent, status: call.status, headers, body }
    }

    /// Replaces the tokens of a log-in by their names.
    fn hide_tokens(&self, body: &mut Value, headers: &mut Map<String, Value>) {
        let calls = self.manifest.session.iter().flat_map(|it| &it.calls);
        let found: HeaderMap = headers
            .iter()
            .filter_map(|(name, value)| {
                let name = http::HeaderName::from_bytes(name.as_bytes()).ok()?;
                Some((name, value.as_str()?.parse().ok()?))
            })
            .collect();
        for (name, source) in calls.flat_map(|it| &it.take) {
            let Some(secret) = source.text(&found, body) else { continue };
            self.tokens.lock().push(secret.clone());
            let placeholder = format!("recorded-{name}");
            match source {
                Source::Header(header) => {
                    headers.insert(header.to_string(), placeholder.into());
                }
                Source::Body(_) => replace(body, &secret, &placeholder),
            }
        }
        shorten(body);
    }

    /// Target of a call relative to the account's addresses, without secrets.
    fn target(&self, url: &str) -> String {
        let relative = self.relative(url);
        let relative = relative.strip_prefix(BASE).unwrap_or(&relative);
        let Some((path, query)) = relative.split_once('?') else { return relative.to_owned() };
        let secret = self.manifest.secret_parameters();
        let pairs = query.split('&').map(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            let decoded = percent_decode_str(name).decode_utf8_lossy();
            if secret.iter().any(|it| *it == decoded) {
                format!("{name}=recorded")
            } else {
                pair.to_owned()
            }
        });
        format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
    }

    /// A URL relative to the account's addresses.
    fn relative(&self, text: &str) -> String {
        let settings = self.manifest.account.settings.iter().filter(|(_, it)| it.is_url);
        for (name, setting) in settings {
            let value = self.access.settings.get(name).and_then(text_of);
            let address = value.or(setting.default.as_deref().map(Cow::from)).unwrap_or_default();
            let address = address.trim_end_matches('/');
            if !address.is_empty() && address != self.base && text.starts_with(address) {
                return text.replacen(address, &format!("{{settings.{name}}}"), 1);
            }
        }
        // A Link header may have several.
        text.replace(&self.base, BASE)
    }

    fn make_relative(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.relative(text),
            Value::Array(members) => members.iter_mut().for_each(|it| self.make_relative(it)),
            Value::Object(members) => members.values_mut().for_each(|it| self.make_relative(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The account's settings, except addresses.
    fn recorded_settings(&self) -> Settings {
        let form = &self.manifest.account.settings;
        let value = self.access.settings.iter();
        let own = value.filter(|(name, _)| form.get(*name).is_some_and(|it| !it.is_url));
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Fails if the recording holds a secret.
    fn check(&self, recording: &Recording) -> Result<(), String> {
        let text = recording.to_text();
        let credentials = &self.access.credentials;
        let secrets = credentials.names().filter_map(|it| credentials.reveal(it));
        let tokens = self.tokens.lock();
        let secrets = secrets.chain(tokens.iter().map(String::as_str));
        let mut secrets = secrets.filter(|it| it.len() >= SECRET_CHARS_MIN);
        // In every encoding: in URLs, JSON and base64.
        if secrets.any(|it| {
            forms(Zeroizing::new(it.to_owned())).iter().any(|it| text.contains(it.as_str()))
        }) {
            return Err(
                "a secret of the account is in the recorded calls, and can't be removed; nothing is \
                 recorded"
                    .into(),
            );
        }
        Ok(())
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(members) => members.iter_mut().for_each(|it| replace(it, from, to)),
        Value::Object(members) => members.values_mut().for_each(|it| replace(it, from, to)),
        _ => {}
    }
}

/// Shortens the texts of a log-in, except placeholders.
fn shorten(value: &mut Value) {
    const CHARS_MAX: usize = 8;
    match value {
        Value::String(text) if !text.starts_with("recorded-") && text.len() > CHARS_MAX => {
            "…".clone_into(text);
        }
        Value::Array(members) => members.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Replaces all numbers and names of a recording.
fn disguise(recording: &mut Recording) {
    let mut disguise = Disguise::default();
    let products = recording.conversation.iter().flat_map(|it| &it.products);
    for product in products {
        let all = [&product.iccid, &product.imsi, &product.msisdn, &product.imei];
        disguise.learn_id(&product.id);
        all.into_iter().flatten().for_each(|it| disguise.learn_id(it));
        product.serial_number.iter().for_each(|it| disguise.learn_id(it));
    }
    recording.settings.values_mut().for_each(|it| disguise.value(it));
    for step in &mut recording.conversation {
        let asked = match &mut step.asked {
            RecordedRequest::Pages(_) => None,
            RecordedRequest::Id(value)
            | RecordedRequest::Iccid(value)
            | RecordedRequest::Imsi(value)
            | RecordedRequest::Msisdn(value)
            | RecordedRequest::SerialNumber(value) => Some(value),
        };
        if let Some(value) = asked {
            disguise.learn_id(value);
            *value = disguise.text(value);
        }
        for recorded in &mut step.exchanges {
            recorded.request = disguise.text(&recorded.request);
            recorded.sent.iter_mut().for_each(|it| disguise.value(it));
            recorded.headers.values_mut().for_each(|it| disguise.value(it));
            disguise.value(&mut recorded.body);
        }
        for product in &mut step.products {
            product.id = disguise.text(&product.id);
            let RecordedProduct { iccid, imsi, msisdn, serial_number, imei, properties, .. } =
                product;
            let all = [iccid, imsi, msisdn, serial_number, imei, properties];
            all.into_iter().flatten().for_each(|it| *it = disguise.text(it));
        }
    }
}
