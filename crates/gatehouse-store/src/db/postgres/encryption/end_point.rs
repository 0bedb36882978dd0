//! Channel binding: ties the proof of a password to the certificate of the server, so that an intermediary can't use
//! it.

use aws_lc_rs::digest;

/// The channel binding data of a server's certificate (RFC 5929): its hash by the hash function of its signature, or by
/// SHA-256 where that is weaker.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    let (whole, _) = element(certificate)?;
    let (_contents, rest) = element(whole)?;
    let (algorithm, _) = element(rest)?;
    let (name, _) = element(algorithm)?;
    let hash = match (name.strip_prefix(RSA), name.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => &digest::SHA256,
        (Some([12]), _) | (_, Some([3, 3])) => &digest::SHA384,
        (Some([13]), _) | (_, Some([3, 4])) => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// Splits DER bytes into the content of the first element and the rest.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[_tag, first], rest) = der.split_first_chunk()?;
    let (n_bytes, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(n_bytes)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    };

    use super::*;

    #[test]
    fn a_certificate_is_named_by_the_hash_of_its_signature() {
        for (algorithm, hash) in [
            (&PKCS_ECDSA_P256_SHA256, Some(&digest::SHA256)),
            (&PKCS_ECDSA_P384_SHA384, Some(&digest::SHA384)),
            (&PKCS_ED25519, None),
        ] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let params = CertificateParams::new(vec!["db".to_owned()]).unwrap();
            let certificate = params.self_signed(&key).unwrap();
            let der = certificate.der();
            let expected = hash.map(|hash| digest::digest(hash, der).as_ref().to_vec());
            assert_eq!(end_point(der), expected, "{algorithm:?}");
            for n_bytes in 0..der.len() {
                end_point(&der[..n_bytes]);
            }
        }
    }
}
