//! Checks that the parts of a manifest fit together: references lead somewhere, and nothing is unusable.

use super::Manifest;
use crate::client::{AddressRules, BaseUrl};
use crate::connector::Quota;
use crate::manifest::format::account::Setting;
use crate::manifest::format::call::Call;
use crate::manifest::format::condition::Condition;
use crate::manifest::format::look_up::{AT_ONCE_MAX, LookUp};
use crate::manifest::format::paging::PagingBy;
use crate::manifest::format::path::Path;
use crate::manifest::format::product::{Additions, Identifiers};
use crate::manifest::format::property::PropertyRule;
use crate::manifest::format::session::CALLS_MAX;
use crate::manifest::format::source::header_name;
use crate::manifest::format::status::Status;
use crate::manifest::format::template::{Template, Variable};
use crate::manifest::format::variant::{Narrows, Variant};

/// Headers that the HTTP client writes.
const WRITTEN_HEADERS: [&str; 5] =
    ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade"];

const CALLS_AT_ONCE_MAX: u32 = 1000;

/// Settings that every account has. No template may use them: calls go to `baseUrl` as it is.
const COMMON_SETTINGS: [&str; 3] = ["baseUrl", "callsAtOnce", "callsPerSecond"];

/// All faults: fields, and how to correct them.
pub(super) fn faults(manifest: &Manifest) -> Vec<(String, String)> {
    let mut check = Check { manifest, faults: Vec::new() };
    check.account();
    check.session();
    check.every_call();
    check.paging();
    check.list();
    check.look_ups();
    check.detail();
    check.product();
    check.errors();
    check.limits();
    check.faults
}

struct Check<'m> {
    manifest: &'m Manifest,
    faults: Vec<(String, String)>,
}

/// Values that the templates of a call may use.
#[derive(Clone, Copy)]
struct Available<'m> {
    session: &'m [&'m str],
    page: bool,
    value: bool,
}

impl<'m> Check<'m> {
    fn fault(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        self.faults.push((field.into(), reason.into()));
    }

    fn account(&mut self) {
        let account = &self.manifest.account;
        if self.manifest.title.trim().is_empty() {
            self.fault("title", "must say what people call the platform");
        }
        if let Some(Err(bad)) =
            account.base_url.as_ref().map(|it| BaseUrl::parse(it, &AddressRules::default()))
        {
            self.fault("account.base_url", bad.to_string());
        }
        for (name, setting) in &account.settings {
            let field = format!("account.settings.{name}");
            if COMMON_SETTINGS.contains(&name.as_str()) {
                self.fault(&field, "is a setting that every account has: leave it out");
            }
            if !is_name(name) {
                self.fault(&field, "must be named by letters and digits alone");
            }
            if let Some(default) = &setting.default {
                let bad = BaseUrl::parse(default, &AddressRules::default())
                    .err()
                    .filter(|_| setting.is_url);
                if let Some(bad) = bad {
                    self.fault(format!("{field}.default"), bad.to_string());
                }
                if setting.matches.as_ref().is_some_and(|it| !it.matches(default)) {
                    self.fault(format!("{field}.default"), "must be like `matches`");
                }
            }
            if let Some(narrows) = setting.narrows {
                self.narrows(&field, setting, narrows);
            }
            if !setting.variants.is_empty() {
                self.variants(&field, setting);
            }
        }
        for name in account.credentials.keys().filter(|name| !is_name(name)) {
            let field = format!("account.credentials.{name}");
            self.fault(field, "must be named by letters and digits alone");
        }
    }

    fn narrows(&mut self, field: &str, setting: &Setting, narrows: Narrows) {
        if narrows == Narrows::PageSize && self.manifest.paging.size.fixed.is_some() {
            self.fault(format!("{field}.narrows"), "can't be page_size: paging.size is `fixed`");
        }
        let (min, max) = self.manifest.sizes(narrows);
        let is_size = |it: &String| it.parse().is_ok_and(|it| (min..=max).contains(&it));
        if setting.default.as_ref().is_some_and(|it| !is_size(it)) {
            let reason = format!("must be a whole number, {min} to {max}");
            self.fault(format!("{field}.default"), reason);
        }
    }

    fn variants(&mut self, field: &str, setting: &Setting) {
        let all = self.manifest.account.settings.values();
        if all.filter(|it| !it.variants.is_empty()).count() > 1 {
            self.fault(format!("{field}.variants"), "can be those of one setting alone");
        }
        match &setting.default {
            None => self.fault(field, "must have `default`, which stands for `paging` and `list`"),
            Some(default) if setting.variants.contains_key(default) => {
                let field = format!("{field}.variants.{default}");
                self.fault(field, "is the default, which stands for `paging` and `list`");
            }
            Some(_) => {}
        }
        for (value, variant) in &setting.variants {
            let Variant { paging, list } = variant.clone();
            let manifest = Manifest { paging, list, ..self.manifest.clone() };
            let mut check = Check { manifest: &manifest, faults: Vec::new() };
            check.paging();
            check.list();
            let inside =
                |it: (String, String)| (format!("{field}.variants.{value}.{}", it.0), it.1);
            self.faults.extend(check.faults.into_iter().map(inside));
        }
    }

    fn session(&mut self) {
        let Some(session) = &self.manifest.session else { return };
        if !(1..=CALLS_MAX).contains(&session.calls.len()) {
            let n = session.calls.len();
            self.fault("session.calls", format!("must be one call or two, not {n}"));
        }
        let mut session_values: Vec<&str> = Vec::new();
        for (n, step) in session.calls.iter().enumerate() {
            let field = format!("session.calls[{n}]");
            let available = Available { session: &session_values, page: false, value: false };
            self.call(&format!("{field}.call"), &step.call, available);
            session_values.extend(step.take.keys().map(String::as_str));
        }
        if session_values.is_empty() {
            self.fault("session.calls", "must take something from their answers (`take`)");
        }
        if session.lifetime.0.is_zero() {
            self.fault("session.lifetime", "must be longer than nothing");
        }
        if session.refusals_max == Some(0) {
            self.fault("session.refusals_max", "must be at least 1");
        }
    }

    fn every_call(&mut self) {
        let session_values = self.session_values();
        let available = Available { session: &session_values, page: false, value: false };
        let templates = self.manifest.every_call.templates();
        let mentions_session = |it: &Template| it.mentions(|it| matches!(it, Variable::Session(_)));
        if self.manifest.session.is_some() && !templates.iter().any(|(_, it)| mentions_session(it))
        {
            self.fault("session", "takes what no call is made with: mention it in `every_call`");
        }
        for (target, template) in templates {
            self.template(&format!("every_call.{target}"), template, available);
        }
        for name in self.manifest.every_call.headers.keys() {
            self.header(&format!("every_call.headers.{name}"), name);
        }
    }

    fn paging(&mut self) {
        let paging = &self.manifest.paging;
        if paging.first.is_some() && paging.by != PagingBy::Number {
            self.fault("paging.first", "is for pages that are found `by: number`");
        }
        if let Some(reason) = paging.size.fault() {
            self.fault("paging.size", reason);
        }
        match (paging.by, &paging.next) {
            (PagingBy::Cursor, None) => {
                self.fault("paging", "must say what leads to the next page (`next`)");
            }
            (PagingBy::Number | PagingBy::Offset, Some(_)) => {
                self.fault("paging.next", "is for pages that are found `by: cursor`");
            }
            _ => {}
        }
        if paging.total.is_some() && paging.by == PagingBy::Cursor {
            self.fault("paging.total", "is of no use where pages are found `by: cursor`");
        }
        let has_cursor = paging.by == PagingBy::Cursor && !paging.follows_links();
        if paging.first_mark.is_some() && !has_cursor {
            self.fault("paging.first_mark", "is for pages that are found by a `{page.cursor}`");
        }
        if let Some(crate::manifest::format::paging::Next::Header(name)) = &paging.next {
            self.header("paging.next.header", name);
        }
        if let Some(last) = &paging.last {
            self.condition("paging.last", last);
            if last.status.is_some() {
                self.fault("paging.last.status", "can't tell the last page: say `path`");
            }
        }
    }

    fn list(&mut self) {
        let Manifest { paging, list, .. } = self.manifest;
        let session_values = self.session_values();
        let available = Available { session: &session_values, page: true, value: false };
        self.call("list.call", &list.call, available);
        self.items("list.items", &list.items);
        let mentions = |variable: &Variable| {
            let templates = list.call.templates();
            templates.iter().any(|(_, it)| it.mentions(|it| it == variable))
        };
        let (variable, placeholder) = match paging.by {
            PagingBy::Number => (Variable::PageNumber, "{page.number}"),
            PagingBy::Offset => (Variable::PageOffset, "{page.offset}"),
            PagingBy::Cursor => (Variable::PageCursor, "{page.cursor}"),
        };
        let is_followed = paging.follows_links();
        if !mentions(&variable) && !is_followed {
            let reason = format!("must mention `{placeholder}`, or every page would be the same");
            self.fault("list.call", reason);
        }
        if paging.size.fixed.is_none() && !mentions(&Variable::PageSize) {
            let reason = "must mention `{page.size}`, or paging.size must be `fixed`";
            self.fault("list.call", reason);
        }
    }

    fn look_ups(&mut self) {
        let manifest = self.manifest;
        let none = Identifiers::default();
        let added = manifest.detail.as_ref().map_or(&none, |it| &it.adds.identifiers);
        let kinds = manifest.product.identifiers.kinds().into_iter().zip(added.kinds());
        let is_carried = kinds.map(|((_, listed), (_, added))| {
            !listed.picks().is_empty() || !added.picks().is_empty()
        });
        // Every connection has an id.
        let is_carried: Vec<bool> = std::iter::once(true).chain(is_carried).collect();
        for ((name, look_up), is_carried) in manifest.look_up.all().into_iter().zip(is_carried) {
            let field = format!("look_up.{name}");
            match look_up {
                LookUp::NeverCarried if is_carried => {
                    let reason = "can't be never_carried: products carry it; say not_searchable, or how \
                                  it is asked";
                    self.fault(&field, reason);
                }
                LookUp::NotSearchable | LookUp::Searched(_) if !is_carried => {
                    let reason = format!(
                        "must be never_carried, since `product.identifiers.{name}` names none: what was \
                         found could not be recognised"
                    );
                    self.fault(&field, reason);
                }
                LookUp::Searched(search) => {
                    let session_values = self.session_values();
                    let available = Available { session: &session_values, page: true, value: true };
                    self.call(&format!("{field}.call"), &search.call, available);
                    self.items(&format!("{field}.items"), &search.items);
                    self.at_once(&field, search.at_once, &search.call);
                    if search.is_detailed && manifest.detail.is_none() {
                        let field = format!("{field}.is_detailed");
                        self.fault(field, "is for a manifest with `detail`");
                    }
                }
                LookUp::NeverCarried | LookUp::NotSearchable => {}
            }
        }
    }

    fn detail(&mut self) {
        let Some(detail) = &self.manifest.detail else { return };
        let session_values = self.session_values();
        let available = Available { session: &session_values, page: true, value: true };
        self.call("detail.call", &detail.call, available);
        self.items("detail.items", &detail.items);
        self.at_once("detail", detail.at_once, &detail.call);
        if detail.at_once > 1 && detail.belongs_to.is_none() {
            let reason =
                "must say whose each answer is (`belongs_to`), where several are asked for at once";
            self.fault("detail", reason);
        }
        let Additions { status, properties, .. } = &detail.adds;
        if detail.adds.parts() == crate::connector::ProductParts::default() {
            self.fault("detail.adds", "must add something");
        }
        if let Some(status) = status {
            self.status("detail.adds.status", status);
        }
        self.properties("detail.adds.properties", properties);
    }

    fn product(&mut self) {
        let product = &self.manifest.product;
        if product.id.picks().is_empty() {
            self.fault("product.id", "must say where the platform's own name for it is");
        }
        self.status("product.status", &product.status);
        self.properties("product.properties", &product.properties);
        if let Some(condition) = &product.satellite_when {
            self.condition("product.satellite_when", condition);
            if condition.status.is_some() {
                let field = "product.satellite_when.status";
                self.fault(field, "is the status of an answer, which says nothing here");
            }
        }
    }

    fn errors(&mut self) {
        for (n, rule) in self.manifest.errors.rules.iter().enumerate() {
            self.condition(&format!("errors.rules[{n}].when"), &rule.when);
        }
    }

    fn limits(&mut self) {
        let limits = &self.manifest.limits;
        if limits.calls_at_once.is_some_and(|it| !(1..=CALLS_AT_ONCE_MAX).contains(&it)) {
            let reason = format!("must be 1 to {CALLS_AT_ONCE_MAX}");
            self.fault("limits.calls_at_once", reason);
        }
        for (n, bucket) in limits.buckets.iter().enumerate() {
            let field = format!("limits.buckets[{n}]");
            if !(1..=Quota::CALLS_MAX).contains(&bucket.calls) {
                let reason = format!("must be 1 to {}", Quota::CALLS_MAX);
                self.fault(format!("{field}.calls"), reason);
            }
            if bucket.per.0.is_zero() {
                self.fault(format!("{field}.per"), "must be longer than nothing");
            }
        }
        if let Some(wait) = &limits.wait {
            self.header("limits.wait.reset", &wait.reset);
            if let Some(remaining) = &wait.remaining {
                self.header("limits.wait.remaining", remaining);
            }
        }
    }

    /// Names of the values that the session's calls take.
    fn session_values(&self) -> Vec<&'m str> {
        let calls = self.manifest.session.iter().flat_map(|it| &it.calls);
        calls.flat_map(|it| it.take.keys()).map(String::as_str).collect()
    }

    fn call(&mut self, field: &str, call: &Call, available: Available<'_>) {
        match (&call.get, &call.post) {
            (Some(_), Some(_)) => self.fault(field, "must have `get` or `post`, not both"),
            (None, None) => {
                self.fault(field, "must say where to ask: `get: /path` or `post: /path`")
            }
            (Some(target), None) => self.target(&format!("{field}.get"), target),
            (None, Some(target)) => self.target(&format!("{field}.post"), target),
        }
        if call.json.is_some() && call.form.is_some() {
            self.fault(field, "must have `json` or `form`, not both");
        }
        if call.get.is_some() && (call.json.is_some() || call.form.is_some()) {
            self.fault(field, "has a body, which is for `post`");
        }
        for (target, template) in call.templates() {
            self.template(&format!("{field}.{target}"), template, available);
        }
        for name in call.headers.keys() {
            self.header(&format!("{field}.headers.{name}"), name);
        }
    }

    fn target(&mut self, field: &str, target: &Template) {
        let settings = &self.manifest.account.settings;
        let is_url =
            target.leading_setting().and_then(|it| settings.get(it)).is_some_and(|it| it.is_url);
        if !is_url && !target.to_string().starts_with('/') {
            let reason = format!(
                "must ask at a path that begins with `/`, or with a setting that `is_url`, not at `{target}`"
            );
            self.fault(field, reason);
        }
        for placeholder in target.placeholders() {
            let account = &self.manifest.account;
            let optional = match &placeholder.variable {
                Variable::Setting(name) => account
                    .settings
                    .get(name)
                    .is_some_and(|it| it.optional && it.default.is_none())
                    .then(|| format!("settings.{name}")),
                Variable::Credential(name) => account
                    .credentials
                    .get(name)
                    .is_some_and(|it| it.optional)
                    .then(|| format!("credentials.{name}")),
                _ => None,
            };
            if let Some(name) = optional {
                let reason =
                    format!("mentions {name}, which is optional: without it there is no address");
                self.fault(field, reason);
            }
        }
    }

    fn template(&mut self, field: &str, template: &Template, available: Available<'_>) {
        let account = &self.manifest.account;
        for placeholder in template.placeholders() {
            match &placeholder.variable {
                Variable::Credential(name) if !account.credentials.contains_key(name) => {
                    let reason = format!(
                        "mentions credentials.{name}, which account.credentials doesn't name"
                    );
                    self.fault(field, reason);
                }
                Variable::Setting(name) if !account.settings.contains_key(name) => {
                    let reason =
                        format!("mentions settings.{name}, which account.settings doesn't name");
                    self.fault(field, reason);
                }
                Variable::Session(name) if !available.session.contains(&name.as_str()) => {
                    let reason = format!(
                        "mentions session.{name}, which no call of the session takes before it"
                    );
                    self.fault(field, reason);
                }
                variable if variable.is_of_page() && !available.page => {
                    self.fault(field, "mentions a page, where there is none");
                }
                variable if variable.is_of_look_up() && !available.value => {
                    self.fault(field, "mentions a value that is looked up, where there is none");
                }
                _ => {}
            }
        }
    }

    fn at_once(&mut self, field: &str, at_once: u32, call: &Call) {
        if !(1..=AT_ONCE_MAX).contains(&at_once) {
            self.fault(format!("{field}.at_once"), format!("must be 1 to {AT_ONCE_MAX}"));
        }
        if !call.templates().iter().any(|(_, it)| it.mentions(Variable::is_of_look_up)) {
            let reason = "must mention `{value}` or `{values}`: nothing says what is looked up";
            self.fault(format!("{field}.call"), reason);
        }
    }

    fn items(&mut self, field: &str, path: &Path) {
        if path.to_string().trim_end().ends_with("[*]") {
            let reason = "must lead to the list itself (`$.data`), not into it (`$.data[*]`): an empty \
                          list and none at all are different things";
            self.fault(field, reason);
        }
    }

    fn header(&mut self, field: &str, name: &str) {
        if WRITTEN_HEADERS.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            self.fault(field, "is written by gatehouse itself: leave it out");
        }
        if let Err(reason) = header_name(name) {
            self.fault(field, reason);
        }
    }

    fn condition(&mut self, field: &str, condition: &Condition) {
        if let Some(reason) = condition.fault() {
            self.fault(field, reason);
        }
    }

    fn status(&mut self, field: &str, status: &Status) {
        if status.word.is_none() && status.otherwise.is_none() {
            self.fault(field, "must have `word`, or `otherwise`");
        }
        if status.word.is_none() && !status.words.is_empty() {
            self.fault(format!("{field}.words"), "are of no use without `word`");
        }
        let words = status.words.values().chain(status.rules.iter().map(|it| &it.is));
        for word in words.chain(&status.otherwise) {
            if word.is_empty() || *word != word.to_uppercase() {
                let reason = format!("must be in upper case, such as ACTIVE, not `{word}`");
                self.fault(field, reason);
            }
        }
        for (n, rule) in status.rules.iter().enumerate() {
            self.condition(&format!("{field}.rules[{n}].when"), &rule.when);
            if rule.when.status.is_some() {
                let field = format!("{field}.rules[{n}].when.status");
                self.fault(field, "is the status of an answer, which says nothing here");
            }
        }
    }

    fn properties(&mut self, field: &str, rules: &[PropertyRule]) {
        for (n, rule) in rules.iter().enumerate() {
            if let Some(reason) = rule.fault() {
                self.fault(format!("{field}[{n}]"), reason);
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric())
}
