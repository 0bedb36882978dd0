//! The near side: asks a platform that speaks as a simulated one does.

use std::sync::Arc;

use gatehouse_core::account::Credentials;
use gatehouse_core::product::{Connectivity, LOCAL_ID_CHARS_MAX, Property, is_local_id};
use gatehouse_core::{Connection, IdentifierKind};
use http::StatusCode;
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use smol_str::SmolStr;

use super::platform::{LOOK_UP_MAX, PAGE_SIZE_MAX, PagingKind};
use crate::account_settings::{SettingFault, Settings, kind};
use crate::client::{PlatformClient, PlatformResponse};
use crate::connector::{
    CallContext, Capabilities, Connector, LookUp, LookUpKey, Paging, PlatformFuture, PlatformPage,
    Position,
};
use crate::failure::{Failure, FailureKind};

/// Connections on a page and identifiers in a question, where the account doesn't say.
const PAGE_SIZE_DEFAULT: u32 = 100;
const LOOK_UP_DEFAULT: u32 = 100;

/// Most characters of a token.
const TOKEN_CHARS_MAX: usize = 4096;

/// Characters of a value that a fault repeats.
const VALUE_CHARS_MAX: usize = 64;

/// All but what needs no encoding anywhere in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Asks a simulated platform for one account.
#[derive(Debug)]
pub struct SimulatorConnector {
    line: PlatformClient,
    headers: HeaderMap,
    capabilities: Capabilities,
}

/// All that is wrong with what this connector asks of an account.
pub fn check(settings: &Settings, credentials: &Credentials) -> Vec<SettingFault> {
    read_account(settings, credentials).err().unwrap_or_default()
}

impl SimulatorConnector {
    /// Speaks for an account over its line; or says all that is wrong with it.
    pub fn new(
        line: PlatformClient,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Result<Self, Vec<SettingFault>> {
        let (capabilities, headers) = read_account(settings, credentials)?;
        Ok(Self { line, headers, capabilities })
    }

    async fn get(&self, ask: CallContext, target: &str) -> Result<PlatformResponse, Failure> {
        self.line.get(ask, target, self.headers.clone()).await
    }

    /// Asks for one connection by what the platform calls it.
    async fn read(
        &self,
        ask: CallContext,
        local_id: &str,
    ) -> Result<Option<Arc<Connection>>, Failure> {
        // In an address these two lead elsewhere, however they are written.
        if matches!(local_id, "" | "." | "..") {
            return Ok(None);
        }
        let answer = self.get(ask, &format!("/v1/connections/{}", encoded(local_id))).await?;
        read_connection(&answer)
    }
}

impl Connector for SimulatorConnector {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn page<'a>(&'a self, ask: CallContext, at: &'a Position) -> PlatformFuture<'a, PlatformPage> {
        Box::pin(async move {
            let answer = self.get(ask, &page_target(at)).await?;
            read_page(&answer)
        })
    }

    fn look_up<'a>(
        &'a self,
        ask: CallContext,
        by: LookUpKey,
        values: &'a [String],
    ) -> PlatformFuture<'a, Vec<Arc<Connection>>> {
        Box::pin(async move {
            match by {
                LookUpKey::Id => {
                    let mut found = Vec::new();
                    for local_id in values {
                        found.extend(self.read(ask, local_id).await?);
                    }
                    Ok(found)
                }
                LookUpKey::Number(_) if values.is_empty() => Ok(Vec::new()),
                LookUpKey::Number(kind) => {
                    read_found(&self.get(ask, &look_up_target(kind, values)).await?)
                }
            }
        })
    }
}

// What an account says.

fn read_account(
    settings: &Settings,
    credentials: &Credentials,
) -> Result<(Capabilities, HeaderMap), Vec<SettingFault>> {
    let mut faults = Vec::new();
    let mut fault = |name: String, reason: String| faults.push(SettingFault { name, reason });
    let (mut paging, mut size_max, mut values_max) =
        (PagingKind::Page, PAGE_SIZE_DEFAULT, LOOK_UP_DEFAULT);
    for (name, value) in settings {
        let read = match name.as_str() {
            "paging" => read_paging(value).map(|it| paging = it),
            "pageSizeMax" => read_number(value, PAGE_SIZE_MAX).map(|it| size_max = it),
            "lookUpMax" => read_number(value, LOOK_UP_MAX).map(|it| values_max = it),
            _ => Err("is not a setting of this connector; it may have baseUrl, callsAtOnce, \
                 callsPerSecond, paging, pageSizeMax, lookUpMax"
                .to_owned()),
        };
        if let Err(reason) = read {
            fault(format!("settings.{name}"), reason);
        }
    }
    for name in credentials.names().filter(|name| *name != "token") {
        let reason = "is not a credential of this connector; it has token";
        fault(format!("credentials.{name}"), reason.to_owned());
    }
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    // Whoever has none may ask all the same: what becomes of it is the platform's to say.
    match credentials.reveal("token").map(bearer) {
        Some(Some(authorization)) => {
            headers.insert(AUTHORIZATION, authorization);
        }
        Some(None) => {
            let reason = format!("must have 1 to {TOKEN_CHARS_MAX} printable characters of ASCII");
            fault("credentials.token".to_owned(), reason);
        }
        None => {}
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let paging = match paging {
        PagingKind::Page => Paging::numbered(size_max),
        PagingKind::Offset => Paging::offset(size_max),
        PagingKind::Cursor => Paging::cursor(size_max),
    };
    let searched = LookUp::Searched { values_max };
    let capabilities = Capabilities {
        paging,
        id: LookUp::Searched { values_max: 1 },
        iccid: searched,
        imsi: searched,
        msisdn: searched,
        serial_number: searched,
        detail: None,
    };
    Ok((capabilities, headers))
}

fn read_paging(value: &Value) -> Result<PagingKind, String> {
    let known = value.as_str().and_then(PagingKind::named);
    known.ok_or_else(|| {
        let names = PagingKind::ALL.map(PagingKind::as_str).join(", ");
        match value {
            Value::String(word) => {
                let shown: String = word.chars().take(VALUE_CHARS_MAX).collect();
                format!("must be one of {names}, not `{shown}`")
            }
            other => format!("must be one of {names}, not {}", kind(other)),
        }
    })
}

fn read_number(value: &Value, max: u32) -> Result<u32, String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.filter(|number| (1..=max).contains(number)).ok_or_else(|| match value {
        Value::Number(number) => format!("must be a whole number, 1 to {max}, not {number}"),
        other => format!("must be a whole number, 1 to {max}, not {}", kind(other)),
    })
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let is_printable = token.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if !is_printable || !(1..=TOKEN_CHARS_MAX).contains(&token.len()) {
        return None;
    }
    let mut authorization = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    authorization.set_sensitive(true);
    Some(authorization)
}

// What is asked for.

fn page_target(at: &Position) -> String {
    match at {
        Position::Page { index, size } => {
            format!("/v1/connections?page={}&size={size}", index.saturating_add(1))
        }
        Position::Offset { offset, size } => {
            format!("/v1/connections?offset={offset}&limit={size}")
        }
        Position::Cursor { after: None, size } => format!("/v1/connections?limit={size}"),
        Position::Cursor { after: Some(mark), size } => {
            format!("/v1/connections?cursor={}&limit={size}", encoded(mark))
        }
    }
}

fn look_up_target(kind: IdentifierKind, values: &[String]) -> String {
    let name = match kind {
        IdentifierKind::Iccid => "iccid",
        IdentifierKind::Imsi => "imsi",
        IdentifierKind::Msisdn => "msisdn",
        IdentifierKind::SerialNumber => "serial",
    };
    let values: Vec<String> = values.iter().map(|value| encoded(value).to_string()).collect();
    format!("/v1/connections?{name}={}", values.join(","))
}

fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ENCODED)
}

// What comes back. Only what is named here is read; whatever else there is stays where it is.

#[derive(Deserialize)]
struct PageBody {
    connections: Vec<Understood>,
    total: Option<u64>,
    next: Option<String>,
}

/// A connection as it is understood while it is read; nothing where the platform calls it by what is no id.
#[derive(Deserialize)]
#[serde(from = "ConnectionBody")]
struct Understood(Option<Arc<Connection>>);

#[derive(Deserialize)]
struct ConnectionBody {
    id: SmolStr,
    state: SmolStr,
    connectivity: ConnectivityBody,
    iccid: Option<SmolStr>,
    imsi: Option<SmolStr>,
    msisdn: Option<SmolStr>,
    imei: Option<SmolStr>,
    serial: Option<SmolStr>,
    #[serde(default)]
    properties: Vec<PropertyBody>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ConnectivityBody {
    Cellular,
    Satellite,
}

#[derive(Deserialize)]
struct PropertyBody {
    name: SmolStr,
    value: Option<SmolStr>,
}

/// What the platform says where it can't do what it was asked for.
#[derive(Deserialize)]
struct ErrorBody {
    status: u16,
    error: String,
    message: String,
}

pub(super) fn read_page(answer: &PlatformResponse) -> Result<PlatformPage, Failure> {
    expect_ok(answer)?;
    page(answer.json()?)
}

/// What a look-up found: all of it, since what is left out would seem not to be there.
pub(super) fn read_found(answer: &PlatformResponse) -> Result<Vec<Arc<Connection>>, Failure> {
    let found = read_page(answer)?;
    if found.next.is_some() {
        return Err(answer.failure("the platform gave only a part of what a look-up found"));
    }
    Ok(found.connections)
}

pub(super) fn read_connection(
    answer: &PlatformResponse,
) -> Result<Option<Arc<Connection>>, Failure> {
    // A gateway that doesn't know the way says 404 too, and knows nothing of connections.
    if answer.status == StatusCode::NOT_FOUND
        && answer.json().is_ok_and(|it: ErrorBody| it.status == answer.status.as_u16())
    {
        return Ok(None);
    }
    expect_ok(answer)?;
    let Understood(connection) = answer.json()?;
    connection.ok_or_else(no_id).map(Some)
}

fn expect_ok(answer: &PlatformResponse) -> Result<(), Failure> {
    if answer.status == StatusCode::OK {
        return Ok(());
    }
    let words = format!("the platform answered {}", answer.status.as_u16());
    let said: Option<ErrorBody> = answer.json().ok();
    let (code, message) =
        (said.as_ref().map(|it| &*it.error), said.as_ref().map(|it| &*it.message));
    Err(answer.failure_that_says(words, code, message))
}

fn page(body: PageBody) -> Result<PlatformPage, Failure> {
    let connections = body.connections.into_iter().map(|Understood(connection)| connection);
    let connections = connections.collect::<Option<_>>().ok_or_else(no_id)?;
    let next = body.next.filter(|mark| !mark.is_empty());
    Ok(PlatformPage { connections, next, total: body.total, is_last: false })
}

fn no_id() -> Failure {
    let detail = format!(
        "the platform has a connection whose id is not 1 to {LOCAL_ID_CHARS_MAX} characters \
         without control characters"
    );
    Failure::new(FailureKind::Error, detail)
}

impl From<ConnectionBody> for Understood {
    fn from(body: ConnectionBody) -> Self {
        Self(is_local_id(&body.id).then(|| Arc::new(connection(body))))
    }
}

fn connection(body: ConnectionBody) -> Connection {
    let numbers = [
        (IdentifierKind::Iccid, body.iccid),
        (IdentifierKind::Imsi, body.imsi),
        (IdentifierKind::Msisdn, body.msisdn),
        (IdentifierKind::SerialNumber, body.serial),
    ];
    let carried = numbers.into_iter().filter_map(|(kind, value)| Some((kind, value?)));
    // What is named and says nothing is no property, as an empty number is no number.
    let properties = body.properties.into_iter().filter_map(|it| {
        let value = it.value.filter(|value| !value.is_empty())?;
        Some(Property { name: it.name, value })
    });
    Connection {
        local_id: body.id,
        status: status(&body.state),
        platform_status: Some(body.state),
        connectivity: match body.connectivity {
            ConnectivityBody::Cellular => Connectivity::Cellular,
            ConnectivityBody::Satellite => Connectivity::Satellite,
        },
        identifiers: carried.filter(|(_, value)| !value.is_empty()).collect(),
        imeis: body.imei.into_iter().filter(|imei| !imei.is_empty()).collect(),
        properties: properties.collect(),
    }
}

/// Our word for a status of the platform's; one that we don't know stands for itself.
fn status(word: &str) -> SmolStr {
    match word {
        "in-use" => SmolStr::new_static("ACTIVE"),
        "paused" => SmolStr::new_static("SUSPENDED"),
        "stock" => SmolStr::new_static("CREATED"),
        "retired" => SmolStr::new_static("TERMINATED"),
        other => other.to_uppercase().into(),
    }
}

#[cfg(test)]
mod tests;
