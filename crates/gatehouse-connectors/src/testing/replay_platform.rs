//! A platform that isn't there: made of a manifest and a recording, on this machine, and as strict as platforms are.
//!
//! It shows the recorded connections by the manifest's own rules: `server.rs` reads requests whole, `request_parser.rs`
//! finds out what they ask for, `recorded.rs` holds what was recorded. A request that the manifest doesn't describe is
//! refused, and counted. On demand it fails in the ways that platforms fail.

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
use self::recorded::{Recorded, Shape};
use self::server::{Asked, Given, serve};
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
use crate::testing::replay_platform::request_parser::Heard;

/// The parameter that links to further pages carry.
const MARK: &str = "standInMark";

/// What marks are counted from, so that none looks like a page's number.
const MARKS_FROM: usize = 1_000_000;

/// A platform that isn't there. It is gone when this is dropped.
pub struct ReplayPlatform {
    server: PlatformServer,
    access: Access,
    responder: Arc<Responder>,
}

/// How it fails.
#[derive(Clone, Debug, Default)]
pub(crate) enum Trouble {
    /// It doesn't.
    #[default]
    None,
    /// Data is answered with this.
    Answer(Given),
    /// Nothing is answered.
    Silence,
    /// Links lead to another host.
    HostileLinks,
}

struct Responder {
    manifest: Arc<Manifest>,
    recorded: Recorded,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    url: String,
    settings: Settings,
    credentials: Credentials,
    trouble: Trouble,
    /// How many sessions were begun; tokens carry the number.
    n_sessions: usize,
    /// Sessions up to this one have ended.
    n_ended: usize,
    /// What was asked otherwise than the manifest says.
    refused: Vec<String>,
    n_strangers: usize,
}

/// What an account must say to reach a stand-in.
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
        credentials.insert(name.clone(), format!("stand-in-{name}"));
    }
    Ok(Access { settings, credentials, allow_insecure_urls: false })
}

impl ReplayPlatform {
    /// Begins to stand in for a platform, or says why nobody can.
    pub fn start<'a>(
        manifest: Arc<Manifest>,
        recording: &'a Recording,
    ) -> BoxFuture<'a, Result<Self, String>> {
        Box::pin(async move {
            let manifest = manifest.for_account(&recording.settings);
            let recorded = Recorded::of(&manifest, recording)?;
            writable(&manifest)?;
            let responder = Arc::new(Responder { manifest, recorded, state: Mutex::default() });
            let answering = Arc::clone(&responder);
            let server = serve(move |asked| answering.reply(asked))
                .map_err(|cause| format!("no port of this machine can be listened on: {cause}"))?;
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

    /// Where it is.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The settings of an account at it.
    pub fn settings(&self) -> &Settings {
        &self.access.settings
    }

    /// The credentials of an account at it.
    pub fn credentials(&self) -> &Credentials {
        &self.access.credentials
    }

    /// How an account at it is reached.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// What it has, in order.
    pub(crate) fn recorded(&self) -> &Recorded {
        &self.responder.recorded
    }

    /// Makes it fail, or not any more.
    pub(crate) fn fail(&self, trouble: Trouble) {
        self.responder.state.lock().trouble = trouble;
    }

    /// Ends every session.
    pub(crate) fn end_sessions(&self) {
        let mut state = self.responder.state.lock();
        state.n_ended = state.n_sessions;
    }

    /// What was asked otherwise than the manifest says.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.responder.state.lock().refused.clone()
    }

    /// How many calls followed a link that leads elsewhere.
    pub(crate) fn n_strangers(&self) -> usize {
        self.responder.state.lock().n_strangers
    }
}

/// Whether everything that a page tells can be written where the manifest reads it.
fn writable(manifest: &Manifest) -> Result<(), String> {
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
            return Err(format!("`{field}` is `{path}`, which is no single place to write to"));
        }
    }
    Ok(())
}

/// Whether what goes along with a call is what it should be.
enum Proof {
    Right,
    /// Someone else's credentials.
    Wrong,
    /// A session that has ended, or none.
    Ended,
}

impl Responder {
    fn reply(&self, asked: &Asked) -> Reply {
        let url = self.state.lock().url.clone();
        let host = asked.headers.get(http::header::HOST).and_then(|it| it.to_str().ok());
        if host.is_some_and(|it| !url.ends_with(it)) {
            self.state.lock().n_strangers += 1;
        }
        if let Some(given) = self.log_in(asked, &url) {
            return given.into();
        }
        let trouble = self.state.lock().trouble.clone();
        match trouble {
            Trouble::Answer(given) => return given.into(),
            Trouble::Silence => return Reply::Silence,
            Trouble::None | Trouble::HostileLinks => {}
        }
        let is_hostile = matches!(trouble, Trouble::HostileLinks);
        self.data(asked, &url, is_hostile).into()
    }

    /// Begins a session, where that is what is asked for.
    fn log_in(&self, asked: &Asked, url: &str) -> Option<Given> {
        let none = EveryCall::default();
        let session = self.manifest.session.as_ref()?;
        for (n, step) in session.calls.iter().enumerate() {
            let Some(mut heard) = Heard::of(&step.call, &none, asked, url, MARK) else { continue };
            let is_whole = heard.headers(&step.call, &none, &asked.headers).is_some();
            if n == 0 {
                self.state.lock().n_sessions += 1;
            }
            if !is_whole || !matches!(self.proof(&heard), Proof::Right) {
                return Some(self.error(401, "who asks is not known here"));
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
            let mut given = Given::json(200, &body);
            given.headers.extend(headers);
            return Some(given);
        }
        None
    }

    /// Whether credentials, settings and tokens are those of the account.
    fn proof(&self, heard: &Heard) -> Proof {
        let state = self.state.lock();
        for (what, text) in &heard.holes {
            let is_right = match what {
                Variable::Credential(name) => state.credentials.reveal(name) == Some(text),
                Variable::Setting(name) => {
                    let form = self.manifest.account.settings.get(name);
                    let usual = form.and_then(|it| it.default.as_deref().map(Cow::from));
                    let own = state.settings.get(name).and_then(text_of).or(usual);
                    own.as_deref() == Some(text)
                }
                Variable::Session(name) => {
                    let known =
                        (state.n_ended + 1..=state.n_sessions).any(|n| token(n, name) == *text);
                    if !known {
                        return Proof::Ended;
                    }
                    true
                }
                _ => true,
            };
            if !is_right {
                return Proof::Wrong;
            }
        }
        Proof::Right
    }

    fn data(&self, asked: &Asked, url: &str, is_hostile: bool) -> Given {
        let manifest = &*self.manifest;
        let every = &manifest.every_call;
        let mut missed = None;
        let mut has_matched = false;
        for (by, (_, look_up)) in
            crate::connector::LookUpKey::ALL.into_iter().zip(manifest.look_up.all())
        {
            let LookUp::Searched(search) = look_up else { continue };
            let Some(heard) = Heard::of(&search.call, every, asked, url, MARK) else { continue };
            has_matched = true;
            if let Err(refusal) =
                self.admitted(&search.call, heard.values().len(), search.at_once, &heard, asked)
            {
                return refusal;
            }
            let found = self.recorded.find(by, search.matching, &heard.values());
            let found: Vec<Value> = found
                .into_iter()
                .map(|it| if search.is_detailed { it.whole.clone() } else { it.listed.clone() })
                .collect();
            let is_hit = !found.is_empty();
            let Some(shape) = self.recorded.look_up(by) else { continue };
            let given = self.found(
                &search.call,
                &search.items,
                shape,
                found,
                &heard,
                asked,
                url,
                is_hostile,
            );
            if is_hit {
                return given;
            }
            missed.get_or_insert(given);
        }
        if let Some(detail) = &manifest.detail
            && let Some(heard) = Heard::of(&detail.call, every, asked, url, MARK)
        {
            has_matched = true;
            if let Err(refusal) =
                self.admitted(&detail.call, heard.values().len(), detail.at_once, &heard, asked)
            {
                return refusal;
            }
            let found = self.recorded.details(&heard.values());
            if !found.is_empty() || missed.is_none() {
                let shape = self.recorded.detail();
                return self.found(
                    &detail.call,
                    &detail.items,
                    shape,
                    found,
                    &heard,
                    asked,
                    url,
                    is_hostile,
                );
            }
        }
        if let Some(heard) = Heard::of(&manifest.list.call, every, asked, url, MARK) {
            if let Err(refusal) = self.admitted(&manifest.list.call, 0, 0, &heard, asked) {
                return refusal;
            }
            let all = self.recorded.records.iter().map(|it| it.listed.clone()).collect();
            let shape = self.recorded.list();
            return self.found(
                &manifest.list.call,
                &manifest.list.items,
                shape,
                all,
                &heard,
                asked,
                url,
                is_hostile,
            );
        }
        match missed {
            Some(given) if has_matched => given,
            _ => self.refuse(
                400,
                format!("{} {} is no call of the manifest", asked.method, asked.target()),
            ),
        }
    }

    /// That a call may be made as it is, or what is answered to it.
    fn admitted(
        &self,
        call: &Call,
        n_values: usize,
        n_max: u32,
        heard: &Heard,
        asked: &Asked,
    ) -> Result<(), Given> {
        let mut all = Heard { holes: heard.holes.clone() };
        let is_whole = all.headers(call, &self.manifest.every_call, &asked.headers).is_some();
        match self.proof(&all) {
            Proof::Right if is_whole => {}
            Proof::Ended => return Err(self.error(401, "the session has ended")),
            Proof::Right | Proof::Wrong => {
                return Err(self.error(401, "who asks is not known here"));
            }
        }
        let (min, max) = self.manifest.paging.size.bounds();
        if let Some(size) = heard.get(&Variable::PageSize)
            && !size.parse::<u32>().is_ok_and(|it| (min..=max).contains(&it))
        {
            return Err(self.refuse(400, format!("a page of {size} is not from {min} to {max}")));
        }
        let first = self.manifest.paging.first();
        if let Some(number) = heard.get(&Variable::PageNumber)
            && !number.parse::<u64>().is_ok_and(|it| it >= first)
        {
            return Err(self.refuse(400, format!("there is no page {number} before {first}")));
        }
        if n_values > n_max as usize {
            return Err(self.refuse(400, format!("{n_values} values are more than {n_max}")));
        }
        Ok(())
    }

    /// What a question found, as much of it as was asked for.
    #[expect(clippy::too_many_arguments, reason = "a question has that many sides")]
    fn found(
        &self,
        call: &Call,
        items: &crate::manifest::format::path::Path,
        shape: &Shape,
        found: Vec<Value>,
        heard: &Heard,
        asked: &Asked,
        url: &str,
        is_hostile: bool,
    ) -> Given {
        let paging = &self.manifest.paging;
        if shape.is_single {
            let Some(one) = found.into_iter().next() else { return shape.miss(self) };
            let mut body = shape.body.clone();
            items.write(&mut body, one);
            return Given::json(200, &body);
        }
        let number = |what: Variable| heard.get(&what).and_then(|it| it.parse::<usize>().ok());
        let (_, max) = paging.size.bounds();
        let is_paged = call.templates().iter().any(|(_, it)| it.mentions(Variable::is_of_page))
            || asked.pairs().iter().any(|(name, _)| name == MARK);
        let size = number(Variable::PageSize).unwrap_or(max as usize);
        let link_mark = asked.pairs().into_iter().find(|(name, _)| name == MARK).map(|(_, it)| it);
        let mark = link_mark.or_else(|| heard.get(&Variable::PageCursor).map(str::to_owned));
        let start = match (paging.by, &mark) {
            (PagingBy::Number, _) => {
                let first = usize::try_from(paging.first()).unwrap_or_default();
                number(Variable::PageNumber).unwrap_or(first).saturating_sub(first) * size
            }
            (PagingBy::Offset, _) => number(Variable::PageOffset).unwrap_or(0),
            (PagingBy::Cursor, None) => 0,
            (PagingBy::Cursor, mark) if *mark == paging.first_mark => 0,
            (PagingBy::Cursor, Some(mark)) => match self.position(mark, &found) {
                Some(position) => position,
                None => return self.refuse(400, format!("`{mark}` is no mark that was given")),
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
        let next = (!is_last && last_item.is_some()).then(|| (MARKS_FROM + end).to_string());
        let link = next.as_ref().map(|mark| {
            let kept = asked.query.split('&').filter(|it| !it.starts_with(MARK));
            let query: Vec<&str> = kept.filter(|it| !it.is_empty()).collect();
            let host =
                if is_hostile { url.replace("127.0.0.1", "localhost") } else { url.to_owned() };
            format!("{host}{}?{}&{MARK}={mark}", asked.path, query.join("&"))
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
        let mut given = Given::json(200, &body);
        given.headers.extend(headers);
        given
    }

    /// How many connections lie before a mark.
    fn position(&self, mark: &str, found: &[Value]) -> Option<usize> {
        if let Some(Next::LastItem(path)) = &self.manifest.paging.next {
            let is_marked = |it: &Value| path.first(it).and_then(text_of).as_deref() == Some(mark);
            return found.iter().position(is_marked).map(|it| it + 1);
        }
        mark.parse::<usize>().ok()?.checked_sub(MARKS_FROM)
    }

    /// An error in the platform's own shape.
    fn error(&self, status: u16, words: &str) -> Given {
        Given::json(status, &error_body(&self.manifest, words))
    }

    fn refuse(&self, status: u16, why: String) -> Given {
        let given = self.error(status, &why);
        self.state.lock().refused.push(why);
        given
    }
}

/// What an error says, where the manifest reads it.
pub(crate) fn error_body(manifest: &Manifest, words: &str) -> Value {
    let mut body = json!({});
    if let Some(pick) = manifest.errors.message.picks().first() {
        pick.path.write(&mut body, words.into());
    }
    body
}

/// Makes a condition hold of a document, where it can be done.
pub(crate) fn make_hold(condition: &Condition, body: &mut Value) -> Option<()> {
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
        let _ = make_hold(last, body);
    } else if let Some(path) = &last.path {
        let otherwise = match (&last.equals, last.exists) {
            (Some(Value::Bool(truth)), _) => (!truth).into(),
            (None, Some(false)) => true.into(),
            _ => Value::Null,
        };
        path.write(body, otherwise);
    }
}

/// What a session gives under a name.
fn token(n_session: usize, name: &str) -> String {
    format!("stand-in-token-{n_session}-{name}")
}
