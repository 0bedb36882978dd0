use super::*;

#[test]
fn every_shipped_manifest_can_be_read_and_is_named_like_its_file() {
    for Shipped { file, text } in &SHIPPED {
        let manifest = Manifest::parse(file, text).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(format!("{}.yaml", manifest.name()), *file);
    }
}
