//! Resident memory with nobody there, and what each idle connection adds.

use std::path::Path;
use std::time::Duration;

use crate::client::Client;
use crate::link::Link;
use crate::process::Process;
use crate::samples::number;
use crate::{Plan, Row, Target};

const NAME: &str = "idle";
/// How long a server is left alone before it is looked at.
const SETTLE: Duration = Duration::from_millis(300);

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (few, many) = (plan.count(100, 5), plan.count(1_000, 10));
    let workspace = plan.workspace()?;
    let (process, address) = plan.serve(workspace.path()).await?;
    let mut ours = vec![settled(&process).await?];
    let mut clients = Vec::new();
    for count in [few, many] {
        while clients.len() < count {
            clients.push(Client::connect(&address).await?);
        }
        ours.push(settled(&process).await?);
    }
    drop(clients);
    process.kill().await?;
    let bare = bare(plan, workspace.path(), [few, many]).await?;
    let mib = |bytes: usize| number(bytes) / number(1 << 20);
    let each = |memory: &[usize]| number(memory[2].saturating_sub(memory[0])) / number(many) / 1024.0;
    let mut rows: Vec<Row> = [0, few, many]
        .into_iter()
        .zip(ours.iter().zip(&bare))
        .map(|(count, (ours, bare))| {
            Row::new(NAME, format!("{count} connections"), "MiB", mib(*ours)).beside(mib(*bare))
        })
        .collect();
    rows[0] = rows[0].clone().wanted(Target::AtMost(25.0));
    rows.push(
        Row::new(NAME, "each connection", "KiB", each(&ours))
            .beside(each(&bare))
            .wanted(Target::AtMost(30.0)),
    );
    Ok(rows)
}

async fn bare(plan: &Plan, home: &Path, counts: [usize; 2]) -> anyhow::Result<Vec<usize>> {
    let (process, address) = plan.bare(home).await?;
    let mut memory = vec![settled(&process).await?];
    let mut links = Vec::new();
    for count in counts {
        while links.len() < count {
            let mut link = Link::web_socket(&address).await?;
            link.send("hello".to_owned()).await?;
            link.next().await?;
            links.push(link);
        }
        memory.push(settled(&process).await?);
    }
    process.kill().await?;
    Ok(memory)
}

async fn settled(process: &Process) -> anyhow::Result<usize> {
    tokio::time::sleep(SETTLE).await;
    process.memory()
}
