//! The connector that runs a manifest.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use gatehouse_core::{Connection, identifier};
use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use crate::client::{Document, PlatformClient, PlatformRequest, PlatformResponse};
use crate::clock::machine_time;
use crate::connector::{
    CallContext, CallKind, Capabilities, Connector, DetailedConnections, LookUpKey, PlatformFuture,
    PlatformPage, Position,
};
use crate::failure::{Failure, FailureKind};
use crate::manifest::Manifest;
use crate::manifest::format::account::AccountValues;
use crate::manifest::format::call::Call;
use crate::manifest::format::detail::Detail;
use crate::manifest::format::errors::Meaning;
use crate::manifest::format::look_up::{LookUp, Search};
use crate::manifest::format::paging::{NextPage, PagingBy};
use crate::manifest::format::path::{Path, text_of};
use crate::manifest::format::product::with_additions;
use crate::manifest::format::template::{PageScope, Scope, Variable, VariableValues};
use crate::manifest::run::session_cache::SessionCache;

/// Most pages of one look-up.
const FOUND_PAGES_MAX: u64 = 20;

/// Most connections of one look-up.
const FOUND_ITEMS_MAX: usize = 20_000;

/// Concurrent detail calls of one request; further calls wait, and cost nothing yet.
const DETAILS_AT_ONCE: usize = 128;

/// Most bytes of a URL behind the base URL: gateways reject URLs of more than 8 KiB.
const TARGET_BYTES_MAX: usize = 7000;

/// Calls one account's platform as its manifest says.
pub(crate) struct ManifestConnector {
    manifest: Arc<Manifest>,
    account: AccountValues,
    client: PlatformClient,
    sessions: SessionCache,
    capabilities: Capabilities,
}

struct Success {
    response: PlatformResponse,
    target: String,
}

/// A call with its page and values.
#[derive(Clone, Copy)]
struct CallSpec<'q> {
    kind: CallKind,
    call: &'q Call,
    page: PageScope<'q>,
    values: &'q [String],
    /// A link from a response, which replaces the call's own target.
    followed: Option<&'q str>,
}

/// Next step after a page of a look-up.
enum NextStep {
    Nothing,
    Page,
    Cursor(String),
}

impl ManifestConnector {
    pub(crate) fn new(
        manifest: Arc<Manifest>,
        account: AccountValues,
        client: PlatformClient,
    ) -> Self {
        let capabilities = manifest.capabilities();
        let errors = manifest.errors.clone();
        let is_failure = move |response: &PlatformResponse| {
            errors.is_failure_by_rule(response.status, response.document())
        };
        let client = if manifest.errors.rules.is_empty() {
            client
        } else {
            client.with_failure_check(Box::new(is_failure))
        };
        Self { manifest, account, client, sessions: SessionCache::default(), capabilities }
    }

    /// Makes a call, and repeats it once with a new session if the session has expired. `None` if the platform says
    /// that there is no such object.
    async fn call(
        &self,
        context: CallContext,
        spec: CallSpec<'_>,
    ) -> Result<Option<Success>, Failure> {
        let mut is_retry = false;
        loop {
            let session =
                self.sessions.session(context, &self.manifest, &self.account, &self.client).await?;
            let Some(request) =
                self.request(spec, session.as_deref().map(|it| it as &dyn VariableValues))
            else {
                // No connection has an id that can't be written in a URL.
                return Ok(None);
            };
            let target = request.target.clone();
            let secrets = session.as_ref().map(|it| it.secrets()).unwrap_or_default();
            let response = self.client.send_with_secrets(context, secrets, request).await?;
            let meaning = self.manifest.errors.meaning(response.status, response.document());
            if let (Some(session), Meaning::Fine | Meaning::NotFound) = (&session, meaning) {
                session.record_success(spec.kind);
            }
            match (meaning, session) {
                (Meaning::Fine, _) => {
                    if *response.document() == Document::Null {
                        // Reports invalid JSON in the body as such.
                        response.json::<Document>()?;
                    }
                    return Ok(Some(Success { response, target }));
                }
                // A gateway's 404 page says nothing about connections.
                (Meaning::NotFound, _) if !response.is_page() => return Ok(None),
                (Meaning::Expired, Some(session))
                    if !is_retry && session.should_renew(spec.kind) =>
                {
                    self.sessions.drop_session(context, &session, spec.kind).await;
                    is_retry = true;
                }
                (meaning, _) => return Err(self.failure(&response, meaning)),
            }
        }
    }

    fn request(
        &self,
        spec: CallSpec<'_>,
        session: Option<&dyn VariableValues>,
    ) -> Option<PlatformRequest> {
        let scope = self.scope(spec, session);
        let filled = spec.call.fill(&self.manifest.every_call, &scope)?;
        let target = match spec.followed {
            Some(followed) => self.renewed_link(followed, spec, &scope),
            None => filled.target,
        };
        Some(PlatformRequest {
            kind: spec.kind,
            method: filled.method,
            target,
            headers: filled.headers,
            body: filled.body,
            is_repeatable: true,
        })
    }

    fn scope<'a>(
        &'a self,
        spec: CallSpec<'a>,
        session: Option<&'a dyn VariableValues>,
    ) -> Scope<'a> {
        Scope {
            account: &self.account,
            session,
            page: Some(PageScope {
                cursor: spec.page.cursor.or(self.manifest.paging.first_mark.as_deref()),
                ..spec.page
            }),
            values: spec.values,
            now: machine_time(),
        }
    }

    /// A link from a response, with the page size wanted now if it has one, and with the parameters of every call. The
    /// rest stays as it is: it may be a cursor.
    fn renewed_link(&self, followed: &str, spec: CallSpec<'_>, scope: &Scope<'_>) -> String {
        let (place, query) = followed.split_once('?').unwrap_or((followed, ""));
        let mut pairs: Vec<String> =
            query.split('&').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let is_size = |variable: &Variable| *variable == Variable::PageSize;
        let (mut sized, mut every) = (Vec::new(), Vec::new());
        for (name, parameter) in &spec.call.query {
            parameter.write_those_with(&is_size, name, scope, &mut sized);
        }
        for (name, parameter) in &self.manifest.every_call.query {
            parameter.write(name, scope, &mut every);
        }
        for (pair, is_needed) in
            sized.iter().map(|it| (it, false)).chain(every.iter().map(|it| (it, true)))
        {
            let mut is_there = false;
            for old in pairs.iter_mut().filter(|it| name_of(it) == name_of(pair)) {
                pair.clone_into(old);
                is_there = true;
            }
            if is_needed && !is_there {
                pairs.push(pair.clone());
            }
        }
        if pairs.is_empty() { place.to_owned() } else { format!("{place}?{}", pairs.join("&")) }
    }

    fn failure(&self, response: &PlatformResponse, meaning: Meaning) -> Failure {
        let status = response.status.as_u16();
        let code = self.manifest.errors.code(response.document());
        let message = self.manifest.errors.message(response.document());
        let detail = match (&message, meaning) {
            (Some(message), _) => format!("the platform answered {status}: {message}"),
            (None, Meaning::Expired) => {
                format!("the platform answered {status}: it rejects the account's credentials")
            }
            (None, _) => format!("the platform answered {status}"),
        };
        let mut failure = response.failure_that_says(detail, code.as_deref(), message.as_deref());
        if meaning == Meaning::Throttled {
            failure.kind = FailureKind::Throttled;
        }
        failure
    }

    /// The documents of a response.
    fn items<'s>(&self, success: &'s Success, path: &Path) -> Result<Vec<&'s Document>, Failure> {
        match path.all(success.response.document()).as_slice() {
            [] => {
                let message = format!("the platform's answer has no connections at `{path}`");
                Err(success.response.failure(message))
            }
            [Document::List(members)] => Ok(members.iter().collect()),
            [Document::Null] => Ok(Vec::new()),
            nodes => Ok(nodes.to_vec()),
        }
    }

    fn connection(&self, document: &Document) -> Result<Connection, Failure> {
        self.manifest.product.connection(document, self.manifest.connectivity())
    }

    /// Cursor of the next page.
    fn next(&self, success: &Success, items: &[&Document]) -> Result<Option<String>, Failure> {
        let Some(next) = &self.manifest.paging.next else { return Ok(None) };
        let next_page = next.next_page(
            &success.response.headers,
            success.response.document(),
            items.last().copied(),
        );
        match next_page {
            None => Ok(None),
            Some(NextPage::Cursor(cursor)) => Ok(Some(cursor)),
            // A link to another origin would take the account's credentials along.
            Some(NextPage::Link(link)) => self.client.follow(&success.target, &link).map(Some),
        }
    }

    async fn list(&self, context: CallContext, at: &Position) -> Result<PlatformPage, Failure> {
        let Manifest { list, paging, .. } = &*self.manifest;
        let page = page_scope(at, paging.first());
        let spec = CallSpec {
            kind: CallKind::List,
            call: &list.call,
            page,
            values: &[],
            followed: page.cursor.filter(|_| paging.follows_links()),
        };
        let Some(success) = self.call(context, spec).await? else {
            let detail = "the platform has no list at this path; is its base URL right?";
            return Err(Failure::new(FailureKind::Error, detail));
        };
        let total = paging.total(&success.response.headers, success.response.document());
        let mut is_last = paging.is_last(success.response.document());
        let is_by_cursor = paging.by == PagingBy::Cursor;
        // Some platforms repeat their last page beyond the end.
        let is_past =
            !is_by_cursor && page.offset > 0 && total.is_some_and(|total| page.offset >= total);
        if is_past {
            return Ok(PlatformPage { total, is_last: true, ..PlatformPage::default() });
        }
        let items = self.items(&success, &list.items)?;
        is_last |= is_by_cursor && paging.ends_short && items.len() < page.size as usize;
        // An empty page may have a next page.
        let next = if is_last { None } else { self.next(&success, &items)? };
        if is_by_cursor && paging.last.is_some() && !is_last && next.is_none() {
            let message = "the platform says that there is a next page, but not how to get there";
            return Err(success.response.failure(message));
        }
        let connections = items.into_iter().map(|it| self.connection(it).map(Arc::new));
        Ok(PlatformPage {
            connections: connections.collect::<Result<_, _>>()?,
            next,
            total,
            is_last,
        })
    }

    /// Documents that a look-up finds on all its pages; `None` if the platform says that there are none.
    async fn find_all(
        &self,
        context: CallContext,
        kind: CallKind,
        call: &Call,
        items: &Path,
        values: &[String],
    ) -> Result<Option<Vec<Document>>, Failure> {
        let paging = &self.manifest.paging;
        let (_, size) = paging.size.bounds();
        let mut found: Vec<Document> = Vec::new();
        let (mut index, mut cursor) = (0, None);
        for _ in 0..FOUND_PAGES_MAX {
            let at = match paging.by {
                // Pages may be shorter than requested.
                PagingBy::Offset => Position::Offset { offset: found.len() as u64, size },
                PagingBy::Number | PagingBy::Cursor => Position::Page { index, size },
            };
            let page = PageScope { cursor: cursor.as_deref(), ..page_scope(&at, paging.first()) };
            let followed = page.cursor.filter(|_| paging.follows_links());
            let spec = CallSpec { kind, call, page, values, followed };
            let Some(success) = self.call(context, spec).await? else {
                let is_first = index == 0 && cursor.is_none();
                return Ok((!is_first).then_some(found));
            };
            let items = self.items(&success, items)?;
            let n_found = found.len() + items.len();
            if n_found > FOUND_ITEMS_MAX {
                let message = format!(
                    "a look-up found more than {FOUND_ITEMS_MAX} similar connections: the exact one can't be told"
                );
                return Err(success.response.failure(message));
            }
            let next_step = self.next_step(&success, call, &items, n_found as u64)?;
            found.extend(items.into_iter().cloned());
            match next_step {
                NextStep::Nothing => return Ok(Some(found)),
                NextStep::Page => index += 1,
                NextStep::Cursor(next) => cursor = Some(next),
            }
        }
        let detail = format!(
            "a look-up found more than {FOUND_PAGES_MAX} pages of similar connections: the exact one can't be told"
        );
        Err(Failure::new(FailureKind::Error, detail))
    }

    /// Next step after a page of a look-up. A connection on a page left out would seem not to exist.
    fn next_step(
        &self,
        success: &Success,
        call: &Call,
        items: &[&Document],
        n_found: u64,
    ) -> Result<NextStep, Failure> {
        let paging = &self.manifest.paging;
        let mentions = |variable: Variable| {
            call.templates().iter().any(|(_, template)| template.mentions(|it| *it == variable))
        };
        let is_by_cursor = paging.by == PagingBy::Cursor;
        // By cursor, an empty page may have a next page.
        if (items.is_empty() && !is_by_cursor) || paging.is_last(success.response.document()) {
            return Ok(NextStep::Nothing);
        }
        let part =
            || success.response.failure("the platform gave only a part of what a look-up found");
        if is_by_cursor {
            let is_followed = paging.follows_links();
            let can_go = is_followed || mentions(Variable::PageCursor);
            return match self.next(success, items)? {
                None => Ok(NextStep::Nothing),
                Some(cursor) if can_go => Ok(NextStep::Cursor(cursor)),
                Some(_) => Err(part()),
            };
        }
        let total = paging.total(&success.response.headers, success.response.document());
        let (_, size) = paging.size.bounds();
        let is_short = paging.ends_short && items.len() < size as usize;
        let can_go = mentions(Variable::PageNumber) || mentions(Variable::PageOffset);
        match total {
            Some(total) if total <= n_found => Ok(NextStep::Nothing),
            Some(_) if !can_go => Err(part()),
            None if is_short || !can_go => Ok(NextStep::Nothing),
            _ => Ok(NextStep::Page),
        }
    }

    /// Splits values into groups whose URLs are short enough. A value that can't be written in a URL is alone, so that
    /// it doesn't affect the others.
    fn groups<'v>(&self, kind: CallKind, call: &Call, values: &'v [String]) -> Vec<&'v [String]> {
        let page = page_scope(&Position::Page { index: 0, size: 1 }, 1);
        let spec = CallSpec { kind, call, page, values, followed: None };
        let scope = self.scope(spec, Some(&SampleSession));
        let filled = call.fill(&self.manifest.every_call, &scope);
        if values.len() < 2 || filled.is_some_and(|it| it.target.len() <= TARGET_BYTES_MAX) {
            return vec![values];
        }
        let (one, other) = values.split_at(values.len() / 2);
        let mut groups = self.groups(kind, call, one);
        groups.extend(self.groups(kind, call, other));
        groups
    }

    /// Connections that the platform finds for some values.
    async fn search(
        &self,
        context: CallContext,
        by: LookUpKey,
        search: &Search,
        values: &[String],
    ) -> Result<Vec<Arc<Connection>>, Failure> {
        let mut connections = Vec::new();
        for group in self.groups(CallKind::LookUp, &search.call, values) {
            let found = self
                .find_all(context, CallKind::LookUp, &search.call, &search.items, group)
                .await?;
            for document in found.unwrap_or_default() {
                let mut connection = self.connection(&document)?;
                if let Some(detail) = self.manifest.detail.as_ref().filter(|_| search.is_detailed) {
                    detail.adds.add(&document, &mut connection);
                }
                connections.push(Arc::new(connection));
            }
        }
        if search.is_detailed || !self.needs_detail(context) {
            return Ok(connections);
        }
        if !self.capabilities.is_hidden(by) {
            // Similar connections need no details.
            connections.retain(|it| is_wanted(it, by, values));
        }
        let DetailedConnections { connections, failures } =
            self.details(context, connections).await;
        failures.into_iter().next().map_or(Ok(connections), Err)
    }

    fn needs_detail(&self, context: CallContext) -> bool {
        self.capabilities.detail.as_ref().is_some_and(|it| it.parts.meets(context.parts))
    }

    /// Connections with the parts that their list leaves out.
    async fn details(
        &self,
        context: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> DetailedConnections {
        let Some(detail) = &self.manifest.detail else {
            return DetailedConnections { connections, failures: Vec::new() };
        };
        let keys: Vec<String> = connections.iter().filter_map(|it| key(it, detail)).collect();
        let at_once = usize::try_from(detail.at_once).unwrap_or(usize::MAX).max(1);
        let groups =
            keys.chunks(at_once).flat_map(|it| self.groups(CallKind::Detail, &detail.call, it));
        let calls =
            groups.map(|group| async move { (group, self.detail(context, detail, group).await) });
        let calls: Vec<_> = calls.collect();
        let mut results = stream::iter(calls).buffer_unordered(DETAILS_AT_ONCE);
        let (mut details, mut failures, mut n_failed) = (HashMap::new(), Vec::new(), 0);
        while let Some((group, response)) = results.next().await {
            match response {
                Ok(documents) => details.extend(documents),
                Err(failure) => {
                    details.extend(group.iter().map(|key| (key.clone(), None)));
                    n_failed += group.len();
                    failures.push(failure);
                }
            }
        }
        // A failed group is reported by its failure.
        let n_gone = details.values().filter(|it| it.is_none()).count() - n_failed;
        let complete = |connection: Arc<Connection>| match key(&connection, detail) {
            // Without the key, no details can be read.
            None => Some(connection),
            Some(key) => {
                let documents = details.get(&key)?.as_deref()?;
                Some(with_additions(&connection, &detail.adds, documents))
            }
        };
        let connections = connections.into_iter().filter_map(complete).collect();
        if n_gone > 0 {
            let detail = format!("{n_gone} of the connections in its list have no details");
            failures.push(Failure::new(FailureKind::Error, detail));
        }
        DetailedConnections { connections, failures }
    }

    /// Details of some connections, by key. `None` for connections that the platform no longer has.
    async fn detail(
        &self,
        context: CallContext,
        detail: &Detail,
        keys: &[String],
    ) -> Result<HashMap<String, Option<Vec<Document>>>, Failure> {
        let found =
            self.find_all(context, CallKind::Detail, &detail.call, &detail.items, keys).await?;
        let Some(belongs_to) = &detail.belongs_to else {
            return Ok(keys.iter().map(|key| (key.clone(), found.clone())).collect());
        };
        let mut details: HashMap<String, Option<Vec<Document>>> =
            keys.iter().map(|key| (key.clone(), Some(Vec::new()))).collect();
        for document in found.unwrap_or_default() {
            let owner = belongs_to.first(&document).and_then(text_of);
            if let Some(Some(documents)) = owner.and_then(|it| details.get_mut(&*it))
                && !documents.contains(&document)
            {
                documents.push(document);
            }
        }
        Ok(details)
    }
}

impl Connector for ManifestConnector {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn page<'a>(
        &'a self,
        context: CallContext,
        at: &'a Position,
    ) -> PlatformFuture<'a, PlatformPage> {
        Box::pin(self.list(context, at))
    }

    fn look_up<'a>(
        &'a self,
        context: CallContext,
        by: LookUpKey,
        values: &'a [String],
    ) -> PlatformFuture<'a, Vec<Arc<Connection>>> {
        Box::pin(async move {
            let LookUp::Searched(search) = self.manifest.look_up.by(by) else {
                return Ok(Vec::new());
            };
            let could_be = |it: &&String| search.only.as_ref().is_none_or(|only| only.matches(it));
            let values: Vec<String> = values.iter().filter(could_be).cloned().collect();
            if values.is_empty() {
                return Ok(Vec::new());
            }
            self.search(context, by, search, &values).await
        })
    }

    fn complete<'a>(
        &'a self,
        context: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> PlatformFuture<'a, DetailedConnections> {
        Box::pin(async move { Ok(self.details(context, connections).await) })
    }
}

/// Stands for a session while URLs are measured.
struct SampleSession;

impl VariableValues for SampleSession {
    fn value_of(&self, variable: &Variable) -> Option<Zeroizing<String>> {
        matches!(variable, Variable::Session(_)).then(|| Zeroizing::new("session".to_owned()))
    }
}

fn name_of(pair: &str) -> Vec<u8> {
    percent_decode_str(pair.split('=').next().unwrap_or_default()).collect()
}

/// A position as template variables.
fn page_scope(at: &Position, first: u64) -> PageScope<'_> {
    match at {
        Position::Page { index, size } => PageScope {
            number: first.saturating_add(*index),
            offset: index.saturating_mul(u64::from(*size)),
            size: *size,
            cursor: None,
        },
        Position::Offset { offset, size } => PageScope {
            number: first.saturating_add(offset / u64::from((*size).max(1))),
            offset: *offset,
            size: *size,
            cursor: None,
        },
        Position::Cursor { after, size } => {
            PageScope { number: first, offset: 0, size: *size, cursor: after.as_deref() }
        }
    }
}

/// Value by which the details of a connection are read.
fn key(connection: &Connection, detail: &Detail) -> Option<String> {
    match LookUpKey::from(detail.by) {
        LookUpKey::Id => Some(connection.local_id.to_string()),
        LookUpKey::Number(kind) => {
            let mut numbers = connection.identifiers.iter().filter(|(it, _)| *it == kind);
            numbers.next().map(|(_, number)| number.to_string())
        }
    }
}

/// Whether a connection is one of those looked up.
fn is_wanted(connection: &Connection, by: LookUpKey, values: &[String]) -> bool {
    match by {
        LookUpKey::Id => values.iter().any(|value| connection.local_id == *value),
        LookUpKey::Number(kind) => connection.identifiers.iter().any(|(carried, number)| {
            let number = identifier::key(kind, number);
            *carried == kind && values.iter().any(|it| identifier::key(kind, it) == number)
        }),
    }
}

#[cfg(test)]
mod tests;
