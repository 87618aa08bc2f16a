//! Each scenario in its short form, against the server beside the driver: the driver works and everything it counts
//! is there. No figure is looked at. A build of the workspace's tests has made that server.

#[cfg(test)]
mod quick {
    use std::path::PathBuf;

    use bobbin_bench::{Extent, Plan, Report, names, run};

    fn plan(only: &str) -> (Plan, tempfile::TempDir) {
        let scratch = tempfile::tempdir().unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_bobbin-bench"));
        let server = program.with_file_name("bobbin");
        assert!(
            server.exists(),
            "build the server first: cargo build -p bobbin-cli"
        );
        let plan = Plan {
            server,
            driver: program,
            extent: Extent::Quick,
            only: Some(only.to_owned()),
            scratch: scratch.path().to_owned(),
        };
        (plan, scratch)
    }

    async fn report(name: &str) -> Report {
        let (plan, scratch) = plan(name);
        let report = run(&plan, |_| {}).await.unwrap();
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().collect();
        assert!(left.is_empty(), "{name} leaves {left:?}");
        report
    }

    #[tokio::test]
    async fn every_scenario_does_what_it_counts_and_reports_figures() {
        for (name, _) in names() {
            let report = report(name).await;
            assert!(!report.rows.is_empty(), "{name} measured nothing");
            for row in &report.rows {
                assert_eq!(row.scenario, name);
                assert!(row.value.is_finite() && row.value >= 0.0, "{row:?}");
                assert!(row.bare.is_none_or(f64::is_finite), "{row:?}");
                assert_eq!(row.target.is_some(), row.met.is_some(), "{row:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_flood_is_answered_whole() {
        let report = report("flood").await;
        let refused = report
            .rows
            .iter()
            .find(|row| row.measure.contains("not admitted"))
            .unwrap();
        assert!(refused.value <= 500.0, "{refused:?}");
    }

    #[tokio::test]
    async fn a_scenario_that_fails_is_reported_with_its_reason() {
        let (mut plan, _scratch) = plan("thread-start");
        plan.server = "/no/such/program".into();
        let mut told = Vec::new();
        let report = run(&plan, |progress| told.push(format!("{progress:?}")))
            .await
            .unwrap();
        assert!(report.rows.is_empty());
        assert_eq!(report.failed[0].scenario, "thread-start");
        assert!(
            report.failed[0].reason.contains("cannot start"),
            "{:?}",
            report.failed
        );
        assert!(
            told[0].starts_with("Begins") && told[1].starts_with("Failed"),
            "{told:?}"
        );
    }

    #[tokio::test]
    async fn an_unknown_scenario_is_told_with_those_there_are() {
        let (plan, _scratch) = plan("none");
        let error = run(&plan, |_| {}).await.unwrap_err().to_string();
        assert!(error.contains("cold-start") && error.contains("none"), "{error}");
    }
}
