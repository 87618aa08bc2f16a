//! Tests of ideas for a first input.

use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_model::UnixMillis;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::*;
use bobbin_agent_api::model::{ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop};
use bobbin_offline::Offline;

fn request(titles: &[&str]) -> WelcomeRequest {
    let conversation = |title: &&str| Conversation {
        title: (*title).to_owned(),
        last_active_at: UnixMillis(7),
    };
    WelcomeRequest {
        conversations: titles.iter().map(conversation).collect(),
        max_items: 2,
    }
}

struct Muse(&'static str, AtomicUsize);

impl Model for Muse {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn respond<'a>(
        &'a self,
        _request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        async move {
            sink.event(ModelEvent::Text(self.0.to_owned())).await?;
            Ok(ModelReply {
                stop: Stop::Done,
                usage: None,
            })
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_model_is_asked_once_for_the_same_conversations() {
    let answer = r#"Sure: [{"title":"Check the valve","prompt":"Review valve.rs"},{"title":""},7,
        {"title":"B","prompt":"b","reason":"r"},{"title":"C","prompt":"c"}] Enjoy!"#;
    let muse = Muse(answer, AtomicUsize::new(0));
    let cache = SuggestionCache::default();
    let first = suggest(&muse, &cache, &request(&["a", "b"])).await.unwrap();
    let titles: Vec<_> = first.items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["Check the valve", "B"]);
    assert_eq!(
        suggest(&muse, &cache, &request(&["a", "b"])).await.as_ref(),
        Ok(&first)
    );
    assert_eq!(muse.1.load(Ordering::Relaxed), 1);
    let other = suggest(&muse, &cache, &request(&["c", "a", "b"])).await.unwrap();
    assert_ne!(other.fingerprint, first.fingerprint);
    for _ in 0..CACHED {
        let number = muse.1.load(Ordering::Relaxed).to_string();
        suggest(&muse, &cache, &request(&[&number, "a"])).await.unwrap();
    }
    assert_eq!(cache.0.lock().len(), CACHED);
}

#[tokio::test]
async fn without_history_there_are_no_ideas_and_nobody_is_asked() {
    let muse = Muse("[]", AtomicUsize::new(0));
    let none = suggest(&muse, &SuggestionCache::default(), &request(&["a"]))
        .await
        .unwrap();
    assert_eq!((none.items.len(), muse.1.load(Ordering::Relaxed)), (0, 0));
    let muse = Muse("I have no idea.", AtomicUsize::new(0));
    let none = suggest(&muse, &SuggestionCache::default(), &request(&["a", "b"]))
        .await
        .unwrap();
    assert_eq!(none.items, []);
}

#[tokio::test]
async fn the_offline_model_offers_what_was_asked_before() {
    let titles = [
        "run `make`",
        "a title that was cut...",
        "run `make`",
        "list files",
        "search x",
    ];
    let made = suggest(&Offline, &SuggestionCache::default(), &request(&titles))
        .await
        .unwrap();
    let made: Vec<_> = made
        .items
        .iter()
        .map(|item| (item.prompt.as_str(), item.reason.as_str()))
        .collect();
    let expected = [
        ("run `make`", "2 of your last conversations began so."),
        ("list files", "One of your last conversations began so."),
    ];
    assert_eq!(made, expected);
}
