use super::*;

#[test]
fn every_shipped_manifest_can_be_read_and_is_named_like_its_file() {
    for (file, text) in MANIFESTS {
        let manifest = Manifest::parse(file, text).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(format!("{}.yaml", manifest.name()), *file);
    }
}

fn schema() -> serde_json::Value {
    schemars::schema_for!(Manifest).to_value()
}

/// Compares the schema file; rewrites it if `UPDATE_SCHEMA` is set.
#[test]
fn the_schema_in_the_project_is_that_of_the_language() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../connectors/manifest.schema.json");
    let text = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(file).unwrap() == text,
        "connectors/manifest.schema.json is out of date: `UPDATE_SCHEMA=1 cargo test -p gatehouse-connectors \
         the_schema_in_the_project` writes it anew"
    );
}

#[test]
fn every_shipped_manifest_is_valid_by_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (file, text) in MANIFESTS {
        let mut document: serde_json::Value = serde_saphyr::from_str(text).unwrap();
        let faults: Vec<_> = validator.iter_errors(&document).map(|it| it.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{file}");
        document["paging"]["sise"] = 1.into();
        assert!(!validator.is_valid(&document), "{file}: a field that isn't known");
    }
}

/// Every object rejects unknown fields, and everything has a description.
#[test]
fn the_schema_describes_every_field_and_rejects_unknown_ones() {
    let schema = schema();
    let mut silent = Vec::new();
    let definitions =
        schema["$defs"].as_object().unwrap().iter().map(|(name, it)| (name.as_str(), it));
    for (name, it) in definitions.chain([("manifest", &schema)]) {
        if let Some(fields) = it["properties"].as_object() {
            assert_eq!(it["additionalProperties"], false, "{name}");
            let without = fields.iter().filter(|(_, it)| it.get("description").is_none());
            silent.extend(without.map(|(field, _)| format!("{name}.{field}")));
        }
        if it.get("description").is_none() {
            silent.push(name.to_owned());
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

/// The documentation of the format.
const REFERENCE: &str = include_str!("../../../../docs/writing-a-connector.md");

/// Names of all fields and enum values of a schema.
fn names(schema: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    use serde_json::Value;
    match schema {
        Value::Object(members) => {
            if let Some(fields) = members.get("properties").and_then(Value::as_object) {
                found.extend(fields.keys().cloned());
            }
            let words = members.get("enum").and_then(Value::as_array).into_iter().flatten();
            let words = words.chain(members.get("const"));
            found.extend(words.filter_map(Value::as_str).map(str::to_owned));
            // A field may itself be called `properties`.
            let (fields, others): (Vec<_>, Vec<_>) =
                members.iter().partition(|(name, _)| *name == "properties");
            let fields = fields.iter().filter_map(|(_, it)| it.as_object()).flatten();
            fields.chain(others).for_each(|(_, it)| names(it, found));
        }
        Value::Array(members) => members.iter().for_each(|it| names(it, found)),
        _ => {}
    }
}

#[test]
fn the_reference_names_every_field_and_value() {
    let mut all = std::collections::BTreeSet::new();
    names(&schema(), &mut all);
    assert!(all.len() > 90 && all.contains("belongs_to") && all.contains("luhn_strip"), "{all:?}");
    let reference = REFERENCE.split_once("\n## Reference\n").unwrap().1;
    // Every second part is in backticks.
    let quoted: Vec<&str> = reference.split('`').skip(1).step_by(2).collect();
    let is_part = |it: char| !it.is_ascii_alphanumeric() && it != '_';
    let quoted: std::collections::BTreeSet<&str> =
        quoted.iter().flat_map(|it| it.split(is_part)).collect();
    let missing: Vec<&String> = all.iter().filter(|it| !quoted.contains(it.as_str())).collect();
    assert!(missing.is_empty(), "docs/writing-a-connector.md doesn't tell of {missing:?}");
}
