//! The body of a search: lists of numbers and identifiers, read into what is wanted.
//!
//! What is no list of strings is a fault of the request. A string that can't be what its list says is a
//! problem of its own, beside what the others find.

use std::collections::HashSet;

use gatehouse_connectors::{FindRequest, FindResult};
use gatehouse_core::{Identifier, IdentifierKind, ProductId};

use crate::fields::product::SearchList;
use crate::http::answer::problem::Problem;
use crate::reader::{Fault, Faults, Json, Reader, shortened, text};

/// Most different items that one request may look for.
const ITEMS_MAX: usize = 1000;

/// What a request looks for.
#[derive(Debug, Default)]
pub(in crate::http) struct Asked {
    wanted: FindRequest,
    malformed: Vec<Fault>,
    /// Different ones, malformed ones included.
    n_items: usize,
}

/// Reads a body.
pub(in crate::http) fn read(bytes: &[u8]) -> Result<Asked, Problem> {
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
    Ok(Asked::of(items))
}

impl Asked {
    /// Each item once, in the order in which they come first.
    fn of(items: Vec<(SearchList, usize, String)>) -> Self {
        let mut asked = Self::default();
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
                Ok(Item::Identifier(identifier)) => asked.wanted.identifiers.push(identifier),
                Ok(Item::Id(id)) => asked.wanted.ids.push(id),
                Err(reason) => {
                    asked.malformed.push(Fault { name: name_at(list, position), reason });
                }
            }
        }
        asked.n_items = seen.len();
        asked
    }

    /// What is to be looked for: nothing, where it would be too much.
    pub(in crate::http) fn wanted(&self) -> FindRequest {
        if self.is_too_much() { FindRequest::default() } else { self.wanted.clone() }
    }

    fn is_too_much(&self) -> bool {
        self.n_items > ITEMS_MAX
    }

    /// All that is wrong: what can't be looked for, what failed, and what surely isn't there. An IMSI or an
    /// MSISDN that isn't there is no problem.
    pub(in crate::http) fn problems(self, finding: &mut FindResult) -> Vec<Problem> {
        if self.is_too_much() {
            return vec![Problem::too_many_items(self.n_items, ITEMS_MAX)];
        }
        let Self { wanted, malformed, .. } = self;
        let malformed = malformed.into_iter().map(|fault| Problem::invalid(vec![fault]));
        let troubles = std::mem::take(&mut finding.troubles).into_iter().map(Problem::from);
        let missing: HashSet<&Identifier> = finding.missing.identifiers.iter().collect();
        let numbers = wanted.identifiers.iter().filter(|it| missing.contains(it));
        let numbers = numbers.filter_map(no_product_with);
        let missing: HashSet<&ProductId> = finding.missing.ids.iter().collect();
        let ids = wanted.ids.iter().filter(|it| missing.contains(it));
        let ids = ids.map(|id| Problem::no_product(format!("there is no product `{id}`")));
        malformed.chain(troubles).chain(numbers).chain(ids).collect()
    }
}

fn name_at(list: SearchList, position: usize) -> String {
    format!("{}[{position}]", list.field().name)
}

/// One thing to look for.
enum Item {
    Identifier(Identifier),
    Id(ProductId),
}

impl Item {
    /// Reads an item of a list; the reason reads on after its name.
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

/// That there is no product with this number, where that is worth telling.
fn no_product_with(identifier: &Identifier) -> Option<Problem> {
    let what = match identifier.kind() {
        IdentifierKind::Imsi | IdentifierKind::Msisdn => return None,
        IdentifierKind::Iccid => "ICCID",
        IdentifierKind::SerialNumber => "serial number",
    };
    Some(Problem::no_product(format!(
        "there is no product with the {what} `{}`",
        identifier.value()
    )))
}

#[cfg(test)]
mod tests;
