//! What a route is: a path, the thing that it names, and what can be done with it.
//!
//! One description serves three: the dispatcher, which checks it; the OpenAPI document, which shows
//! it; and the tests, which walk it.

use std::pin::Pin;

use gatehouse_core::filter::FilterFields;
use gatehouse_core::rights::Scope;
use http::Method;
use serde_json::Value;

use super::call::Call;
use crate::http::answer::media::JSON;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::intake::connection_info::ListenerKind;
use crate::http::intake::request_permits::RequestKind;

/// A path and the operations on it.
pub(crate) struct Resource {
    /// The path, with its parameters in braces.
    pub(crate) path: &'static str,
    /// What the path names, which must be there before anything else is looked at.
    pub(crate) object: PathObject,
    /// Where it is found.
    pub(crate) served: Served,
    /// What can be done with it.
    pub(crate) operations: Vec<Operation>,
}

/// Through which door a path is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The API's.
    Main,
    /// The API's and the operator's.
    Both,
    /// The operator's, where there is one, and there without a token; else the API's.
    Operator,
}

impl Served {
    /// Whether it is found at this door of a server that has one for operators, or doesn't.
    pub(crate) fn at(self, listener: ListenerKind, has_operator_listener: bool) -> bool {
        match self {
            Self::Main => listener == ListenerKind::Main,
            Self::Both => true,
            Self::Operator => listener == ListenerKind::Operator || !has_operator_listener,
        }
    }
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathObject {
    /// Nothing that could be missing.
    None,
    /// A tenant.
    Tenant,
    /// An access of a tenant.
    Access,
    /// A contract of a tenant.
    Contract,
    /// An account of a tenant.
    Account,
    /// A client of a tenant.
    Client,
    /// A Task of a tenant.
    Task,
    /// A product of a tenant. Only platforms know whether it is there.
    Product,
}

/// One method on a path.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    /// Its name in the OpenAPI document.
    pub(crate) id: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
    /// Whether the OpenAPI document has it. The files of a page are no operations.
    pub(crate) is_listed: bool,
    /// Who may.
    pub(crate) need: Need,
    /// The query parameters that it knows.
    pub(crate) query: &'static [&'static str],
    /// What its parameter `fields` may name, where it has that.
    pub(crate) fields: &'static [&'static str],
    /// What its pages are like, where it has such parameters.
    pub(crate) pages: Pages,
    /// What can be asked of the things that it lists. The whole query is then one expression.
    pub(crate) filter: Option<&'static FilterFields>,
    /// Request headers of its own.
    pub(crate) headers: &'static [&'static str],
    /// What its body must be.
    pub(crate) body: Option<BodyKind>,
    /// Whether it may make the thing that its path names.
    pub(crate) creates: bool,
    /// In which words it tells what is wrong.
    pub(crate) errors: ErrorStyle,
    /// What it answers when all is well; or when not, where that is no problem body.
    pub(crate) answers: &'static [Answer],
    /// The problems that are its own, beside those that every operation may have.
    pub(crate) problems: &'static [u16],
    pub(crate) run: Handler,
}

impl Operation {
    /// What most operations are like: an operation says how it differs.
    pub(crate) const BASE: Self = Self {
        method: "GET",
        id: "",
        summary: "",
        is_listed: true,
        need: Need::AdminOfAll,
        query: &[],
        fields: &[],
        pages: Pages::Counted,
        filter: None,
        headers: &[],
        body: None,
        creates: false,
        errors: ErrorStyle::Problem,
        answers: &[],
        problems: &[],
        run: |_| Box::pin(async { Err(Problem::unknown_path()) }),
    };
}

/// Who may use an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Everyone, without a token.
    Nothing,
    /// A token, whatever it allows.
    Token,
    /// A token for the path's tenant with this scope.
    Scope(Scope),
    /// A token with `admin` for the path's tenant.
    Admin,
    /// A token with `admin` for every tenant.
    AdminOfAll,
}

/// What the pages of a list are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// All that there is can be counted: a page is an array, and the first is meant by itself.
    Counted,
    /// Others have what there is: a page is an envelope, and has to be asked for by number and size.
    Gathered,
}

/// What the body of an operation must be.
pub(crate) struct BodyKind {
    /// The content types that it may have, the usual one first.
    pub(crate) media_types: &'static [&'static str],
    /// How large it may be.
    pub(crate) size: BodySize,
    /// Its schema, by name.
    pub(crate) schema: &'static str,
    /// An example of it.
    pub(crate) example: fn() -> Value,
}

impl BodyKind {
    /// What most bodies are like: one that differs says how.
    pub(crate) const BASE: Self =
        Self { media_types: &[JSON], size: BodySize::Object, schema: "", example: || Value::Null };
}

/// How large a body may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySize {
    /// As large as that of a request about a single thing.
    Object,
    /// As large as any may be, for many things at once.
    Batch,
}

/// An answer when all is well. Several of one status are the same in several media types.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) what: &'static str,
    /// What kind of text its body is.
    pub(crate) media_type: &'static str,
    /// The schema of its body, by name; a list of them in a paginated answer. Without one it has no body.
    pub(crate) schema: Option<&'static str>,
    /// An example of its body, where it is not that of its schema.
    pub(crate) example: Option<fn() -> Value>,
    /// Response headers of its own.
    pub(crate) headers: &'static [&'static str],
}

impl Answer {
    /// What most answers are like: an answer says how it differs.
    pub(crate) const BASE: Self =
        Self { status: 200, what: "", media_type: JSON, schema: None, example: None, headers: &[] };
}

pub(crate) type Handler = fn(Call) -> Running;

/// An operation under way.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

impl Operation {
    /// The media types of its answers, where they have a body; the usual one first.
    pub(crate) fn media_types(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let answers = self.answers.iter().filter(|answer| answer.schema.is_some());
        answers.map(|answer| answer.media_type)
    }

    /// The kind of turn that a request takes. Requests of operators take none, so that they can stop a flood.
    pub(crate) fn request_kind(&self, is_operator: bool) -> Option<RequestKind> {
        match self.need {
            Need::Nothing | Need::Token | Need::AdminOfAll => None,
            Need::Admin if is_operator => None,
            Need::Admin | Need::Scope(Scope::Admin) => Some(RequestKind::Administration),
            Need::Scope(Scope::ProductRead) => Some(RequestKind::Products),
            Need::Scope(Scope::AccessVerify) => Some(RequestKind::Check),
            Need::Scope(Scope::AccessRead | Scope::EventRead) => Some(RequestKind::Read),
            Need::Scope(Scope::AccessWrite | Scope::EventWrite) => Some(RequestKind::Change),
        }
    }

    /// Whether a client may choose between media types.
    pub(crate) fn has_several_media_types(&self) -> bool {
        let mut media_types = self.media_types();
        let first = media_types.next();
        media_types.any(|it| Some(it) != first)
    }
}

impl Resource {
    /// The operation of this method; a HEAD is a GET whose body stays here.
    pub(crate) fn operation(&self, method: &Method) -> Option<&Operation> {
        let wanted = if method == Method::HEAD { "GET" } else { method.as_str() };
        self.operations.iter().find(|operation| operation.method == wanted)
    }

    /// The methods that work here, for the `Allow` header.
    pub(crate) fn allow(&self) -> String {
        let mut methods = vec!["OPTIONS"];
        for operation in &self.operations {
            methods.push(operation.method);
            if operation.method == "GET" {
                methods.push("HEAD");
            }
        }
        methods.sort_unstable();
        methods.join(", ")
    }

    /// In which words this path tells what is wrong.
    pub(crate) fn errors(&self) -> ErrorStyle {
        self.operations.first().map_or(ErrorStyle::Problem, |operation| operation.errors)
    }

    /// Whether this is what a tenant does, not what is done about it.
    pub(crate) fn is_of_tenants(&self) -> bool {
        self.path.starts_with("/{tenantName}")
    }

    /// The operations that the OpenAPI document has.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.is_listed)
    }

    /// Whether everyone may come here without a token.
    pub(crate) fn is_public(&self) -> bool {
        self.operations.iter().all(|operation| operation.need == Need::Nothing)
    }
}
