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
pub(crate) fn text(alphabet: &[u8], n_chars: usize) -> String {
    // Bytes beyond the last whole multiple would favour the first letters: they are drawn again.
    let fair = 256 - 256 % alphabet.len();
    let mut text = String::with_capacity(n_chars);
    while text.len() < n_chars {
        for byte in bytes::<64>() {
            if usize::from(byte) < fair && text.len() < n_chars {
                text.push(char::from(alphabet[usize::from(byte) % alphabet.len()]));
            }
        }
    }
    text
}
