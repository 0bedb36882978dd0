//! The labels of an access, and the keys that a tenant filters by.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_core::ids::{LABEL_KEY_CHARS_MAX, LABEL_VALUE_BYTES_MAX};
use gatehouse_core::label::{FILTERABLE_KEYS_MAX, LABELS_MAX, LabelPatch, Labels, TooManyLabels};
use gatehouse_core::{LabelKey, LabelValue};
use serde_json::{Value, json};

use crate::reader::{Fault, Field, Json, Reader, Shape, list, object, shortened, text};

pub(crate) const LABELS: Field<Shape> = Field::new(
    "labels",
    Shape(|| labels(json!("string"), LABELS_MAX)),
    "An extension: keys and values of the operator's own; left out if there are none. A value has 1 to 128 bytes of \
     UTF-8, without NUL.",
)
.example_of(|| json!({"site": "hamburg"}));

pub(crate) const LABEL_PATCH: Field<Shape> = Field::new(
    "labels",
    Shape(|| labels(json!(["string", "null"]), PATCH_ENTRIES_MAX)),
    "An extension: labels to set; `null` removes one, and labels that are not named stay",
);

pub(crate) const LABEL_KEYS: Field<Shape> = Field::new(
    "labelKeys",
    Shape(|| {
        json!({
            "type": "array", "maxItems": FILTERABLE_KEYS_MAX,
            "items": {"type": "string", "pattern": key_pattern()},
        })
    }),
    "An extension: the keys of labels that lists can be filtered by, as `label.KEY`",
);

fn key_pattern() -> String {
    format!("^[a-z0-9._-]{{1,{LABEL_KEY_CHARS_MAX}}}$")
}

fn labels(value_type: Value, n_max: usize) -> Value {
    json!({
        "type": "object", "maxProperties": n_max, "propertyNames": {"pattern": key_pattern()},
        "additionalProperties": {
            "type": value_type, "minLength": 1, "maxLength": LABEL_VALUE_BYTES_MAX, "pattern": r"^[^\u0000]+$",
        },
    })
}

/// Faults of labels, with the path in the object that has them.
#[derive(Debug, Default)]
pub(crate) struct LabelFaults {
    /// Values that are no strings, and repeated keys: the body is ill-formed.
    pub(crate) ill_formed: Vec<Fault>,
    /// Keys and values that no label can have, or too many of them.
    pub(crate) out_of_bounds: Vec<Fault>,
}

impl LabelFaults {
    /// Adds all faults to those of a body.
    fn report(self, body: &mut Reader<'_>) {
        for Fault { name, reason } in self.ill_formed.into_iter().chain(self.out_of_bounds) {
            body.fault(&name, reason);
        }
    }
}

/// Most entries of a change: all labels of an access can be removed, and as many set.
const PATCH_ENTRIES_MAX: usize = 2 * LABELS_MAX;

/// Takes the labels of a new access; `None` where the body has none, or faulty ones.
pub(crate) fn optional_labels(body: &mut Reader<'_>) -> Option<Labels> {
    let mut faults = LabelFaults::default();
    let labels = body.optional_by(LABELS, |json| read_labels(json, &mut faults));
    faults.report(body);
    labels
}

/// Takes a change of labels; `None` where the body has none, or a faulty one.
pub(crate) fn optional_patch(body: &mut Reader<'_>) -> Option<LabelPatch> {
    let mut faults = LabelFaults::default();
    let patch = body.optional_by(LABEL_PATCH, |json| read_patch(json, &mut faults));
    faults.report(body);
    patch
}

/// Reads the labels of a new access, in which `null` is absent.
pub(crate) fn read_labels(json: Json, faults: &mut LabelFaults) -> Result<Labels, String> {
    let LabelPatch(labels) = read_patch(json, faults)?;
    let labels: BTreeMap<LabelKey, LabelValue> =
        labels.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    // Too many of them are a fault already.
    Ok(Labels::new(&labels).unwrap_or_default())
}

/// Reads a change of labels, in which `null` removes one.
fn read_patch(json: Json, faults: &mut LabelFaults) -> Result<LabelPatch, String> {
    let Json::Object(given) = object(json)? else { return Ok(LabelPatch::default()) };
    let n_given = given.len();
    let mut names = BTreeSet::new();
    let mut patch = BTreeMap::new();
    for (key, value) in given {
        let path = format!("{}.{}", LABELS.name, shortened(&key));
        let value = match value {
            Json::Null => None,
            Json::Text(value) => Some(value),
            other => {
                let reason = text(other).expect_err("only a text is one");
                faults.ill_formed.push(Fault { name: path, reason });
                continue;
            }
        };
        if !names.insert(key.clone()) {
            faults.ill_formed.push(Fault { name: path, reason: "is there more than once".into() });
            continue;
        }
        let mut out_of_bounds =
            |reason: String| faults.out_of_bounds.push(Fault { name: path.clone(), reason });
        let key: Result<LabelKey, _> = key.parse();
        let value: Result<Option<LabelValue>, _> = value.map(|it| it.parse()).transpose();
        if let Err(bad) = &key {
            out_of_bounds(format!("has a key that {bad}"));
        }
        if let Err(bad) = &value {
            out_of_bounds(bad.to_string());
        }
        if let (Ok(key), Ok(value)) = (key, value) {
            patch.insert(key, value);
        }
    }
    let n_set = patch.values().flatten().count();
    if n_set > LABELS_MAX {
        faults.out_of_bounds.push(too_many_labels(TooManyLabels(n_set)));
    } else if n_given > PATCH_ENTRIES_MAX {
        // More fields than these may not have been kept.
        let reason = format!("must hold at most {PATCH_ENTRIES_MAX} labels and `null`s together");
        faults.out_of_bounds.push(Fault { name: LABELS.name.into(), reason });
    }
    Ok(LabelPatch(patch))
}

fn too_many_labels(too_many: TooManyLabels) -> Fault {
    Fault { name: LABELS.name.into(), reason: too_many.to_string() }
}

/// Takes the keys that a tenant filters by.
pub(crate) fn optional_keys(body: &mut Reader<'_>) -> BTreeSet<LabelKey> {
    let mut faults = Vec::new();
    let keys = body.optional_by(LABEL_KEYS, |json| {
        let mut keys = BTreeSet::new();
        let given = list(json)?;
        if given.len() > FILTERABLE_KEYS_MAX {
            let n = given.len();
            return Err(format!("must have at most {FILTERABLE_KEYS_MAX} elements, not {n}"));
        }
        for (n, key) in given.into_iter().enumerate() {
            let key = text(key).and_then(|it| {
                it.parse::<LabelKey>().map_err(|bad| format!("{bad}, not `{}`", shortened(&it)))
            });
            match key {
                Ok(key) => drop(keys.insert(key)),
                Err(reason) => faults.push((format!("{}[{n}]", LABEL_KEYS.name), reason)),
            }
        }
        Ok(keys)
    });
    for (name, reason) in faults {
        body.fault(&name, reason);
    }
    keys.unwrap_or_default()
}
