//! The schemas of `proto-schema/`, to compare messages with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(super) struct Schemas {
    directory: PathBuf,
    index: Value,
    types: Value,
    known: BTreeMap<String, jsonschema::Validator>,
}

impl Schemas {
    pub(super) fn read() -> Self {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto-schema");
        Self {
            index: parse(&directory, "index.json"),
            types: parse(&directory, "types.json"),
            directory,
            known: BTreeMap::new(),
        }
    }

    /// Asserts that the params or the result of a message are what its schema says. `part` is `params` or `result`.
    pub(super) fn check(&mut self, direction: &str, method: &str, part: &str, value: &Value) {
        let rows = self.index[direction].as_array().unwrap();
        let row = rows.iter().find(|row| row["method"] == method);
        let row = row.unwrap_or_else(|| panic!("{method} is not among the {direction} of the schema"));
        let file = row[part].as_str().unwrap();
        if !self.known.contains_key(file) {
            let mut schema = parse(&self.directory, file);
            here(&mut schema);
            schema["$defs"] = self.types["$defs"].clone();
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            self.known.insert(file.to_owned(), validator);
        }
        let errors: Vec<_> = self.known[file]
            .iter_errors(value)
            .map(|error| error.to_string())
            .collect();
        assert!(
            errors.is_empty(),
            "{method}: its {part} are not as {file} says: {errors:?}\n{value:#}"
        );
    }
}

fn parse(directory: &Path, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(directory.join(file)).unwrap()).unwrap()
}

/// Makes references to `types.json` references within the schema itself.
fn here(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(target) if name == "$ref" => {
                        *target = target.replace("../types.json#", "#");
                    }
                    _ => here(value),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(here),
        _ => {}
    }
}
