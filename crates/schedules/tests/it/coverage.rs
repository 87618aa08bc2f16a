//! The capabilities that the server declares.

use bobbin_testkit::Client;
use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn the_groups_are_announced() {
    let server = Server::start().await;
    let mut client = Client::new(server.link());
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let result = client.call("initialize", info).await;
    for capability in ["cronManagement", "heartbeatManagement", "automations"] {
        assert_eq!(result["capabilities"][capability], true, "{capability}");
    }
}
