//! Content negotiation: media types and gzip.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::problem::Problem;
use crate::reader::shortened;

/// A quality value (RFC 9110) in thousandths; 0 is a refusal.
type Quality = u16;

const QUALITY_MAX: Quality = 1000;

/// The available media type that the client prefers: by `q`, then by the most specific range, then the first. Without
/// `Accept`, the first.
pub(crate) fn media_type(
    headers: &HeaderMap,
    available: impl Iterator<Item = &'static str> + Clone,
) -> Result<&'static str, Problem> {
    let accepts = values(headers, header::ACCEPT);
    // An empty header excludes nothing.
    let accepts: Vec<&str> = accepts.filter(|value| !value.trim().is_empty()).collect();
    if accepts.is_empty() {
        return Ok(available.clone().next().unwrap_or_default());
    }
    let ranges: Vec<&str> = accepts.iter().flat_map(|it| it.split(',')).collect();
    let mut best: Option<(Quality, u8, &'static str)> = None;
    for media_type in available.clone() {
        // Of the matching ranges, the most specific one decides.
        let matching = ranges.iter().filter_map(|range| match_range(range, media_type));
        let Some((rank, quality)) = matching.max_by_key(|(rank, _)| *rank) else { continue };
        let is_better = best.is_none_or(|(q, r, _)| (quality, rank) > (q, r));
        if quality > 0 && is_better {
            best = Some((quality, rank, media_type));
        }
    }
    best.map(|(.., media_type)| media_type).ok_or_else(|| {
        let mut available: Vec<&str> = available.map(essence).collect();
        available.dedup();
        let (available, given) = (available.join(" or "), shortened(&accepts.join(", ")));
        let detail =
            format!("this operation answers with {available}, which Accept excludes: `{given}`");
        Problem::new(StatusCode::NOT_ACCEPTABLE, "Not acceptable", detail)
    })
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Specificity and quality of a range of `Accept` that matches a media type.
fn match_range(range: &str, media_type: &str) -> Option<(u8, Quality)> {
    let (range, quality) = with_quality(range);
    let media_type = essence(media_type);
    let main = media_type.split('/').next().unwrap_or_default();
    let rank = match range.strip_suffix("/*") {
        Some("*") => 1,
        Some(other) if other.eq_ignore_ascii_case(main) => 2,
        None if range.eq_ignore_ascii_case(media_type) => 3,
        _ => return None,
    };
    Some((rank, quality))
}

/// Whether the client prefers a response compressed by gzip.
pub(crate) fn prefers_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut identity, mut any) = (None, None, None);
    let codings = values(headers, header::ACCEPT_ENCODING).flat_map(|value| value.split(','));
    for (coding, quality) in codings.map(with_quality) {
        match coding.to_ascii_lowercase().as_str() {
            // RFC 9110: `x-gzip` is equivalent to `gzip`.
            "gzip" | "x-gzip" => gzip = Some(quality),
            "identity" => identity = Some(quality),
            "*" => any = Some(quality),
            _ => {}
        }
    }
    // Without a quality for `identity`, gzip wins if the client accepts it.
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// Adds a request header to `Vary`.
pub(crate) fn vary(headers: &mut HeaderMap, by: &'static str) {
    let before = headers.get(header::VARY).and_then(|value| value.to_str().ok());
    let value = match before {
        Some(before) => HeaderValue::from_str(&format!("{before}, {by}")),
        None => Ok(HeaderValue::from_static(by)),
    };
    headers.insert(header::VARY, value.expect("names of headers are a header's value"));
}

fn values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

/// An element of a list and its quality, which is the highest if missing or invalid.
fn with_quality(element: &str) -> (&str, Quality) {
    let mut parts = element.split(';').map(str::trim);
    let value = parts.next().unwrap_or_default();
    let quality = parts.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = name.trim().eq_ignore_ascii_case("q").then(|| value.trim())?;
        let quality = value.parse::<f32>().ok().filter(|q| (0.0..=1.0).contains(q))?;
        Some((quality * f32::from(QUALITY_MAX)).round() as Quality)
    });
    (value, quality.unwrap_or(QUALITY_MAX))
}

#[cfg(test)]
mod tests;
