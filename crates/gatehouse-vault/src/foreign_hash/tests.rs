use super::*;
use crate::tests::caller;
use crate::{MasterKeys, Vault};

/// The password of all hashes below, unless it stands beside.
const RIGHT: &str = "correct horse";

/// Hashes as the programs made them that are named beside.
const MADE: &[(&str, &str)] = &[
    ("htpasswd 2.4", "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396"),
    ("mkpasswd 5.5", "$2a$05$SxCcrIoOJXcTT8gWnvTpJeZBT7Q9Xcgv2JZOnwKGMQTZ.vOFeqewa"),
    ("mkpasswd 5.5", "$2b$05$8Yp8mRYXEhpqgkgrKqiWduEsUoHCrwefx4o2l8QyJS9F8VkaedepK"),
    (
        "mosquitto_passwd 2.0",
        "$7$101$TPEWokhMuPDzUtdp$c9he7Btm9SU57WVCumwMA+nop1aJYWHk/v0Pv1j2X0YfgA/0kQ5hOx8sMF6ZUUxbOKrTpNt5mOaZqP8bd1q4Vg==",
    ),
    (
        "mosquitto_passwd 2.0 -H sha512",
        "$6$X86OUfo0vG3XOlcH$rIOZp0jaCm1/Bbr2fyrGR3y/sM5qQhssHxCSyn/zk5Oj5JklerxYuAml4fc7u9DBR3YIdesSMOyqGtPq5FyQLQ==",
    ),
    (
        "mkpasswd 5.5",
        "$6$.O06gix/T7BocFq6$b4MsxovzdW3KaGMI9ckPoHGMpoMAcTCR29XjFPkIlAZ37bnFVDZjptEDUMQvo9OaPemwtnMmIYN7uO0vqY6R7.",
    ),
    (
        "openssl passwd -6",
        "$6$p16qzRllO0xKPGwj$fK6/f/KJF2BhzuU24kEqHT0G/FW5698sB1t3HvVpruEoq.TVf7BU4H1CVqR4.OFuBLfvawCpbDPh9QJlvAmQI0",
    ),
    ("mkpasswd 5.5", "$5$rounds=1000$1iHZ7rDtBfZBFbG2$/q5nHFGBiul7CHe29HltP0ibL1H2T7PJCyCAH2Z5.n9"),
    (
        "argon2 -id",
        "$argon2id$v=19$m=256,t=2,p=2$c2FsdHNhbHQ$yWWF01rDif7q0E03DEL7qJGeH9fdOPOw+48bBtXF+QE",
    ),
    (
        "argon2 -i -v 10",
        "$argon2i$v=16$m=64,t=3,p=1$c2FsdHNhbHQ$hMw04YxNb/nKevla0HecBoItgAzbL71YIrLgD02a8MI",
    ),
    (
        "passlib 1.7",
        "$scrypt$ln=4,r=8,p=1$KAVASCml1Pq/l/Ieo5SS8g$f4BupydiJkww+L8I6840oPKSM+Z7dvC8JXeeu/phCts",
    ),
    (
        "passlib 1.7",
        "$pbkdf2-sha256$100$a6015lyLkXKu9R6j1Ppfaw$jzb8mKXpcjVCj/X6yb0e6.l2CsEyC/3OJKfM.VMbETA",
    ),
    (
        "passlib 1.7",
        "$pbkdf2-sha512$100$934vZez9/x.DkHIOoXTOmQ$7R5dIUcBPchPNGVbsYR346eZezCLR8b7bcw77sL8HeVunUMgqxXKvP50iMhukeKu0sxZ45tsL7lhM0uIC1IG3g",
    ),
    ("Django 3.2", "pbkdf2_sha256$100$Qm3gA7hY$KB/tOVi1cpiUCliS1Twe0QAeyoc3QNKUB+fMpxz6z/c="),
    (
        "hashlib, as mosquitto-go-auth writes it",
        "PBKDF2$sha512$1000$AAECAwQFBgcICQoLDA0ODw==$Xpx07WjVx4vCIvrmBRj8uOoVVtGqJqtUv2J5bhizSQs=",
    ),
    (
        "hashlib, as mosquitto-go-auth writes it",
        "PBKDF2$sha256$1000$AAECAwQFBgcICQoLDA0ODw==$yRTMTwbMbo9G0VfjobWqerzuuxe7BETNTErBbKKumGQ=",
    ),
    (
        "hashlib, as PHC writes it",
        "$pbkdf2-sha256$i=1000,l=32$AAECAwQFBgcICQoLDA0ODw$yRTMTwbMbo9G0VfjobWqerzuuxe7BETNTErBbKKumGQ",
    ),
];

/// Hashes from specifications and from tests of other programs.
const PUBLISHED: &[(&str, &str)] = &[
    // Openwall's crypt_blowfish.
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    // The specification of SHA-crypt, by Ulrich Drepper.
    ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
    (
        "Hello world!",
        "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
    ),
    // The reference implementation of argon2.
    (
        "password",
        "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8",
    ),
    (
        "password",
        "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
    ),
    // RFC 7914, section 12, in the format of PHC.
    (
        "pleaseletmein",
        "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw",
    ),
    // mosquitto-go-auth's own tests, and the documentation of Home Assistant's Mosquitto.
    (
        "testpw",
        "PBKDF2$sha512$100000$os24lcPr9cJt2QDVWssblQ==$BK1BQ2wbwU1zNxv3Ml3wLuu5//hPop3/LvaPYjjCwdBvnpwusnukJPpcXQzyyjOlZdieXTx6sXAcX4WnZRZZnw==",
    ),
    (
        "foo",
        "PBKDF2$sha512$100000$qsU7xQ8YCV/9nRuBBJVTxA==$jqw94Ej3aEr97UofY6rClmVCRkTdDiubQW0A6ZYmUI+pZjW9Hax+2w2FeYB3y5ut1SliB7+HAwIl2iONLKkohw==",
    ),
    // RFC 7914, section 11, in the format of PHC: its salt is `NaCl`.
    (
        "Password",
        "$pbkdf2-sha256$i=80000$TmFDbA$TdzY9guYviGDDO5e8icB+WQaRBjQTAQUrv8Ih2s0q1ah1CWhIlgzVJrbhBtRybMXaicr3ruh0HhHj2Kzl/M8jQ",
    ),
];

fn parse(text: &str) -> Result<ForeignHash, BadForeignHash> {
    ForeignHash::parse(text.to_owned())
}

fn password(text: &str) -> Password {
    Password::new(text.to_owned()).unwrap()
}

#[test]
fn hashes_of_other_programs_match_their_password_alone() {
    let made = MADE.iter().map(|(_, hash)| (RIGHT, *hash));
    for (right, hash) in made.chain(PUBLISHED.iter().copied()) {
        let parsed = parse(hash).unwrap_or_else(|why| panic!("{hash} {why}"));
        assert!(parsed.matches(&password(right)), "{hash}");
        for wrong in ["wrong", "correct horse ", "Correct horse", "correct hors"] {
            assert!(!parsed.matches(&password(wrong)), "{hash}");
        }
    }
}

#[test]
fn no_password_with_a_nul_matches_a_bcrypt_hash() {
    // bcrypt repeats the password with a NUL behind it, up to 72 bytes.
    let hash = bcrypt::hash("correct horse", 4).unwrap();
    assert!(bcrypt::verify("correct horse\0correct horse", &hash).unwrap(), "the reason");
    let parsed = parse(&hash).unwrap();
    assert!(parsed.matches(&password("correct horse")));
    assert!(!parsed.matches(&password("correct horse\0correct horse")));
}

#[test]
fn the_longest_password_matches_its_bcrypt_hash() {
    // bcrypt uses 72 bytes, as many as a password has.
    let hash = bcrypt::hash("x".repeat(72), 4).unwrap();
    let parsed = parse(&hash).unwrap();
    assert!(parsed.matches(&password(&"x".repeat(72))));
    assert!(!parsed.matches(&password(&"x".repeat(71))));
}

#[test]
fn every_parameter_has_a_bound() {
    let salt_and_hash = "c2FsdHNhbHQ$yWWF01rDif7q0E03DEL7qJGeH9fdOPOw+48bBtXF+QE";
    let mosquitto = &MADE[3].1["$7$101$".len()..];
    let bcrypt = &MADE[0].1["$2y$05$".len()..];
    let crypt = &MADE[7].1["$5$rounds=1000$".len()..];
    #[rustfmt::skip]
    let cases = [
        (format!("$2y$14${bcrypt}"),                                     ""),
        (format!("$2y$15${bcrypt}"),                                     "has 15 as its cost of bcrypt, which must be 4 to 14"),
        (format!("$2y$03${bcrypt}"),                                     "has 3 as its cost of bcrypt, which must be 4 to 14"),
        (format!("$7$2000000${mosquitto}"),                              ""),
        (format!("$7$2000001${mosquitto}"),                              "has 2000001 as its number of iterations of PBKDF2, which must be 1 to 2000000"),
        (format!("$7$4294967296${mosquitto}"),                           "begins like PBKDF2 of mosquitto"),
        (format!("$7$0${mosquitto}"),                                    "begins like PBKDF2 of mosquitto"),
        (format!("pbkdf2_sha256$2000001${salt_and_hash}"),               "has 2000001 as its number of iterations"),
        (format!("PBKDF2$sha512$2000001${salt_and_hash}"),               "has 2000001 as its number of iterations"),
        (format!("$pbkdf2-sha512$i=2000001${salt_and_hash}"),            "has 2000001 as its number of iterations"),
        (format!("$5$rounds=2000000${crypt}"),                           ""),
        (format!("$5$rounds=2000001${crypt}"),                           "has 2000001 as its number of rounds, which must be 1000 to 2000000"),
        (format!("$5$rounds=999${crypt}"),                               "has 999 as its number of rounds"),
        (format!("$argon2id$v=19$m=262144,t=10,p=4${salt_and_hash}"),    ""),
        (format!("$argon2id$v=19$m=262145,t=1,p=1${salt_and_hash}"),     "has 262145 as its memory of argon2 in KiB (m), which must be 8 to 262144"),
        (format!("$argon2i$m=8,t=11,p=1${salt_and_hash}"),               "has 11 as its number of passes of argon2 (t), which must be 1 to 10"),
        (format!("$argon2i$m=8,t=1,p=2${salt_and_hash}"),                "has 2 as its number of lanes of argon2 (p), which must be 1 to 1"),
        (format!("$scrypt$ln=18,r=8,p=10${salt_and_hash}"),              ""),
        (format!("$scrypt$ln=19,r=8,p=1${salt_and_hash}"),               "has 524288 as its memory of scrypt in KiB (by ln and r), which must be 0 to 262144"),
        (format!("$scrypt$ln=63,r=4294967295,p=1${salt_and_hash}"),      "has 18446744073709551615 as its memory"),
        (format!("$scrypt$ln=64,r=8,p=1${salt_and_hash}"),               "has 64 as its logarithm of scrypt's cost (ln), which must be 1 to 63"),
        (format!("$scrypt$ln=10,r=8,p=11${salt_and_hash}"),              "has 11 as its number of passes of scrypt (p), which must be 1 to 10"),
        (format!("${}", "x".repeat(255)),                                "must have 1 to 255 bytes, not 256"),
    ];
    for (hash, expected) in cases {
        let shown = parse(&hash).err().map_or(String::new(), |why| why.to_string());
        assert!(
            shown.starts_with(expected) && shown.is_empty() == expected.is_empty(),
            "{hash} {shown}"
        );
    }
}

#[test]
fn refused_schemes_are_named() {
    #[rustfmt::skip]
    let cases = [
        ("",                                                         "must have 1 to 255 bytes, not 0"),
        ("$1$Ls6NHcgU$u1Gx1sWOQ2nyEMMBB0ACc0",                       "is MD5-crypt, which is too weak"),
        ("$apr1$Ls6NHcgU$u1Gx1sWOQ2nyEMMBB0ACc0",                    "is Apache's MD5-crypt, which is too weak"),
        ("$3$$8846f7eaee8fb117ad06bdd830b7586c",                     "is an NT hash"),
        ("{nt}8846f7eaee8fb117ad06bdd830b7586c",                     "is an NT hash"),
        ("8846F7EAEE8FB117AD06BDD830B7586C",                         "is an unsalted MD5 or an NT hash"),
        ("aad3b435b51404eeaad3b435b51404ee:8846f7eaee8fb117ad06bdd830b7586c", "is an NT hash"),
        ("5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8",                 "is an unsalted SHA-1"),
        ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",                        "is an unsalted SHA-1"),
        ("{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",                       "is a salted SHA of one pass"),
        ("5e884898da28047151d0e56f8dc6292773603d0d6aabbd56a16fa4c3ab5d5d42", "is an unsalted SHA-256"),
        ("rqXexS6ZhobKA",                                            "is DES-crypt or clear text"),
        ("$2x$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9p", "is bcrypt of a faulty program"),
        ("$argon2d$v=19$m=256,t=2,p=1$c29tZXNhbHQ$x",                "is argon2d"),
        ("{PLAIN}hunter2",                                           "is no hash but looks like clear text"),
        ("hunter2",                                                  "is no hash but looks like clear text"),
        ("pbkdf2_sha256",                                            "is no hash but looks like clear text"),
        ("häslich",                                                  "is no hash but looks like clear text"),
        ("$y$j9T$x$y",                                               "is in no known format"),
        ("$",                                                        "is in no known format"),
        ("a$b",                                                      "is in no known format"),
        ("PBKDF2$",                                                  "begins like PBKDF2 of mosquitto-go-auth"),
        ("PBKDF2$sha1$901$AAECAwQF$AAECAwQFBgcICQoLDA0ODw==",        "begins like PBKDF2 of mosquitto-go-auth"),
        ("$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv39é", "begins like bcrypt"),
        ("$5$rounds=1000$$/q5nHFGBiul7CHe29HltP0ibL1H2T7PJCyCAH2Z5.n9", "begins like SHA-256-crypt"),
        ("$argon2id$v=19$m=256,t=2$c29tZXNhbHQ$AAECAwQFBgcICQoLDA0ODw", "begins like argon2id"),
        ("$argon2id$v=20$m=256,t=2,p=1$c29tZXNhbHQ$AAECAwQFBgcICQoLDA0ODw", "begins like argon2id"),
        ("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$AAECAwQFBgcICQoLDA0O", "begins like argon2id"),
        ("$pbkdf2-sha256$i=1000,l=31$AAECAwQF$yRTMTwbMbo9G0VfjobWqerzuuxe7BETNTErBbKKumGQ", "begins like PBKDF2 of PHC"),
    ];
    for (hash, expected) in cases {
        let shown = parse(hash).unwrap_err().to_string();
        assert!(shown.starts_with(expected), "{hash} {shown}");
    }
}

#[test]
fn a_refusal_never_shows_the_hash() {
    for (_, hash) in MADE.iter().chain(PUBLISHED) {
        let fields: Vec<&str> = hash.split('$').filter(|it| it.len() > 15).collect();
        for end in 0..hash.len() {
            let Err(refused) = parse(&hash[..end]) else { continue };
            let shown = format!("{refused} {refused:?}");
            assert!(!fields.iter().any(|field| shown.contains(field)), "{shown}");
        }
        assert!(!format!("{:?}", parse(hash).unwrap()).contains('$'));
    }
}

#[tokio::test]
async fn a_stored_foreign_hash_is_sealed_and_replaced_by_our_own() {
    let vault = |bytes: &[u8]| {
        let keys: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}").repeat(32)).collect();
        Vault::new(&MasterKeys::parse(&keys.join(" ")).unwrap())
    };
    let (old, both, new) = (vault(&[1]), vault(&[2, 1]), vault(&[2]));
    let (right, foreign) = (password(RIGHT), parse(MADE[0].1).unwrap());
    let stored = old.store_foreign(&foreign);
    assert!(!stored.as_str().contains(&MADE[0].1[7..]), "sealed");
    assert_eq!(crate::key_of_hash(stored.as_str()), Some(old.key_name()));
    let again = old.store_foreign(&foreign);
    let n_name = crate::HASH_NAME_CHARS;
    assert_eq!(stored.as_str()[..n_name], again.as_str()[..n_name], "one prefix for each key");
    for vault in [&old, &both] {
        assert!(vault.is_slow(&stored) && vault.is_foreign(&stored));
        assert!(!vault.is_cached(&stored, &right));
        assert!(!vault.check(caller(), &stored, &password("wrong")).await.unwrap());
        assert!(vault.check(caller(), &stored, &right).await.unwrap());
        assert!(vault.is_cached(&stored, &right));
        let own = vault.renew(caller(), &stored, &right).await.unwrap().unwrap();
        assert!(own.as_str().starts_with(&format!("argon2id${}$", vault.key_name())));
        assert!(vault.is_cached(&own, &right), "the next check is fast");
        assert!(vault.check_uncached(caller(), &own, &right).await.unwrap());
        assert!(vault.renew(caller(), &own, &right).await.unwrap().is_none());
    }
    let checked = new.check(caller(), &stored, &right).await;
    assert!(matches!(checked, Err(crate::VaultError::UnknownKey)));
}
