//! A route: a path, the object that it names, and its operations.
//!
//! The dispatcher checks requests by this description, the OpenAPI document is made from it, and the tests walk it.

use std::pin::Pin;

use gatehouse_core::Dialect;
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

pub(crate) struct Resource {
    /// The path, with its parameters in braces.
    pub(crate) path: &'static str,
    /// The object that the path names. If it is missing, that comes before other faults.
    pub(crate) object: PathObject,
    pub(crate) served: Served,
    pub(crate) operations: Vec<Operation>,
}

/// The listeners that serve a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    Main,
    Both,
    /// The operators' listener, without a token; the API's if the server has none for operators.
    Operator,
}

impl Served {
    pub(crate) fn at(self, listener: ListenerKind, has_operator_listener: bool) -> bool {
        match self {
            Self::Main => listener == ListenerKind::Main,
            Self::Both => true,
            Self::Operator => listener == ListenerKind::Operator || !has_operator_listener,
        }
    }
}

/// The object that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathObject {
    /// No object that could be missing.
    None,
    Tenant,
    Access,
    Contract,
    Account,
    Client,
    Hook,
    Hub,
    Task,
    /// Only platforms know whether a product exists.
    Product,
}

/// The method of an operation that takes any: the request is one of a device, which a gateway passes on.
pub(crate) const ANY_METHOD: &str = "*";

/// One method on a path.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    /// The `operationId` in the OpenAPI document.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// Whether the OpenAPI document lists it. It doesn't list the files of a page.
    pub(crate) is_listed: bool,
    pub(crate) need: Need,
    pub(crate) query: &'static [&'static str],
    /// Names that its parameter `fields` may have.
    pub(crate) fields: &'static [&'static str],
    /// Kind of paging, if it has the parameters of a page.
    pub(crate) pages: Pages,
    /// The fields of its filter. With a filter, the whole query is one expression.
    pub(crate) filter: Option<&'static FilterFields>,
    /// Its particular request headers.
    pub(crate) headers: &'static [&'static str],
    pub(crate) body: Option<BodyKind>,
    /// Whether it may create the object that its path names.
    pub(crate) creates: bool,
    pub(crate) errors: ErrorStyle,
    /// Its successful responses, and errors without a problem body.
    pub(crate) responses: &'static [ResponseSpec],
    /// Statuses of its particular problems, in addition to those that every operation may have.
    pub(crate) problems: &'static [u16],
    pub(crate) run: Handler,
}

impl Operation {
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
        responses: &[],
        problems: &[],
        run: |_| Box::pin(async { Err(Problem::unknown_path()) }),
    };
}

/// Rights that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// None, not even a token.
    Nothing,
    /// Any valid token.
    Token,
    /// A token for the path's tenant with this scope.
    Scope(Scope),
    /// The key of a hook of the path's tenant in this dialect, or a token with `access:verify`. A request in HTTP Basic
    /// can't have a token.
    Check(Dialect),
    /// A token with `admin` for the path's tenant.
    Admin,
    /// A token with `admin` for every tenant.
    AdminOfAll,
}

/// Kind of paging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// With a total: a page is an array, and the first page is the default.
    Counted,
    /// Gathered from platforms, without a total: a page is an envelope, and its number and size are required.
    Gathered,
}

/// The request body of an operation.
pub(crate) struct BodyKind {
    /// Its content types, the default first.
    pub(crate) media_types: &'static [&'static str],
    pub(crate) size: BodySize,
    pub(crate) schema: &'static str,
    pub(crate) example: fn() -> Value,
}

impl BodyKind {
    pub(crate) const BASE: Self =
        Self { media_types: &[JSON], size: BodySize::Object, schema: "", example: || Value::Null };
}

/// Size limit of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySize {
    /// The limit for a single object.
    Object,
    /// The setting `limits.body_bytes`, for many objects at once.
    Batch,
}

/// A response of an operation. Several with one status are the same content in several media types.
pub(crate) struct ResponseSpec {
    pub(crate) status: u16,
    /// Description in the OpenAPI document.
    pub(crate) description: &'static str,
    pub(crate) media_type: &'static str,
    /// Name of its body's schema; in a paged response, of each item. `None` means no body.
    pub(crate) schema: Option<&'static str>,
    /// An example of its body, if it differs from the schema's.
    pub(crate) example: Option<fn() -> Value>,
    /// Its particular response headers.
    pub(crate) headers: &'static [&'static str],
}

impl ResponseSpec {
    pub(crate) const BASE: Self = Self {
        status: 200,
        description: "",
        media_type: JSON,
        schema: None,
        example: None,
        headers: &[],
    };
}

pub(crate) type Handler = fn(Call) -> Running;

/// The future of a handler.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

impl Operation {
    /// The media types of its responses with a body, the default first.
    pub(crate) fn media_types(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let with_body = self.responses.iter().filter(|response| response.schema.is_some());
        with_body.map(|response| response.media_type)
    }

    /// The kind of permit that a request needs. Operators need none, so that they can stop a flood.
    pub(crate) fn request_kind(&self, is_operator: bool) -> Option<RequestKind> {
        match self.need {
            Need::Nothing | Need::Token | Need::AdminOfAll => None,
            Need::Admin if is_operator => None,
            Need::Admin | Need::Scope(Scope::Admin) => Some(RequestKind::Administration),
            Need::Scope(Scope::ProductRead) => Some(RequestKind::Products),
            Need::Check(_) | Need::Scope(Scope::AccessVerify) => Some(RequestKind::Check),
            Need::Scope(Scope::AccessRead | Scope::EventRead) => Some(RequestKind::Read),
            Need::Scope(Scope::AccessWrite | Scope::EventWrite) => Some(RequestKind::Change),
        }
    }

    /// Whether other programs decide on the form of its requests: then only what the dialect knows is read, and nothing
    /// else is checked.
    pub(crate) fn is_foreign(&self) -> bool {
        match self.need {
            Need::Check(dialect) => dialect != Dialect::Json,
            _ => false,
        }
    }

    pub(crate) fn has_several_media_types(&self) -> bool {
        let mut media_types = self.media_types();
        let first = media_types.next();
        media_types.any(|it| Some(it) != first)
    }
}

impl Resource {
    /// The operation of this method. HEAD is a GET whose body isn't sent.
    pub(crate) fn operation(&self, method: &Method) -> Option<&Operation> {
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        self.operations.iter().find(|it| it.method == method || it.method == ANY_METHOD)
    }

    /// The dialect of a path at which gateways ask for checks.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        match self.operations.first()?.need {
            Need::Check(dialect) => Some(dialect),
            _ => None,
        }
    }

    /// Whether the path takes any method, also OPTIONS.
    pub(crate) fn takes_any_method(&self) -> bool {
        self.operations.iter().any(|it| it.method == ANY_METHOD)
    }

    /// The methods of the path, for the `Allow` header.
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

    pub(crate) fn errors(&self) -> ErrorStyle {
        self.operations.first().map_or(ErrorStyle::Problem, |operation| operation.errors)
    }

    /// Whether the path is a tenant's, not one to administer tenants.
    pub(crate) fn is_of_tenants(&self) -> bool {
        self.path.starts_with("/{tenantName}")
    }

    pub(crate) fn listed(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.is_listed)
    }

    /// Whether the path needs no token.
    pub(crate) fn is_public(&self) -> bool {
        self.operations.iter().all(|operation| operation.need == Need::Nothing)
    }
}
