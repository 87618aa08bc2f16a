//! What the other attacks rely on: a server that works, run by a user without privileges, with and without bubblewrap.

use crate::lab::{Bubblewrap, Lab};

#[tokio::test]
async fn the_attacked_server_runs_commands_as_an_ordinary_user() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let output = lab
            .run(&[
                "exec",
                "--approve",
                "run `id -u && grep CapEff /proc/self/status && echo made > made`",
            ])
            .await;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert_eq!(
            std::fs::read_to_string(lab.work().join("made")).unwrap(),
            "made\n",
            "{text}"
        );
        assert!(!text.contains("\n0\n"), "{text}");
        assert!(text.contains("CapEff:\t0000000000000000\n"), "{text}");
    }
}

#[tokio::test]
async fn the_attacked_server_takes_a_client_of_its_user() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.write("notes.txt", "tea");
    let server = lab.serve().await;
    let mut client = server.client().await;
    client.start_thread().await;
    server.kill().await;
}
