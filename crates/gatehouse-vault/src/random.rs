//! The one source of randomness: the operating system's generator.

/// Random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// Fills a buffer with random bytes.
#[expect(clippy::disallowed_methods, reason = "this is the one source of randomness")]
fn fill(buffer: &mut [u8]) {
    #[cfg(feature = "simulation")]
    if crate::simulation::fill(buffer) {
        return;
    }
    aws_lc_rs::rand::fill(buffer).expect("the operating system's generator does not fail");
}

/// Fills `letters` with uniformly distributed characters of an alphabet.
///
/// Draws random bytes until there are enough.
pub(crate) fn spell<const LETTERS: usize>(
    alphabet: &[u8; LETTERS],
    letters: &mut [u8],
    mut draw: impl FnMut() -> [u8; 32],
) {
    // Bytes beyond the last whole multiple would favour the first letters, so they are skipped.
    let is_fair = |byte: u8| usize::from(byte) < 256 - 256 % LETTERS;
    let mut n_done = 0;
    while n_done < letters.len() {
        let mut drawn = [0; 32];
        let mut n = 0;
        for byte in draw() {
            drawn[n % 32] = alphabet[usize::from(byte) % LETTERS];
            n += usize::from(is_fair(byte));
        }
        let n = n.min(letters.len() - n_done);
        letters[n_done..n_done + n].copy_from_slice(&drawn[..n]);
        n_done += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_would_favour_a_letter_are_skipped() {
        let mut rounds = 0;
        let mut text = [0; 33];
        spell(b"abc", &mut text, || {
            rounds += 1;
            std::array::from_fn(|at| if at % 2 == 0 { 255 } else { at as u8 })
        });
        assert_eq!(rounds, 3, "16 of each round are taken");
        assert_eq!(text, *b"bacbacbacbacbacbbacbacbacbacbacbb");
    }
}
