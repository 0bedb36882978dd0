//! The body of a search: lists of numbers and identifiers.
//!
//! A value that isn't a list of strings is a fault of the request. A malformed string is a problem in the response, and
//! the search goes on with the others.

use std::collections::HashSet;

use gatehouse_connectors::{FindRequest, FindResult};
use gatehouse_core::{Identifier, IdentifierKind, ProductId};

use crate::fields::product::SearchList;
use crate::http::answer::problem::Problem;
use crate::reader::{Fault, Faults, Json, Reader, shortened, text};

/// Most different items of one search.
const ITEMS_MAX: usize = 1000;

/// A parsed search.
#[derive(Debug, Default)]
pub(in crate::http) struct SearchRequest {
    request: FindRequest,
    malformed: Vec<Fault>,
    /// Different items, malformed ones included.
    n_items: usize,
}

/// Parses a body.
pub(in crate::http) fn read(bytes: &[u8]) -> Result<SearchRequest, Problem> {
    let json = Json::parse(bytes).map_err(Problem::malformed)?;
    let mut faults = Faults::default();
    let mut body = Reader::new(json, "", &mut faults).of_post();
    let mut items = Vec::new();
    let mut is_empty = true;
    for it in SearchList::ALL {
        let given = body.optional(it.field());
        is_empty &= given.as_ref().is_none_or(Vec::is_empty);
        for (position, item) in given.unwrap_or_default().into_iter().enumerate() {
            match text(item) {
                Ok(text) => items.push((it, position, text)),
                Err(reason) => body.fault(&name_at(it, position), reason),
            }
        }
    }
    if is_empty {
        let names = SearchList::ALL.map(|it| it.field().name).join(", ");
        body.fault_of_whole(format!("must have a list that is not empty: {names}"));
    }
    body.finish();
    faults.check().map_err(Problem::invalid)?;
    Ok(SearchRequest::of(items))
}

impl SearchRequest {
    /// Removes duplicates, and keeps the order.
    fn of(items: Vec<(SearchList, usize, String)>) -> Self {
        let mut search = Self::default();
        let mut seen = HashSet::new();
        for (list, position, text) in items {
            let parsed = Item::parse(list, &text);
            let key = match &parsed {
                Ok(Item::Identifier(identifier)) => identifier.key().to_owned(),
                Ok(Item::Id(_)) | Err(_) => text,
            };
            if !seen.insert((list, key)) {
                continue;
            }
            match parsed {
                Ok(Item::Identifier(identifier)) => search.request.identifiers.push(identifier),
                Ok(Item::Id(id)) => search.request.ids.push(id),
                Err(reason) => {
                    search.malformed.push(Fault { name: name_at(list, position), reason });
                }
            }
        }
        search.n_items = seen.len();
        search
    }

    /// The request to the platforms; empty if the search has too many items.
    pub(in crate::http) fn find_request(&self) -> FindRequest {
        if self.has_too_many_items() { FindRequest::default() } else { self.request.clone() }
    }

    fn has_too_many_items(&self) -> bool {
        self.n_items > ITEMS_MAX
    }

    /// All problems: malformed items, failures, and missing products. A missing IMSI or MSISDN is no problem.
    pub(in crate::http) fn problems(self, result: &mut FindResult) -> Vec<Problem> {
        if self.has_too_many_items() {
            return vec![Problem::too_many_items(self.n_items, ITEMS_MAX)];
        }
        let Self { request, malformed, .. } = self;
        let malformed = malformed.into_iter().map(|fault| Problem::invalid(vec![fault]));
        let failures = std::mem::take(&mut result.failures).into_iter().map(Problem::from);
        let missing: HashSet<&Identifier> = result.missing.identifiers.iter().collect();
        let numbers = request.identifiers.iter().filter(|it| missing.contains(it));
        let numbers = numbers.filter_map(no_product_with);
        let missing: HashSet<&ProductId> = result.missing.ids.iter().collect();
        let ids = request.ids.iter().filter(|it| missing.contains(it));
        let ids = ids.map(|id| Problem::no_product(format!("there is no product `{id}`")));
        malformed.chain(failures).chain(numbers).chain(ids).collect()
    }
}

fn name_at(list: SearchList, position: usize) -> String {
    format!("{}[{position}]", list.field().name)
}

/// An item of a search.
enum Item {
    Identifier(Identifier),
    Id(ProductId),
}

impl Item {
    /// Parses an item of a list. The reason is a phrase that follows the item's name.
    fn parse(list: SearchList, text: &str) -> Result<Self, String> {
        match list {
            SearchList::Of(kind) => {
                Identifier::given(kind, text).map(Self::Identifier).map_err(|bad| bad.to_string())
            }
            SearchList::Ids => {
                text.parse().map(Self::Id).map_err(|bad: gatehouse_core::product::BadProductId| {
                    format!("{bad}, not `{}`", shortened(text))
                })
            }
        }
    }
}

/// The problem of a missing product; `None` for kinds whose absence isn't reported.
fn no_product_with(identifier: &Identifier) -> Option<Problem> {
    let label = match identifier.kind() {
        IdentifierKind::Imsi | IdentifierKind::Msisdn => return None,
        IdentifierKind::Iccid => "ICCID",
        IdentifierKind::SerialNumber => "serial number",
    };
    Some(Problem::no_product(format!(
        "there is no product with the {label} `{}`",
        identifier.value()
    )))
}

#[cfg(test)]
mod tests;
