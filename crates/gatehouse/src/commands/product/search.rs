//! Looking for identifiers: which were found, which are surely nowhere, and of which nobody knows.

use reqwest::Method;
use serde_json::{Map, Value};

use super::problem::Problems;
use super::sought::{Kind, Sought};
use crate::client::api::TenantServer;
use crate::failure::Failure;
use crate::terminal::output::text;

/// So many items one search may have.
const ITEMS_MAX: usize = 1000;

/// What became of an identifier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Finding {
    /// Connections that carry it, each with what the identifier is there.
    Found(Vec<(Kind, Value)>),
    /// No account has it.
    NotFound,
    /// An account that might have it could not be asked.
    Unknown,
}

/// Looks for all of them: as what they are likely to be, and what isn't found then as what it may be as well.
pub(crate) async fn search(
    server: &TenantServer,
    sought: &[Sought],
    problems: &mut Problems,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = vec![Finding::NotFound; sought.len()];
    let likely: Vec<_> = sought.iter().enumerate().map(|(n, it)| (n, it, &it.likely[..])).collect();
    look_for(server, &likely, &mut findings, problems).await?;
    let perhaps: Vec<_> = sought
        .iter()
        .enumerate()
        .filter(|(n, it)| !matches!(findings[*n], Finding::Found(_)) && !it.perhaps.is_empty())
        .map(|(n, it)| (n, it, &it.perhaps[..]))
        .collect();
    look_for(server, &perhaps, &mut findings, problems).await?;
    Ok(findings)
}

/// One of those that are looked for: its place, itself, and what it is taken for.
type Item<'s> = (usize, &'s Sought, &'s [Kind]);

async fn look_for(
    server: &TenantServer,
    items: &[Item<'_>],
    findings: &mut [Finding],
    problems: &mut Problems,
) -> Result<(), Failure> {
    for part in parts(items) {
        let ask = server.ask(Method::POST, &["product", "find"]).repeatable().body(body(part));
        let answer = ask.success().await?.body;
        let list = |name: &str| answer.get(name).and_then(Value::as_array);
        let (Some(products), Some(errors)) = (list("entities"), list("errors")) else {
            return Err(server.server.not_understood());
        };
        let (missing, failed): (Vec<_>, Vec<_>) =
            errors.iter().cloned().partition(|error| error["status"] == 404);
        problems.add(&failed);
        for (n, sought, kinds) in part {
            let finding = judge(sought, kinds, products, &missing, !failed.is_empty());
            // What nobody knew before isn't nowhere now.
            if !(findings[*n] == Finding::Unknown && finding == Finding::NotFound) {
                findings[*n] = finding;
            }
        }
    }
    Ok(())
}

/// What an answer says about one of them.
fn judge(
    sought: &Sought,
    kinds: &[Kind],
    products: &[Value],
    missing: &[Value],
    has_failures: bool,
) -> Finding {
    let mut found = Vec::new();
    for product in products {
        let carried = kinds.iter().find(|kind| kind.is_carried(product, &sought.value));
        found.extend(carried.map(|kind| (*kind, product.clone())));
    }
    if !found.is_empty() {
        return Finding::Found(found);
    }
    // Of IMSIs and MSISDNs an answer says nothing; of the others it names those that are surely nowhere.
    let is_this = |named: &str| kinds.iter().any(|kind| kind.is_same(named, &sought.value));
    let is_named =
        kinds.len() == 1 && missing.iter().any(|it| named_in(it).is_some_and(|it| is_this(&it)));
    if has_failures && !is_named { Finding::Unknown } else { Finding::NotFound }
}

/// What a problem names as missing: it stands in backquotes.
fn named_in(problem: &Value) -> Option<String> {
    text(problem, "detail").split('`').nth(1).map(str::to_owned)
}

/// As many at a time as a search may have, each with all that it is taken for.
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
    for (_, sought, kinds) in items {
        for kind in *kinds {
            let list = body.entry(kind.list()).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(sought.value.as_str().into());
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
    fn found_missing_and_unknown_are_told_apart() {
        let iccid = Sought::recognise("8948692690826143258", None).unwrap();
        let imsi = Sought::recognise("487016466663624", None).unwrap();
        let missing =
            [json!({"detail": "there is no product with the ICCID `8948692690826143258`"})];
        let of = |sought: &Sought, products: &[Value], missing: &[Value], has_failures| match judge(
            sought,
            &sought.likely,
            products,
            missing,
            has_failures,
        ) {
            Finding::Found(_) => "found",
            Finding::NotFound => "not found",
            Finding::Unknown => "unknown",
        };
        assert_eq!(of(&iccid, &[card("8948692690826143258")], &[], true), "found");
        assert_eq!(of(&iccid, &[card("8900000000000000000")], &missing, true), "not found");
        assert_eq!(of(&iccid, &[], &missing, false), "not found");
        // The same card with its check digit: the server names it as it was written first.
        let checked = Sought::recognise("89486926908261432580", None).unwrap();
        let digit = gatehouse_core::identifier::luhn_digit("8948692690826143258").unwrap();
        let checked = Sought { value: format!("8948692690826143258{digit}"), ..checked };
        assert_eq!(of(&checked, &[], &missing, true), "not found");
        assert_eq!(of(&iccid, &[], &[], true), "unknown");
        assert_eq!(of(&imsi, &[], &[], false), "not found");
        assert_eq!(of(&imsi, &[], &missing, true), "unknown");
    }

    #[test]
    fn searches_are_as_large_as_they_may_be() {
        let imsis: Vec<Sought> = (0..1200)
            .map(|n| Sought::recognise(&format!("{}", 100_000_000 + n), None).unwrap())
            .collect();
        let items: Vec<Item<'_>> = imsis.iter().map(|it| (0, it, &it.likely[..])).collect();
        let sizes: Vec<usize> = parts(&items).iter().map(|part| part.len()).collect();
        assert_eq!(sizes, [500, 500, 200]);
        assert!(parts(&[]).is_empty());
    }
}
