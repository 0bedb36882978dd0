use super::*;

#[test]
fn every_shipped_manifest_can_be_read_and_is_named_like_its_file() {
    for Shipped { file, text } in &SHIPPED {
        let manifest = Manifest::parse(file, text).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(format!("{}.yaml", manifest.name()), *file);
    }
}

/// The schema that editors use, as it is in the project.
const SCHEMA: &str = include_str!("../../../../connectors/manifest.schema.json");

#[test]
fn the_schema_in_the_project_is_that_of_the_language() {
    assert!(
        SCHEMA == Manifest::schema_text(),
        "connectors/manifest.schema.json is out of date: `cargo run -q -- connector schema > \
         connectors/manifest.schema.json`"
    );
}

#[test]
fn every_shipped_manifest_is_right_by_the_schema() {
    let validator = jsonschema::validator_for(&Manifest::schema()).unwrap();
    for Shipped { file, text } in &SHIPPED {
        let mut document: serde_json::Value = serde_saphyr::from_str(text).unwrap();
        let faults: Vec<_> = validator.iter_errors(&document).map(|it| it.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{file}");
        document["paging"]["sise"] = 1.into();
        assert!(!validator.is_valid(&document), "{file}: a field that isn't known");
    }
}

/// Whether every object of a schema refuses what it doesn't know, and everything has a description.
#[test]
fn an_editor_can_explain_every_field_and_sees_every_slip() {
    let schema = Manifest::schema();
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
