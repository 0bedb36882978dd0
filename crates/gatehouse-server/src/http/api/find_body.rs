//! The body of a search: lists of numbers and identifiers, read into what is wanted.
//!
//! What is no list of strings is a fault of the request. A string that can't be what its list says is a
//! problem of its own, beside what the others find.

use std::collections::HashSet;

use gatehouse_connectors::{FindRequest, FindResult};
use gatehouse_core::{Identifier, IdentifierKind, ProductId};

use crate::http::answer::problem::Problem;
use crate::reader::{Fault, Faults, Json, Reader, list, shortened, text};

/// Most different items that one request may look for.
const ITEMS_MAX: usize = 1000;

/// A list of a search, and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum List {
    Of(IdentifierKind),
    Ids,
}

impl List {
    /// In the order in which they are read and told about.
    const ALL: [Self; 5] = [
        Self::Of(IdentifierKind::Iccid),
        Self::Of(IdentifierKind::Imsi),
        Self::Of(IdentifierKind::Msisdn),
        Self::Of(IdentifierKind::SerialNumber),
        Self::Ids,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Of(IdentifierKind::Iccid) => "iccidList",
            Self::Of(IdentifierKind::Imsi) => "imsiList",
            Self::Of(IdentifierKind::Msisdn) => "msisdnList",
            Self::Of(IdentifierKind::SerialNumber) => "terminalSNList",
            Self::Ids => "iotConnectionProductIdList",
        }
    }

    fn name_at(self, position: usize) -> String {
        format!("{}[{position}]", self.name())
    }
}

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
    for it in List::ALL {
        let given = body.optional(it.name(), list);
        is_empty &= given.as_ref().is_none_or(Vec::is_empty);
        for (position, item) in given.unwrap_or_default().into_iter().enumerate() {
            match text(item) {
                Ok(text) => items.push((it, position, text)),
                Err(reason) => body.fault(&it.name_at(position), reason),
            }
        }
    }
    if is_empty {
        let names = List::ALL.map(List::name).join(", ");
        body.fault_of_whole(format!("must have a list that is not empty: {names}"));
    }
    body.finish();
    faults.check().map_err(Problem::invalid)?;
    Ok(Asked::of(items))
}

impl Asked {
    /// Each item once, in the order in which they come first.
    fn of(items: Vec<(List, usize, String)>) -> Self {
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
                    asked.malformed.push(Fault { name: list.name_at(position), reason });
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

/// One thing to look for.
enum Item {
    Identifier(Identifier),
    Id(ProductId),
}

impl Item {
    /// Reads an item of a list; the reason reads on after its name.
    fn parse(list: List, text: &str) -> Result<Self, String> {
        match list {
            List::Of(kind) => {
                Identifier::given(kind, text).map(Self::Identifier).map_err(|bad| bad.to_string())
            }
            List::Ids => {
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
