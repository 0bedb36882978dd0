//! What the fuzzer does with the heads of requests, before they are looked at by anyone else.

use super::connections::Connections;
use super::target::RequestTarget;

/// Bytes of a connection come through the same, however they are cut; what is encoded needs no encoding.
pub(crate) fn request_head(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let whole = pass(&[bytes]);
    let (one, other) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(pass(&[one, other]), whole);
    assert_eq!(pass(&[&whole]), whole);
    assert!(whole.len() >= bytes.len() && whole.len() <= 3 * bytes.len());
}

/// What comes out of a connection that nothing is answered on.
fn pass(pieces: &[&[u8]]) -> Vec<u8> {
    let held = Connections::new(1).admit().expect("there is room for one");
    let mut target = RequestTarget::new();
    let encode =
        |piece: &&[u8]| target.encode(piece, &held.activity).unwrap_or_else(|| piece.to_vec());
    pieces.iter().flat_map(encode).collect()
}
