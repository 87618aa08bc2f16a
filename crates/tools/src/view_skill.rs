//! `SkillView`: returns the text of a skill that the agent's instructions list.
//!
//! Offered if there are skills, and returns only listed ones: skills that users disabled stay unread. It changes
//! nothing, so plan mode has it too.

use std::sync::Arc;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::Json;
use bobbin_prompts::Prompts;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, failed, spec};

/// Name of the tool.
pub(super) const SKILL_VIEW: &str = "SkillView";

/// The tool.
#[derive(Debug)]
pub struct ViewSkill {
    spec: ToolSpec,
    prompts: Arc<Prompts>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    name: String,
}

impl ViewSkill {
    /// Returns the tool for these prompts.
    pub fn new(prompts: Arc<Prompts>) -> Self {
        let properties = serde_json::json!({
            "name": { "type": "string", "description": "A name from the list of skills" },
        });
        let description = "Returns what a skill says. Use it before you do what the skill is for.";
        Self {
            spec: spec(SKILL_VIEW, Effect::Reads, description, &["name"], &properties),
            prompts,
        }
    }
}

impl Tool for ViewSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        _environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let Arguments { name } = decode(arguments)?;
        Ok(Box::new(Prepared {
            name,
            prompts: self.prompts.clone(),
        }))
    }
}

struct Prepared {
    name: String,
    prompts: Arc<Prompts>,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let reading = tokio::task::spawn_blocking(move || view(&self.prompts, &self.name));
            reading.await.unwrap_or_else(|error| {
                tracing::error!(%error, "reading a skill ended badly");
                failed("The skill cannot be read.")
            })
        }
        .boxed()
    }
}

fn view(prompts: &Prompts, name: &str) -> ToolOutput {
    let text = prompts.skill(name).and_then(|skill| {
        let text = prompts.skill_text(name)?;
        Ok((skill, text))
    });
    match text {
        Ok((skill, _)) if !skill.enabled => failed(format!("The skill '{name}' is switched off.")),
        Ok((skill, text)) => {
            let place = skill.path.parent().unwrap_or(&skill.path).display().to_string();
            done(format!(
                "{}\n\n[files of this skill are in {place}]",
                text.body.trim_end()
            ))
        }
        Err(error) => failed(format!("{error}.")),
    }
}

#[cfg(test)]
mod tests {
    use bobbin_prompts::Machine;

    use super::*;

    #[test]
    fn a_skill_is_given_unless_it_is_switched_off() {
        let dir = tempfile::tempdir().unwrap();
        let skill = dir.path().join(".craft/skills/descale");
        std::fs::create_dir_all(&skill).unwrap();
        std::fs::write(skill.join("SKILL.md"), "---\ndescription: a\n---\nUse vinegar.\n").unwrap();
        let prompts = Prompts::new(dir.path().to_owned(), None, Machine::default());
        let output = view(&prompts, "descale");
        let place = skill.display();
        assert_eq!(
            output.text,
            format!("Use vinegar.\n\n[files of this skill are in {place}]")
        );
        assert!(output.success);
        prompts.enable_skill("descale", false).unwrap();
        for (name, said) in [
            ("descale", "switched off"),
            ("pour", "no skill 'pour'"),
            ("../x", "no name"),
        ] {
            let output = view(&prompts, name);
            assert!(!output.success && output.text.contains(said), "{output:?}");
        }
    }
}
