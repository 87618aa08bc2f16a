//! `subagent/profiles/*` and `subagent/settings/update` (AppServer protocol 05 §10.1).

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::sub_agent::SubAgentProfiles as _;
use bobbin_agent_api::{Features, Services};
use bobbin_config::Config;
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_offline::Offline;
use bobbin_profiles::{GROUPS, Profiles, ReadProfiles};
use bobbin_testkit::{Client, Link, TestWorkspace};
use bobbin_tools::ToolSet;
use bobbin_workspace::{StateDirectory, TrustFile};
use serde_json::{Value, json};

struct Server {
    _workspace: TestWorkspace,
    place: tempfile::TempDir,
    root: PathBuf,
    profiles: Arc<Profiles>,
    native: Arc<bobbin_native::Server>,
}

impl Server {
    /// Starts a server whose user's file and whose folder's file say this.
    async fn start(own: &Value, folder: &Value) -> Self {
        let workspace = TestWorkspace::default();
        let place = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        for (base, said) in [(place.path(), own), (root.as_path(), folder)] {
            if !said.is_null() {
                std::fs::create_dir_all(base.join(".craft")).unwrap();
                std::fs::write(base.join(".craft/config.json"), said.to_string()).unwrap();
            }
        }
        let trust = TrustFile::of(&StateDirectory::at(&place.path().join("state")), &root);
        let (folder, home) = (root.clone(), place.path().to_owned());
        let files: ReadProfiles = Box::new(move |record| {
            let config = Config::read(&folder, Some(&home), record)?;
            Ok((config.profiles, config.folder_items))
        });
        let (settings, _) = files(&trust.read()).unwrap();
        let search = Some("/usr/bin:/bin".into());
        let engine = AgentEngine::new(Arc::new(Offline), ToolSet::default());
        let threads = workspace.open_with(Arc::new(engine), |_| {}).await;
        let broadcasts = threads.broadcasts().clone();
        let profiles = Profiles::new(Some(place.path()), trust, search, (files, settings), broadcasts);
        let services = Services {
            others: Features::default().with(profiles.clone()),
            ..Services::default()
        };
        let groups = Groups::of(&[bobbin_native::GROUPS, GROUPS]);
        let native = Arc::new(bobbin_native::Server::new(threads, services, groups));
        Self {
            _workspace: workspace,
            place,
            root,
            profiles,
            native,
        }
    }

    async fn client(&self) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        // Ends with its client.
        tokio::spawn(bobbin_native::serve(
            transport,
            Endpoint::WebSocket {
                is_private: true,
                actor: bobbin_model::Actor::Owner,
            },
            self.native.clone(),
        ));
        let (reader, writer) = tokio::io::split(far);
        Client::ready(Link::lines(reader, writer), "test", json!({})).await
    }

    fn file(&self) -> Value {
        let text = std::fs::read_to_string(self.root.join(".craft/config.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn names(list: &Value) -> Vec<&str> {
    let profiles = list["profiles"].as_array().unwrap();
    profiles.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_profile_is_added_switched_and_removed_and_counts_at_once() {
    let server = Server::start(&Value::Null, &Value::Null).await;
    let mut client = server.client().await;
    let taster = json!({ "runtime": "cli-oneshot", "bin": "taste", "workingDirectoryMode": "workspace",
        "inputMode": "arg", "outputFormat": "text" });
    let mut expected = json!({ "name": "taster", "isBuiltIn": false, "isTemplate": false,
        "hasWorkspaceOverride": true, "isDefault": false, "enabled": true, "definition": taster,
        "diagnostic": { "enabled": true, "binaryResolved": false, "hiddenFromPrompt": true,
            "hiddenReason": "Binary 'taste' was not found.", "warnings": [] } });
    let upsert = json!({ "name": "taster", "definition": taster });
    let upserted = client.call("subagent/profiles/upsert", upsert.clone()).await;
    assert_eq!(upserted, json!({ "profile": expected }));
    let news = client.wait_for("workspace/configChanged").await;
    assert_eq!(news["params"]["regions"], json!(["subagent"]));
    assert_eq!(news["params"]["source"], "subagent/profiles/upsert");
    assert_eq!(server.file(), json!({ "SubAgentProfiles": { "taster": taster } }));
    assert_eq!(server.profiles.offered(), Vec::new());

    let sh = json!({ "name": "SH", "definition": { "Runtime": "cli-oneshot", "bin": "sh", "description": "A shell." } });
    client.call("subagent/profiles/upsert", sh).await;
    assert_eq!(
        server.profiles.offered(),
        [("SH".to_owned(), "A shell.".to_owned())]
    );
    let list = client.call("subagent/profiles/list", json!({})).await;
    assert_eq!(names(&list), ["native", "SH", "taster"]);
    assert_eq!(list["profiles"][2], expected);
    assert_eq!(list["defaultName"], "native");
    assert_eq!(
        list["settings"],
        json!({ "externalCliSessionResumeEnabled": false })
    );
    assert_eq!(
        list["profiles"][0],
        json!({ "name": "native", "isBuiltIn": true, "isTemplate": false, "hasWorkspaceOverride": false,
            "isDefault": true, "enabled": true, "definition": { "runtime": "native" },
            "builtInDefaults": { "runtime": "native" },
            "diagnostic": { "enabled": true, "binaryResolved": true, "hiddenFromPrompt": false, "warnings": [] } })
    );

    let off = json!({ "name": "Taster", "enabled": false });
    let switched = client.call("subagent/profiles/setEnabled", off).await;
    expected["enabled"] = json!(false);
    expected["diagnostic"]["enabled"] = json!(false);
    expected["diagnostic"]["hiddenReason"] = json!("It is disabled.");
    assert_eq!(switched, json!({ "profile": expected }));
    assert_eq!(
        server.file()["SubAgent"],
        json!({ "DisabledProfiles": ["taster"] })
    );
    for (name, enabled) in [("SH", false), ("SH", true)] {
        let switch = json!({ "name": name, "enabled": enabled });
        client.call("subagent/profiles/setEnabled", switch).await;
        assert_eq!(server.profiles.offered().is_empty(), !enabled);
    }
    for name in ["taster", "sh"] {
        let removed = client
            .call("subagent/profiles/remove", json!({ "name": name }))
            .await;
        assert_eq!(removed, json!({ "removed": true }));
    }
    assert_eq!(server.file(), json!({}));
    let error = client
        .error("subagent/profiles/remove", json!({ "name": "taster" }))
        .await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32083), &json!("SubAgent profile not found: taster"))
    );
}

#[tokio::test]
async fn the_settings_are_set_and_cleared() {
    let server = Server::start(&Value::Null, &json!({ "Z": 1 })).await;
    let mut client = server.client().await;
    let set = json!({ "model": "brew-small", "externalCliSessionResumeEnabled": true });
    let settings = client.call("subagent/settings/update", set).await;
    let expected = json!({ "externalCliSessionResumeEnabled": true, "model": "brew-small" });
    assert_eq!(settings, json!({ "settings": expected }));
    let news = client.wait_for("workspace/configChanged").await;
    assert_eq!(news["params"]["source"], "subagent/settings/update");
    let native = server.profiles.resolve(None).unwrap().unwrap();
    assert_eq!(
        (native.name.as_str(), native.model.as_deref()),
        ("native", Some("brew-small"))
    );
    let list = client.call("subagent/profiles/list", json!({})).await;
    assert_eq!(list["settings"], expected);
    let settings = client
        .call("subagent/settings/update", json!({ "model": " " }))
        .await;
    assert_eq!(
        settings["settings"],
        json!({ "externalCliSessionResumeEnabled": true })
    );
    let cleared = json!({ "model": null, "externalCliSessionResumeEnabled": null });
    let settings = client.call("subagent/settings/update", cleared).await;
    assert_eq!(
        settings["settings"],
        json!({ "externalCliSessionResumeEnabled": false })
    );
    assert_eq!(server.file(), json!({ "Z": 1 }));
    assert_eq!(server.profiles.resolve(None), Ok(None));
    let error = client.error("subagent/settings/update", json!({})).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_nothing_is_written() {
    let own = json!({ "SubAgent": { "DisabledProfiles": ["mine"] },
        "SubAgentProfiles": { "mine": { "runtime": "cli-oneshot", "bin": "sh" } } });
    let server = Server::start(&own, &Value::Null).await;
    let mut client = server.client().await;
    let cli = json!({ "runtime": "cli-oneshot", "bin": "sh" });
    for (method, params, code) in [
        (
            "upsert",
            json!({ "name": "x", "definition": { "runtime": "cli-oneshot" } }),
            -32084,
        ),
        (
            "upsert",
            json!({ "name": "x", "definition": { "runtime": "robot" } }),
            -32084,
        ),
        ("upsert", json!({ "name": "x y", "definition": cli }), -32084),
        ("upsert", json!({ "name": "Native", "definition": {} }), -32085),
        ("upsert", json!({ "name": "x" }), -32602),
        (
            "setEnabled",
            json!({ "name": "native", "enabled": false }),
            -32085,
        ),
        ("setEnabled", json!({ "name": "mine", "enabled": true }), -32085),
        ("setEnabled", json!({ "name": "x", "enabled": true }), -32083),
        ("remove", json!({ "name": "native" }), -32083),
        ("remove", json!({ "name": "mine" }), -32083),
    ] {
        let error = client
            .error(&format!("subagent/profiles/{method}"), params.clone())
            .await;
        assert_eq!(error["code"], code, "{params}: {error}");
        assert!(
            code != -32084 && code != -32085 || error["data"]["detail"].is_string(),
            "{error}"
        );
    }
    assert!(!server.root.join(".craft/config.json").exists());
    assert!(server.place.path().join(".craft/config.json").exists());
}

#[tokio::test]
async fn what_a_folder_brings_counts_when_its_user_says_so() {
    let crow = json!({ "runtime": "cli-oneshot", "bin": "sh", "args": ["-c", "echo caw"] });
    let folder = json!({ "SubAgentProfiles": { "crow": crow, "owl": crow },
        "SubAgent": { "Model": "theirs", "EnableExternalCliSessionResume": true } });
    let server = Server::start(&Value::Null, &folder).await;
    let mut client = server.client().await;
    assert_eq!(server.profiles.offered(), Vec::new());
    let why = server.profiles.resolve(Some("crow")).unwrap_err();
    assert!(why.contains("bobbin trust"), "{why}");
    assert_eq!(server.profiles.resolve(None), Ok(None));
    let list = client.call("subagent/profiles/list", json!({})).await;
    let reason = &list["profiles"][1]["diagnostic"]["hiddenReason"];
    assert!(reason.as_str().unwrap().contains("bobbin trust"), "{list}");
    assert_eq!(
        list["settings"],
        json!({ "externalCliSessionResumeEnabled": false })
    );
    // A client's word for one of them is trust in that one.
    let upsert = json!({ "name": "crow", "definition": crow });
    let upserted = client.call("subagent/profiles/upsert", upsert).await;
    assert_eq!(upserted["profile"]["diagnostic"]["hiddenFromPrompt"], false);
    client.wait_for("workspace/configChanged").await;
    let offered = server.profiles.offered();
    assert_eq!(
        offered.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["crow"]
    );
    assert_eq!(server.profiles.resolve(None), Ok(None));
    assert_eq!(server.file(), folder);
}
