//! Partial results and progress: in order, once, before the run returns.

use bobbin_finecode::{Progress, RunEvent, Status};
use serde_json::json;

use crate::support::{ALL, Workspace, action, collector, request, trail};

/// Returns events as short texts.
fn shown(events: &[RunEvent]) -> Vec<String> {
    let one = |event: &RunEvent| match event {
        RunEvent::Partial { json, .. } => json.as_ref().unwrap().get().to_owned(),
        RunEvent::Progress(Progress::Begin { title, total, .. }) => format!("begin {title} {total:?}"),
        RunEvent::Progress(Progress::Report { message, percentage }) => {
            format!("{} {}", message.as_deref().unwrap_or("-"), percentage.unwrap())
        }
        RunEvent::Progress(Progress::End { .. }) => "end".to_owned(),
    };
    events.iter().map(one).collect()
}

fn partial(word: &str) -> String {
    format!(r#"{{"counts":{{"{word}":1}},"trail":["stream"],"bad":false}}"#)
}

#[tokio::test]
async fn row_06_partial_results_come_in_order_once_and_before_the_run_returns() {
    let actions = json!({
        "stream": action("lab.Tally", &["s/tools/lab.Stream"]),
        "whole": action("lab.Other", &["a/tools/lab.Count"]),
        "mixed": action("lab.Third", &["a/tools/lab.Count", "s/tools/lab.Stream"]),
    });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let mut asked = request("stream", &json!({ "words": ["p", "q"] }));
        asked.partial_results = true;
        let (sink, seen) = collector();
        let outcome = workspace.run_with(&asked, Some(sink)).await.unwrap();
        assert_eq!(outcome.status, Status::Streamed, "{speech:?}");
        let expected = [
            "begin tallying Some(2.0)".to_owned(),
            "p 50".to_owned(),
            partial("p"),
            "q 100".to_owned(),
            partial("q"),
            "end".to_owned(),
        ];
        assert_eq!(shown(&seen.lock()), expected, "{speech:?}");

        // A run that does not stream gives its result once.
        asked.action = "whole".to_owned();
        let (sink, seen) = collector();
        let outcome = workspace.run_with(&asked, Some(sink)).await.unwrap();
        assert_eq!(shown(&seen.lock()), [outcome.json.unwrap().get()]);

        // What was returned before streaming began is part of the stream.
        asked.action = "mixed".to_owned();
        let (sink, seen) = collector();
        workspace.run_with(&asked, Some(sink)).await.unwrap();
        let counted = r#"{"counts":{"p":1,"q":1},"trail":["count"],"bad":false}"#;
        let partials: Vec<_> = shown(&seen.lock())
            .into_iter()
            .filter(|text| text.starts_with('{'))
            .collect();
        assert_eq!(partials, [counted.to_owned(), partial("p"), partial("q")]);

        // Without a sink that asks for them, nothing is streamed and the result is whole.
        let outcome = workspace
            .run("stream", json!({ "words": ["p", "q"] }))
            .await
            .unwrap();
        assert_eq!(
            (outcome.status, trail(&outcome)),
            (Status::Success, vec!["stream".to_owned(); 2])
        );
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_07_two_runners_with_the_same_tokens_and_progress_never_mix() {
    let actions = json!({
        "left": action("lab.Tally", &["s/tools/lab.Stream"]),
        "right": action("lab.Tally2", &["s/docs/lab.Stream"]),
        "fan": action("lab.Fan", &["s/tools/lab.Stream", "t/docs/lab.Stream"]),
        "back": action("lab.Other", &["b/tools/lab.Back"]),
    });
    let mut actions = actions;
    actions["right"]["source"] = json!("lab.Third");
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let ask = |action: &str, word: &str| {
            let mut asked = request(action, &json!({ "words": [word, word] }));
            asked.partial_results = true;
            asked
        };
        let ((left, lefts), (right, rights)) = (collector(), collector());
        let (one, two) = (ask("left", "l"), ask("right", "r"));
        let (one, two) = tokio::join!(
            workspace.run_with(&one, Some(left)),
            workspace.run_with(&two, Some(right))
        );
        one.unwrap();
        two.unwrap();
        for (seen, word) in [(lefts, "l"), (rights, "r")] {
            let events = shown(&seen.lock());
            assert_eq!(events.len(), 6, "{events:?}");
            assert_eq!((&events[2], &events[4]), (&partial(word), &partial(word)));
        }
        // Two groups of one run: one begin, one end, and every part once.
        let (sink, seen) = collector();
        let outcome = workspace.run_with(&ask("fan", "f"), Some(sink)).await.unwrap();
        assert_eq!((outcome.status, trail(&outcome).len()), (Status::Streamed, 4));
        let events = shown(&seen.lock());
        let count = |text: &str| events.iter().filter(|event| event.starts_with(text)).count();
        assert_eq!(
            (count("begin"), count("end"), count("{")),
            (1, 1, 4),
            "{events:?}"
        );
        assert!(events[0].starts_with("begin") && events.last().unwrap() == "end");
        workspace.end().await;
    }
}

#[tokio::test]
async fn segments_that_stream_pass_their_result_on() {
    let actions = json!({ "chain": action("lab.Tally", &["s/tools/lab.Stream", "p/docs/lab.Peek"]) });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let mut asked = request("chain", &json!({ "words": ["p", "q"] }));
        asked.partial_results = true;
        let (sink, seen) = collector();
        let outcome = workspace.run_with(&asked, Some(sink)).await.unwrap();
        assert_eq!(trail(&outcome), ["stream", "stream", "peek:2"]);
        assert_eq!(shown(&seen.lock()), [partial("p"), partial("q")]);
        workspace.end().await;
    }
}
