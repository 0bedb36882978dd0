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
    #[cfg(feature = "simulation")]
    if crate::simulation::fill(buffer) {
        return;
    }
    aws_lc_rs::rand::fill(buffer).expect("the operating system's generator does not fail");
}

/// Fills places with characters of an alphabet out of random bytes, each as likely as the others.
///
/// Bytes are drawn until there are enough.
pub(crate) fn spell<const LETTERS: usize>(
    alphabet: &[u8; LETTERS],
    places: &mut [u8],
    mut draw: impl FnMut() -> [u8; 32],
) {
    // Bytes beyond the last whole multiple would favour the first letters: the next one takes their place.
    let is_fair = |byte: u8| usize::from(byte) < 256 - 256 % LETTERS;
    let mut n_done = 0;
    while n_done < places.len() {
        let mut letters = [0; 32];
        let mut n = 0;
        for byte in draw() {
            letters[n % 32] = alphabet[usize::from(byte) % LETTERS];
            n += usize::from(is_fair(byte));
        }
        let n = n.min(places.len() - n_done);
        places[n_done..n_done + n].copy_from_slice(&letters[..n]);
        n_done += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_would_favour_a_letter_are_passed_over() {
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
