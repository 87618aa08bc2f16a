//! One Turn of many pieces at full speed to the client that started it.

use std::time::Duration;

use anyhow::ensure;

use super::fan_out::{Fan, bare, ours};
use crate::provider::Stream;
use crate::samples::{millis, rate};
use crate::{Plan, Row, Target};

const NAME: &str = "deltas";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let stream = Stream {
        count: plan.count(20_000, 200),
        gap: Duration::ZERO,
        bytes: 32,
    };
    let ours = ours(plan, 1, stream).await?;
    let bare = bare(plan, 1, stream).await?;
    ensure!(
        ours.watched.delivered == stream.count,
        "{} pieces came",
        ours.watched.delivered
    );
    let per_second = |fan: &Fan| rate(stream.count, fan.took());
    let processor = |fan: &Fan| fan.per_delivery();
    Ok(vec![
        Row::new(NAME, format!("{} pieces", stream.count), "/s", per_second(&ours))
            .beside(per_second(&bare))
            .wanted(Target::AtLeast(100_000.0)),
        Row::new(NAME, "server CPU a piece", "µs", processor(&ours)).beside(processor(&bare)),
        Row::new(NAME, "last piece after the request", "ms", millis(ours.took())).beside(millis(bare.took())),
    ])
}
