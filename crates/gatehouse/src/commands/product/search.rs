//! Looks identifiers up: found, not found, or unknown.

use reqwest::Method;
use serde_json::{Map, Value};

use super::identifier_guess::{IdentifierGuess, NumberKind};
use super::problem::Problems;
use crate::client::api::TenantServer;
use crate::failure::Failure;
use crate::terminal::output::text;

/// Most items of one search.
const ITEMS_MAX: usize = 1000;

/// Result for an identifier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LookUpResult {
    /// Connections with the identifier, each with the identifier's kind.
    Found(Vec<(NumberKind, Value)>),
    /// No account has it.
    NotFound,
    /// An account that might have it could not be queried.
    Unknown,
}

/// Looks identifiers up by their likely kinds, and by their other possible kinds where that finds nothing.
pub(crate) async fn search(
    server: &TenantServer,
    guesses: &[IdentifierGuess],
    problems: &mut Problems,
) -> Result<Vec<LookUpResult>, Failure> {
    let mut results = vec![LookUpResult::NotFound; guesses.len()];
    let likely: Vec<_> =
        guesses.iter().enumerate().map(|(n, it)| (n, it, &it.likely[..])).collect();
    look_up(server, &likely, &mut results, problems).await?;
    let possible: Vec<_> = guesses
        .iter()
        .enumerate()
        .filter(|(n, it)| !matches!(results[*n], LookUpResult::Found(_)) && !it.possible.is_empty())
        .map(|(n, it)| (n, it, &it.possible[..]))
        .collect();
    look_up(server, &possible, &mut results, problems).await?;
    Ok(results)
}

/// An identifier to look up: its index, itself, and the kinds to try.
type Item<'s> = (usize, &'s IdentifierGuess, &'s [NumberKind]);

async fn look_up(
    server: &TenantServer,
    items: &[Item<'_>],
    results: &mut [LookUpResult],
    problems: &mut Problems,
) -> Result<(), Failure> {
    for part in parts(items) {
        let request =
            server.request(Method::POST, &["product", "find"]).repeatable().body(body(part));
        let response = request.success().await?.body;
        let list = |name: &str| response.get(name).and_then(Value::as_array);
        let (Some(products), Some(errors)) = (list("entities"), list("errors")) else {
            return Err(server.server.not_understood());
        };
        let (missing, failed): (Vec<_>, Vec<_>) =
            errors.iter().cloned().partition(|error| error["status"] == 404);
        problems.add(&failed);
        for (n, guess, kinds) in part {
            let result = result_for(guess, kinds, products, &missing, !failed.is_empty());
            // An unknown result stays unknown.
            if !(results[*n] == LookUpResult::Unknown && result == LookUpResult::NotFound) {
                results[*n] = result;
            }
        }
    }
    Ok(())
}

/// The result for one identifier.
fn result_for(
    guess: &IdentifierGuess,
    kinds: &[NumberKind],
    products: &[Value],
    missing: &[Value],
    has_failures: bool,
) -> LookUpResult {
    let mut found = Vec::new();
    for product in products {
        let carried = kinds.iter().find(|kind| kind.is_carried(product, &guess.value));
        found.extend(carried.map(|kind| (*kind, product.clone())));
    }
    if !found.is_empty() {
        return LookUpResult::Found(found);
    }
    // A response names missing ICCIDs, serial numbers and IDs, but neither IMSIs nor MSISDNs.
    let is_this = |named: &str| kinds.iter().any(|kind| kind.is_same(named, &guess.value));
    let is_named = kinds.len() == 1
        && missing.iter().any(|it| missing_identifier(it).is_some_and(|it| is_this(&it)));
    if has_failures && !is_named { LookUpResult::Unknown } else { LookUpResult::NotFound }
}

/// The identifier that a problem names, in backquotes.
fn missing_identifier(problem: &Value) -> Option<String> {
    text(problem, "detail").split('`').nth(1).map(str::to_owned)
}

/// Splits items into searches of at most [`ITEMS_MAX`], each item with all of its kinds.
fn parts<'i, 's>(items: &'i [Item<'s>]) -> Vec<&'i [Item<'s>]> {
    let mut parts = Vec::new();
    let (mut start, mut n) = (0, 0);
    for (at, (_, _, kinds)) in items.iter().enumerate() {
        if n + kinds.len() > ITEMS_MAX {
            parts.push(&items[start..at]);
            (start, n) = (at, 0);
        }
        n += kinds.len();
    }
    if start < items.len() {
        parts.push(&items[start..]);
    }
    parts
}

fn body(items: &[Item<'_>]) -> Value {
    let mut body = Map::new();
    for (_, guess, kinds) in items {
        for kind in *kinds {
            let list = body.entry(kind.list()).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(guess.value.as_str().into());
            }
        }
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn card(iccid: &str) -> Value {
        json!({"id": "A-1", "productCharacteristic": [{"name": "ICCID", "value": iccid}]})
    }

    #[test]
    fn found_missing_and_unknown_are_distinguished() {
        let iccid = IdentifierGuess::recognise("8948692690826143258", None).unwrap();
        let imsi = IdentifierGuess::recognise("487016466663624", None).unwrap();
        let missing =
            [json!({"detail": "there is no product with the ICCID `8948692690826143258`"})];
        let of = |guess: &IdentifierGuess, products: &[Value], missing: &[Value], has_failures| {
            match result_for(guess, &guess.likely, products, missing, has_failures) {
                LookUpResult::Found(_) => "found",
                LookUpResult::NotFound => "not found",
                LookUpResult::Unknown => "unknown",
            }
        };
        assert_eq!(of(&iccid, &[card("8948692690826143258")], &[], true), "found");
        assert_eq!(of(&iccid, &[card("8900000000000000000")], &missing, true), "not found");
        assert_eq!(of(&iccid, &[], &missing, false), "not found");
        // The same card with its check digit: the server names it in the form that came first.
        let checked = IdentifierGuess::recognise("89486926908261432580", None).unwrap();
        let digit = gatehouse_core::identifier::luhn_digit("8948692690826143258").unwrap();
        let checked = IdentifierGuess { value: format!("8948692690826143258{digit}"), ..checked };
        assert_eq!(of(&checked, &[], &missing, true), "not found");
        assert_eq!(of(&iccid, &[], &[], true), "unknown");
        assert_eq!(of(&imsi, &[], &[], false), "not found");
        assert_eq!(of(&imsi, &[], &missing, true), "unknown");
    }

    #[test]
    fn searches_are_split_at_the_limit() {
        let imsis: Vec<IdentifierGuess> = (0..1200)
            .map(|n| IdentifierGuess::recognise(&format!("{}", 100_000_000 + n), None).unwrap())
            .collect();
        let items: Vec<Item<'_>> = imsis.iter().map(|it| (0, it, &it.likely[..])).collect();
        let sizes: Vec<usize> = parts(&items).iter().map(|part| part.len()).collect();
        assert_eq!(sizes, [500, 500, 200]);
        assert!(parts(&[]).is_empty());
    }
}
