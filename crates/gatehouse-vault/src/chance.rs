//! The one home of chance: everything random comes from the operating system through here.

/// Random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// Fills a buffer with random bytes.
#[expect(clippy::disallowed_methods, reason = "this is chance's one home")]
fn fill(buffer: &mut [u8]) {
    aws_lc_rs::rand::fill(buffer).expect("the operating system's generator does not fail");
}

/// Random characters of an alphabet, each as likely as the others.
pub(crate) fn text<const LETTERS: usize>(alphabet: &[u8; LETTERS], n_chars: usize) -> String {
    spell(alphabet, n_chars, bytes)
}

/// Characters of an alphabet out of random bytes, each as likely as the others.
///
/// Bytes are drawn until there are enough.
pub(crate) fn spell<const LETTERS: usize>(
    alphabet: &[u8; LETTERS],
    n_chars: usize,
    draw: impl FnMut() -> [u8; 32],
) -> String {
    // Bytes beyond the last whole multiple would favour the first letters: they are passed over.
    let is_fair = |byte: &usize| *byte < 256 - 256 % LETTERS;
    let bytes = std::iter::repeat_with(draw).flatten().map(usize::from);
    let letters = bytes.filter(is_fair).map(|byte| char::from(alphabet[byte % LETTERS]));
    let mut text = String::with_capacity(n_chars);
    text.extend(letters.take(n_chars));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_would_favour_a_letter_are_passed_over() {
        let mut rounds = 0;
        let text = spell(b"abc", 33, || {
            rounds += 1;
            std::array::from_fn(|at| if at % 2 == 0 { 255 } else { at as u8 })
        });
        assert_eq!(rounds, 3, "16 of each round are taken");
        assert!(text.starts_with("bacbac"), "{text}");
        assert_eq!(text.len(), 33);
    }
}
