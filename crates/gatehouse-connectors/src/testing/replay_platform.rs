//! A local HTTP server that plays a platform from its manifest and a recording, as strictly as a real platform.
//!
//! The server returns the recorded connections as the manifest describes: `server.rs` reads requests,
//! `request_parser.rs` matches them to the manifest's calls, `recorded.rs` holds the recorded data. Requests that the
//! manifest doesn't describe are refused and counted. Tests can make the server fail as platforms do.

mod recorded;
pub(crate) mod request_parser;
pub(crate) mod server;

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use gatehouse_core::account::Credentials;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) use self::recorded::CANARY;
use self::recorded::{RecordedPlatform, ResponseShape};
use self::server::{ReceivedRequest, ReplayResponse, serve};
use crate::account_settings::Settings;
use crate::manifest::Manifest;
use crate::manifest::format::call::{Call, EveryCall};
use crate::manifest::format::condition::Condition;
use crate::manifest::format::look_up::LookUp;
use crate::manifest::format::paging::{Next, PagingBy};
use crate::manifest::format::path::text_of;
use crate::manifest::format::source::Source;
use crate::manifest::format::template::Variable;
use crate::platform_server::{PlatformServer, Reply};
use crate::testing::one_account::Access;
use crate::testing::recording::Recording;
use crate::testing::replay_platform::request_parser::PlaceholderValues;

/// Query parameter of a link to the next page.
const CURSOR_PARAMETER: &str = "replayCursor";

/// Start value of cursors, so that none looks like a page number.
const CURSOR_BASE: usize = 1_000_000;

/// A running replayed platform. Dropping it stops the server.
pub struct ReplayPlatform {
    server: PlatformServer,
    access: Access,
    responder: Arc<Responder>,
}

/// Failure of the platform.
#[derive(Clone, Debug, Default)]
pub(crate) enum FailureMode {
    /// No failure.
    #[default]
    None,
    /// Every call for data gets this response.
    Response(ReplayResponse),
    /// No call for data gets a response.
    Silence,
    /// Links to the next page lead to another host.
    HostileLinks,
}

struct Responder {
    manifest: Arc<Manifest>,
    recorded: RecordedPlatform,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    url: String,
    settings: Settings,
    credentials: Credentials,
    failure_mode: FailureMode,
    /// Number of sessions started; tokens carry it.
    n_sessions: usize,
    /// Sessions up to this number have expired.
    n_expired: usize,
    /// Reasons for refusing requests.
    refused: Vec<String>,
    n_foreign_host_calls: usize,
}

/// Settings and credentials for an account.
pub(crate) fn account_for(
    manifest: &Manifest,
    recording: &Recording,
    url: &str,
) -> Result<Access, String> {
    if manifest.name().as_str() != recording.connector {
        return Err(format!(
            "the recording is one of `{}`, not of `{}`",
            recording.connector,
            manifest.name()
        ));
    }
    let mut settings = recording.settings.clone();
    settings.insert("baseUrl".into(), url.into());
    for (name, setting) in &manifest.account.settings {
        if setting.is_url {
            settings.insert(name.clone(), format!("{url}/-{name}").into());
        } else if setting.default.is_none() && !setting.optional && !settings.contains_key(name) {
            return Err(format!("the recording doesn't have the account's setting `{name}`"));
        }
    }
    let mut credentials = Credentials::default();
    for name in manifest.account.credentials.keys() {
        credentials.insert(name.clone(), format!("replay-{name}"));
    }
    Ok(Access { settings, credentials, allow_insecure_urls: false })
}

impl ReplayPlatform {
    /// Starts the server, or says why it can't start.
    pub fn start<'a>(
        manifest: Arc<Manifest>,
        recording: &'a Recording,
    ) -> BoxFuture<'a, Result<Self, String>> {
        Box::pin(async move {
            let manifest = manifest.for_account(&recording.settings);
            let recorded = RecordedPlatform::of(&manifest, recording)?;
            check_writable(&manifest)?;
            let responder = Arc::new(Responder { manifest, recorded, state: Mutex::default() });
            let handler = Arc::clone(&responder);
            let server = serve(move |request| handler.reply(request))
                .map_err(|cause| format!("no server can listen on this machine: {cause}"))?;
            let url = server.url();
            let access = account_for(&responder.manifest, recording, &url)?;
            {
                let mut state = responder.state.lock();
                state.url = url;
                state.settings.clone_from(&access.settings);
                state.credentials.clone_from(&access.credentials);
            }
            Ok(Self { server, access, responder })
        })
    }

    /// The `baseUrl` for accounts of this platform.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Settings for an account of this platform.
    pub fn settings(&self) -> &Settings {
        &self.access.settings
    }

    /// Credentials for an account of this platform.
    pub fn credentials(&self) -> &Credentials {
        &self.access.credentials
    }

    /// Settings and credentials for an account.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Recorded connections and responses.
    pub(crate) fn recorded(&self) -> &RecordedPlatform {
        &self.responder.recorded
    }

    /// Sets how the platform fails.
    pub(crate) fn fail(&self, failure_mode: FailureMode) {
        self.responder.state.lock().failure_mode = failure_mode;
    }

    /// Expires every session.
    pub(crate) fn expire_sessions(&self) {
        let mut state = self.responder.state.lock();
        state.n_expired = state.n_sessions;
    }

    /// Reasons for refusing requests.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.responder.state.lock().refused.clone()
    }

    /// Number of calls that followed a link to another host.
    pub(crate) fn n_foreign_host_calls(&self) -> usize {
        self.responder.state.lock().n_foreign_host_calls
    }
}

/// Fails if a page's values can't be written where the manifest reads them.
fn check_writable(manifest: &Manifest) -> Result<(), String> {
    let paging = &manifest.paging;
    let mut paths = vec![("list.items", &manifest.list.items)];
    if let Some(Source::Body(path)) = &paging.total {
        paths.push(("paging.total", path));
    }
    if let Some(Next::Body(path) | Next::Url(path)) = &paging.next {
        paths.push(("paging.next", path));
    }
    if let Some(last) = &paging.last {
        paths.extend(last.path.as_ref().map(|it| ("paging.last.path", it)));
        if last.matches.is_some() {
            return Err("`paging.last.matches` can't be written".into());
        }
    }
    for (field, path) in paths {
        if !path.is_single() {
            return Err(format!("`{field}` is `{path}`, which is not a single place to write to"));
        }
    }
    Ok(())
}

/// Result of checking the credentials of a call.
enum AuthResult {
    Valid,
    /// Wrong credentials or settings.
    Invalid,
    /// An expired session, or none.
    Expired,
}

impl Responder {
    fn reply(&self, request: &ReceivedRequest) -> Reply {
        let url = self.state.lock().url.clone();
        let host = request.headers.get(http::header::HOST).and_then(|it| it.to_str().ok());
        if host.is_some_and(|it| !url.ends_with(it)) {
            self.state.lock().n_foreign_host_calls += 1;
        }
        if let Some(response) = self.log_in(request, &url) {
            return response.into();
        }
        let failure_mode = self.state.lock().failure_mode.clone();
        match failure_mode {
            FailureMode::Response(response) => return response.into(),
            FailureMode::Silence => return Reply::Silence,
            FailureMode::None | FailureMode::HostileLinks => {}
        }
        let is_hostile = matches!(failure_mode, FailureMode::HostileLinks);
        self.data_response(request, &url, is_hostile).into()
    }

    /// Starts a session, if the request is a log-in.
    fn log_in(&self, request: &ReceivedRequest, url: &str) -> Option<ReplayResponse> {
        let none = EveryCall::default();
        let session = self.manifest.session.as_ref()?;
        for (n, step) in session.calls.iter().enumerate() {
            let Some(mut values) =
                PlaceholderValues::parse(&step.call, &none, request, url, CURSOR_PARAMETER)
            else {
                continue;
            };
            let has_all_headers = values.add_headers(&step.call, &none, &request.headers).is_some();
            if n == 0 {
                self.state.lock().n_sessions += 1;
            }
            if !has_all_headers || !matches!(self.authenticate(&values), AuthResult::Valid) {
                return Some(self.error(401, "the credentials are wrong"));
            }
            let n_sessions = self.state.lock().n_sessions;
            let (mut body, mut headers) = (self.recorded.session(n), Vec::new());
            for (name, source) in &step.take {
                let token = token(n_sessions, name);
                match source {
                    Source::Body(path) => {
                        path.write(&mut body, token.into());
                    }
                    Source::Header(header) => headers.push((header.to_string(), token)),
                }
            }
            let mut response = ReplayResponse::json(200, &body);
            response.headers.extend(headers);
            return Some(response);
        }
        None
    }

    /// Compares credentials, settings and tokens with the account's.
    fn authenticate(&self, values: &PlaceholderValues) -> AuthResult {
        let state = self.state.lock();
        for (variable, text) in &values.pairs {
            let is_valid = match variable {
                Variable::Credential(name) => state.credentials.reveal(name) == Some(text),
                Variable::Setting(name) => {
                    let form = self.manifest.account.settings.get(name);
                    let default = form.and_then(|it| it.default.as_deref().map(Cow::from));
                    let own = state.settings.get(name).and_then(text_of).or(default);
                    own.as_deref() == Some(text)
                }
                Variable::Session(name) => {
                    let is_known =
                        (state.n_expired + 1..=state.n_sessions).any(|n| token(n, name) == *text);
                    if !is_known {
                        return AuthResult::Expired;
                    }
                    true
                }
                _ => true,
            };
            if !is_valid {
                return AuthResult::Invalid;
            }
        }
        AuthResult::Valid
    }

    fn data_response(
        &self,
        request: &ReceivedRequest,
        url: &str,
        is_hostile: bool,
    ) -> ReplayResponse {
        let manifest = &*self.manifest;
        let every = &manifest.every_call;
        let mut miss_response = None;
        let mut has_matched = false;
        for (by, (_, look_up)) in
            crate::connector::LookUpKey::ALL.into_iter().zip(manifest.look_up.all())
        {
            let LookUp::Searched(search) = look_up else { continue };
            let Some(values) =
                PlaceholderValues::parse(&search.call, every, request, url, CURSOR_PARAMETER)
            else {
                continue;
            };
            has_matched = true;
            if let Err(refusal) = self.check_request(
                &search.call,
                values.look_up_values().len(),
                search.at_once,
                &values,
                request,
            ) {
                return refusal;
            }
            let found = self.recorded.find(by, search.matching, &values.look_up_values());
            let found: Vec<Value> = found
                .into_iter()
                .map(|it| if search.is_detailed { it.detailed.clone() } else { it.listed.clone() })
                .collect();
            let has_found = !found.is_empty();
            let Some(shape) = self.recorded.look_up(by) else { continue };
            let response = self.page_response(
                &search.call,
                &search.items,
                shape,
                found,
                &values,
                request,
                url,
                is_hostile,
            );
            if has_found {
                return response;
            }
            miss_response.get_or_insert(response);
        }
        if let Some(detail) = &manifest.detail
            && let Some(values) =
                PlaceholderValues::parse(&detail.call, every, request, url, CURSOR_PARAMETER)
        {
            has_matched = true;
            if let Err(refusal) = self.check_request(
                &detail.call,
                values.look_up_values().len(),
                detail.at_once,
                &values,
                request,
            ) {
                return refusal;
            }
            let found = self.recorded.details(&values.look_up_values());
            if !found.is_empty() || miss_response.is_none() {
                let shape = self.recorded.detail();
                return self.page_response(
                    &detail.call,
                    &detail.items,
                    shape,
                    found,
                    &values,
                    request,
                    url,
                    is_hostile,
                );
            }
        }
        if let Some(values) =
            PlaceholderValues::parse(&manifest.list.call, every, request, url, CURSOR_PARAMETER)
        {
            if let Err(refusal) = self.check_request(&manifest.list.call, 0, 0, &values, request) {
                return refusal;
            }
            let all = self.recorded.connections.iter().map(|it| it.listed.clone()).collect();
            let shape = self.recorded.list();
            return self.page_response(
                &manifest.list.call,
                &manifest.list.items,
                shape,
                all,
                &values,
                request,
                url,
                is_hostile,
            );
        }
        match miss_response {
            Some(response) if has_matched => response,
            _ => self.refuse(
                400,
                format!("{} {} is not a call of the manifest", request.method, request.target()),
            ),
        }
    }

    /// Checks credentials and limits of a call; `Err` is the response.
    fn check_request(
        &self,
        call: &Call,
        n_values: usize,
        n_max: u32,
        values: &PlaceholderValues,
        request: &ReceivedRequest,
    ) -> Result<(), ReplayResponse> {
        let mut all = PlaceholderValues { pairs: values.pairs.clone() };
        let has_all_headers =
            all.add_headers(call, &self.manifest.every_call, &request.headers).is_some();
        match self.authenticate(&all) {
            AuthResult::Valid if has_all_headers => {}
            AuthResult::Expired => return Err(self.error(401, "the session has ended")),
            AuthResult::Valid | AuthResult::Invalid => {
                return Err(self.error(401, "the credentials are wrong"));
            }
        }
        let (min, max) = self.manifest.paging.size.bounds();
        if let Some(size) = values.get(&Variable::PageSize)
            && !size.parse::<u32>().is_ok_and(|it| (min..=max).contains(&it))
        {
            return Err(self.refuse(400, format!("a page of {size} is not from {min} to {max}")));
        }
        let first = self.manifest.paging.first();
        if let Some(number) = values.get(&Variable::PageNumber)
            && !number.parse::<u64>().is_ok_and(|it| it >= first)
        {
            return Err(self.refuse(400, format!("page {number} is before the first, {first}")));
        }
        if n_values > n_max as usize {
            return Err(self.refuse(400, format!("{n_values} values are more than {n_max}")));
        }
        Ok(())
    }

    /// Response with the requested page of `found`.
    #[expect(clippy::too_many_arguments, reason = "a response depends on all of them")]
    fn page_response(
        &self,
        call: &Call,
        items: &crate::manifest::format::path::Path,
        shape: &ResponseShape,
        found: Vec<Value>,
        values: &PlaceholderValues,
        request: &ReceivedRequest,
        url: &str,
        is_hostile: bool,
    ) -> ReplayResponse {
        let paging = &self.manifest.paging;
        if shape.is_single {
            let Some(one) = found.into_iter().next() else { return shape.miss(self) };
            let mut body = shape.body.clone();
            items.write(&mut body, one);
            return ReplayResponse::json(200, &body);
        }
        let number =
            |variable: Variable| values.get(&variable).and_then(|it| it.parse::<usize>().ok());
        let (_, max) = paging.size.bounds();
        let is_paged = call.templates().iter().any(|(_, it)| it.mentions(Variable::is_of_page))
            || request.pairs().iter().any(|(name, _)| name == CURSOR_PARAMETER);
        let size = number(Variable::PageSize).unwrap_or(max as usize);
        let link_cursor = request
            .pairs()
            .into_iter()
            .find(|(name, _)| name == CURSOR_PARAMETER)
            .map(|(_, it)| it);
        let cursor = link_cursor.or_else(|| values.get(&Variable::PageCursor).map(str::to_owned));
        let start = match (paging.by, &cursor) {
            (PagingBy::Number, _) => {
                let first = usize::try_from(paging.first()).unwrap_or_default();
                number(Variable::PageNumber).unwrap_or(first).saturating_sub(first) * size
            }
            (PagingBy::Offset, _) => number(Variable::PageOffset).unwrap_or(0),
            (PagingBy::Cursor, None) => 0,
            (PagingBy::Cursor, cursor) if *cursor == paging.first_mark => 0,
            (PagingBy::Cursor, Some(cursor)) => match self.position(cursor, &found) {
                Some(position) => position,
                None => {
                    return self
                        .refuse(400, format!("`{cursor}` is not a cursor of this platform"));
                }
            },
        };
        let (start, size) = if is_paged { (start, size) } else { (0, found.len()) };
        let total = found.len();
        let end = (start + size).min(total);
        let page: Vec<Value> = found.get(start..end).unwrap_or_default().to_vec();
        let mut body = shape.body.clone();
        let mut headers = Vec::new();
        let last_item = page.last().cloned();
        items.write(&mut body, Value::Array(page));
        match &paging.total {
            Some(Source::Body(path)) => path.write(&mut body, total.into()),
            Some(Source::Header(name)) => headers.push((name.to_string(), total.to_string())),
            None => {}
        }
        let is_last = end >= total;
        if let Some(last) = &paging.last {
            write_last(last, &mut body, is_last);
        }
        let next = (!is_last && last_item.is_some()).then(|| (CURSOR_BASE + end).to_string());
        let link = next.as_ref().map(|cursor| {
            let kept = request.query.split('&').filter(|it| !it.starts_with(CURSOR_PARAMETER));
            let query: Vec<&str> = kept.filter(|it| !it.is_empty()).collect();
            let host =
                if is_hostile { url.replace("127.0.0.1", "localhost") } else { url.to_owned() };
            format!("{host}{}?{}&{CURSOR_PARAMETER}={cursor}", request.path, query.join("&"))
        });
        match &paging.next {
            Some(Next::Body(path)) => path.write(&mut body, next.into()),
            Some(Next::Url(path)) => path.write(&mut body, link.into()),
            Some(Next::Header(name)) => headers.extend(next.map(|it| (name.clone(), it))),
            Some(Next::Link(relation)) => {
                let header = |it| ("link".to_owned(), format!("<{it}>; rel=\"{relation}\""));
                headers.extend(link.map(header));
            }
            Some(Next::LastItem(_)) | None => {}
        }
        let mut response = ReplayResponse::json(200, &body);
        response.headers.extend(headers);
        response
    }

    /// Number of connections before a cursor.
    fn position(&self, cursor: &str, found: &[Value]) -> Option<usize> {
        if let Some(Next::LastItem(path)) = &self.manifest.paging.next {
            let has_cursor =
                |it: &Value| path.first(it).and_then(text_of).as_deref() == Some(cursor);
            return found.iter().position(has_cursor).map(|it| it + 1);
        }
        cursor.parse::<usize>().ok()?.checked_sub(CURSOR_BASE)
    }

    /// An error response in the platform's format.
    fn error(&self, status: u16, message: &str) -> ReplayResponse {
        ReplayResponse::json(status, &error_body(&self.manifest, message))
    }

    fn refuse(&self, status: u16, why: String) -> ReplayResponse {
        let response = self.error(status, &why);
        self.state.lock().refused.push(why);
        response
    }
}

/// Body of an error, with its message where the manifest reads it.
pub(crate) fn error_body(manifest: &Manifest, message: &str) -> Value {
    let mut body = json!({});
    if let Some(pick) = manifest.errors.message.picks().first() {
        pick.path.write(&mut body, message.into());
    }
    body
}

/// Makes a document satisfy a condition; `None` if impossible.
pub(crate) fn satisfy(condition: &Condition, body: &mut Value) -> Option<()> {
    let Some(path) = &condition.path else { return Some(()) };
    path.is_single().then_some(())?;
    let value = match (&condition.equals, &condition.one_of, &condition.matches, condition.exists) {
        (_, _, Some(_), _) => return None,
        (Some(value), _, _, _) => value.clone(),
        (None, Some(values), _, _) => values.first()?.clone(),
        (None, None, None, Some(false)) => Value::Null,
        (None, None, None, _) => true.into(),
    };
    path.write(body, value);
    Some(())
}

fn write_last(last: &Condition, body: &mut Value, is_last: bool) {
    if is_last {
        let _ = satisfy(last, body);
    } else if let Some(path) = &last.path {
        let otherwise = match (&last.equals, last.exists) {
            (Some(Value::Bool(truth)), _) => (!truth).into(),
            (None, Some(false)) => true.into(),
            _ => Value::Null,
        };
        path.write(body, otherwise);
    }
}

/// A value of a session.
fn token(n_session: usize, name: &str) -> String {
    format!("replay-token-{n_session}-{name}")
}
