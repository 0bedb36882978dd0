//! Fuzz target of request heads.

use super::connections::Connections;
use super::request_target::RequestTarget;

/// The encoder's output doesn't depend on how bytes are split, and encoding it again changes nothing.
pub(crate) fn request_head(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let whole = pass(&[bytes]);
    let (one, other) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(pass(&[one, other]), whole);
    assert_eq!(pass(&[&whole]), whole);
    assert!(whole.len() >= bytes.len() && whole.len() <= 3 * bytes.len());
}

/// The encoder's output on a connection without responses.
fn pass(pieces: &[&[u8]]) -> Vec<u8> {
    let slot = Connections::new(1).admit().expect("one connection fits");
    let mut target = RequestTarget::new();
    let encode =
        |piece: &&[u8]| target.encode(piece, &slot.activity).unwrap_or_else(|| piece.to_vec());
    pieces.iter().flat_map(encode).collect()
}
