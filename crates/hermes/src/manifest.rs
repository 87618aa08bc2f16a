//! The manifest: an extension's answer to `initialize`. Pure.
//!
//! Only the name is required. An invalid part is left out with a warning.

use bobbin_hl7::{Format, Overrides};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::icon;

/// Most commands, and most buttons, of an extension.
const MAX_OFFERED: usize = 200;
/// Longest name, label or id, in bytes.
const MAX_TEXT: usize = 200;
/// Prefixes of commands that no extension may have.
const RESERVED: [&str; 2] = ["hermes/", "extension/"];

/// Name, version, commands, events, buttons and schema of an extension.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The commands of its capabilities and of its buttons.
    commands: Vec<String>,
    pub(crate) changed: Option<Changed>,
    pub(crate) opened: bool,
    pub(crate) saved: bool,
    pub(crate) buttons: Vec<Button>,
    pub(crate) overrides: Overrides,
}

/// An extension's subscription to `message/changed`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Format of the text, if the extension wants the text.
    pub(crate) content: Option<Format>,
}

/// A button of a toolbar.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Button {
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// SVG without external references.
    pub icon: String,
    /// The command that it runs.
    pub command: String,
    /// Buttons of one group are shown together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl Manifest {
    /// Reads the answer. Also returns warnings for the extension's log.
    ///
    /// # Errors
    /// The answer is unusable; the text continues "its answer to initialize".
    pub(crate) fn read(result: &Value) -> Result<(Self, Vec<String>), &'static str> {
        let mut warnings = Vec::new();
        let members = result.as_object().ok_or("is no object")?;
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(cut);
        let name = text("name").filter(|name| !name.trim().is_empty());
        let name = name.ok_or("has no name")?;
        let version = text("version").filter(|version| !version.is_empty());
        let version = version.unwrap_or_else(|| {
            warnings.push("it has no version".to_owned());
            "0.0.0".to_owned()
        });
        let mut manifest = Self {
            name,
            version,
            ..Self::default()
        };
        let capabilities = &result["capabilities"];
        manifest.read_commands(capabilities, &mut warnings);
        for event in list(&capabilities["events"]) {
            manifest.read_event(event, &mut warnings);
        }
        for (at, button) in list(&result["toolbarButtons"]).iter().enumerate() {
            manifest.read_button(at, button, &mut warnings);
        }
        if let Some(schema) = members.get("schema").filter(|schema| !schema.is_null()) {
            let (overrides, more) = Overrides::from_json(schema);
            manifest.overrides = overrides;
            warnings.extend(more);
        }
        Ok((manifest, warnings))
    }

    /// Returns whether it has a command.
    pub(crate) fn has(&self, command: &str) -> bool {
        self.commands.iter().any(|own| own == command)
    }

    /// Returns its commands.
    pub(crate) fn commands(&self) -> &[String] {
        &self.commands
    }

    fn read_commands(&mut self, capabilities: &Value, warnings: &mut Vec<String>) {
        for command in list(&capabilities["commands"]) {
            match command.as_str() {
                Some(command) => self.add_command(command, warnings),
                None => warnings.push("a command that is no text is left out".to_owned()),
            }
        }
    }

    fn add_command(&mut self, command: &str, warnings: &mut Vec<String>) {
        if RESERVED.iter().any(|reserved| command.starts_with(reserved)) {
            warnings.push(format!(
                "the command {:?} is left out: its beginning is reserved",
                cut(command)
            ));
        } else if command.is_empty() || command.len() > MAX_TEXT || self.commands.len() == MAX_OFFERED {
            warnings.push(format!("the command {:?} is left out", cut(command)));
        } else if !self.has(command) {
            self.commands.push(command.to_owned());
        }
    }

    fn read_event(&mut self, event: &Value, warnings: &mut Vec<String>) {
        let options = &event["options"];
        match event["name"].as_str() {
            Some("message/changed") => {
                let named = options["format"].as_str().unwrap_or("hl7");
                let format = named.parse().unwrap_or_else(|_| {
                    warnings.push("the format of message/changed is not known: hl7 is used".to_owned());
                    Format::Hl7
                });
                let wanted = options["includeContent"] == Value::Bool(true);
                self.changed = Some(Changed {
                    content: wanted.then_some(format),
                });
            }
            Some("message/opened") => self.opened = true,
            Some("message/saved") => self.saved = true,
            name => warnings.push(format!(
                "the event {:?} is not known",
                cut(name.unwrap_or_default())
            )),
        }
    }

    fn read_button(&mut self, at: usize, button: &Value, warnings: &mut Vec<String>) {
        let read = Button::deserialize(button).ok();
        let read = read.filter(|button| {
            let texts = [&button.id, &button.label, &button.command];
            let group = button.group.as_ref().is_none_or(|group| group.len() <= MAX_TEXT);
            group
                && texts
                    .iter()
                    .all(|text| !text.is_empty() && text.len() <= MAX_TEXT)
        });
        let Some(mut button) = read.filter(|_| self.buttons.len() < MAX_OFFERED) else {
            warnings.push(format!(
                "button {at} is left out: it needs id, label, icon and command"
            ));
            return;
        };
        button.icon = icon::clean(&button.icon).unwrap_or_else(|| {
            warnings.push(format!("the icon of button {at} is left out: it is no SVG"));
            String::new()
        });
        self.add_command(&button.command, warnings);
        if self.has(&button.command) {
            self.buttons.push(button);
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn behaviour_08_what_cannot_be_used_costs_a_warning() {
        let button = json!({ "id": "a", "label": "A", "icon": "<svg></svg>", "command": "tea/pour" });
        let (manifest, warnings) = Manifest::read(&json!({
            "name": "tea", "version": "2", "shoe": 42, "authors": [1],
            "capabilities": {
                "commands": ["tea/boil", 1, "hermes/no", "tea/boil"],
                "events": [{ "name": "message/melted" }, { "name": "message/opened" }, 7],
                "more": {},
            },
            "toolbarButtons": [{ "id": "b" }, button, "no"],
        }))
        .unwrap();
        assert_eq!(manifest.commands(), ["tea/boil", "tea/pour"]);
        assert_eq!(
            (manifest.buttons.len(), manifest.opened, manifest.saved),
            (1, true, false)
        );
        assert_eq!(warnings.len(), 6, "{warnings:?}");
    }

    #[test]
    fn behaviour_07_a_name_is_required() {
        for result in [
            json!(null),
            json!([]),
            json!({}),
            json!({ "name": " " }),
            json!({ "name": 1 }),
        ] {
            assert!(Manifest::read(&result).is_err(), "{result}");
        }
        let (manifest, warnings) = Manifest::read(&json!({ "name": "a" })).unwrap();
        assert_eq!((manifest.version.as_str(), warnings.len()), ("0.0.0", 1));
    }

    #[test]
    fn events_say_what_they_carry() {
        let read = |options: Value| {
            let events = json!([{ "name": "message/changed", "options": options }]);
            let result = json!({ "name": "a", "version": "1", "capabilities": { "events": events } });
            Manifest::read(&result).unwrap().0.changed.unwrap().content
        };
        assert_eq!(read(json!(null)), None);
        assert_eq!(read(json!({ "format": "json" })), None);
        assert_eq!(read(json!({ "includeContent": true })), Some(Format::Hl7));
        assert_eq!(
            read(json!({ "includeContent": true, "format": "yaml" })),
            Some(Format::Yaml)
        );
        assert_eq!(
            read(json!({ "includeContent": true, "format": "xml" })),
            Some(Format::Hl7)
        );
    }
}
