//! Commands of users.

use bobbin_hermes::{CommandError, ExtensionState};
use serde_json::json;

use crate::support::{World, with_commands};

#[tokio::test]
async fn behaviour_27_a_command_is_a_notification() {
    let mut world = World::new();
    let (_, mut fake) = world.run(with_commands(&["tea/boil"])).await;
    world.host.execute("tea/boil", None, None).await.unwrap();
    let params = json!({ "command": "tea/boil" });
    let expected = json!({ "jsonrpc": "2.0", "method": "command/execute", "params": params });
    assert_eq!(fake.receive().await, expected);
}

#[tokio::test]
async fn behaviour_28_a_command_is_found_by_capability_and_by_button() {
    let mut world = World::new();
    let button =
        json!({ "id": "b", "label": "Pour", "icon": "<svg></svg>", "command": "tea/pour", "group": "tea" });
    let mut about = with_commands(&["tea/boil"]);
    about["toolbarButtons"] = json!([button]);
    let (id, mut fake) = world.run(about).await;
    for command in ["tea/pour", "tea/boil"] {
        world.host.execute(command, None, None).await.unwrap();
        assert_eq!(fake.receive().await["params"]["command"], command);
    }
    assert_eq!(
        json!(world.host.toolbar()),
        json!([{ "extensionId": id, "button": button }])
    );
}

#[tokio::test]
async fn behaviour_29_an_unknown_command_is_refused() {
    let mut world = World::new();
    let (id, mut fake) = world.run(with_commands(&["tea/boil"])).await;
    let unknown = CommandError::NotFound("tea/drink".to_owned());
    assert_eq!(world.host.execute("tea/drink", None, None).await, Err(unknown));
    fake.exit(0).await;
    world.reaches(&id, ExtensionState::Failed).await;
    let gone = CommandError::NotFound("tea/boil".to_owned());
    assert_eq!(world.host.execute("tea/boil", None, None).await, Err(gone));
}

#[tokio::test]
async fn behaviour_30_the_first_extension_of_the_list_gets_the_command() {
    let mut world = World::new();
    let ((one, first), (two, second)) = (world.fake("one"), world.fake("two"));
    let ids = world.load(&[one, two]);
    // The second extension is ready first.
    let mut second = second.started().await;
    second.greet(with_commands(&["tea/boil"])).await;
    world.reaches(&ids[1], ExtensionState::Running).await;
    let mut first = first.started().await;
    first.greet(with_commands(&["tea/boil"])).await;
    world.reaches(&ids[0], ExtensionState::Running).await;
    world.host.execute("tea/boil", None, None).await.unwrap();
    first.receive_method("command/execute").await;
}

#[tokio::test]
async fn behaviour_31_commands_keep_their_order_and_none_is_lost() {
    let mut world = World::new();
    let commands: Vec<String> = (0..100).map(|number| format!("tea/{number}")).collect();
    let names: Vec<&str> = commands.iter().map(String::as_str).collect();
    let (_, mut fake) = world.run(with_commands(&names)).await;
    let sent = commands
        .iter()
        .map(|command| world.host.execute(command, None, None));
    let sent = futures_util::future::join_all(sent).await;
    assert!(sent.iter().all(Result::is_ok));
    for command in &commands {
        assert_eq!(fake.receive().await["params"]["command"], *command);
    }
}
