//! A reply's body as events, within limits: silence, time, bytes of one event, bytes of the body.
//!
//! The parser has no limits, so the body is counted before the parser gets it.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use sse_stream::SseByteStream;
use tokio::time::Instant;

use crate::http::Body;
use crate::{Limits, ProviderError};

/// Longest time limit: a clock's sum must not overflow.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// The events of one reply.
pub(crate) struct Events {
    stream: SseByteStream<BoxStream<'static, Result<Bytes, ProviderError>>>,
    name: String,
}

impl Events {
    /// Reads a body's events. `name` is the user's name for the model.
    pub(crate) fn new(body: Body, name: &str, limits: &Limits) -> Self {
        Self {
            stream: SseByteStream::new(bounded(body, name.to_owned(), *limits).boxed()),
            name: name.to_owned(),
        }
    }

    /// Returns the next event's data; `None` at the end of the body.
    ///
    /// # Errors
    /// Silence, a limit, a broken connection, bytes that are not UTF-8.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ProviderError> {
        loop {
            match self.stream.next().await {
                None => return Ok(None),
                Some(Ok(event)) => match event.data {
                    Some(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
                Some(Err(sse_stream::Error::Body(error))) => {
                    return Err(match error.downcast::<ProviderError>() {
                        Ok(error) => *error,
                        Err(error) => self.malformed(&error.to_string()),
                    });
                }
                Some(Err(error)) => return Err(self.malformed(&error.to_string())),
            }
        }
    }

    fn malformed(&self, why: &str) -> ProviderError {
        ProviderError::Malformed {
            name: self.name.clone(),
            why: why.to_owned(),
        }
    }
}

/// Passes a body on until it exceeds a limit; the error is the last item then.
///
/// Each piece counts as a sign of life, comments too: providers send comments while a model thinks. The limit on
/// the whole time ends a reply of comments alone.
fn bounded(
    body: Body,
    name: String,
    limits: Limits,
) -> impl Stream<Item = Result<Bytes, ProviderError>> + Send {
    let counter = Counter::new(&name, &limits);
    let end = Instant::now() + limits.whole.min(LONGEST);
    stream::unfold(Some((body, counter)), move |state| {
        let name = name.clone();
        async move {
            let (mut body, mut counter) = state?;
            let silent = Instant::now() + limits.idle.min(LONGEST);
            let piece = match tokio::time::timeout_at(silent.min(end), body.next()).await {
                Err(_) if silent <= end => Err(ProviderError::Stalled {
                    name,
                    idle: limits.idle,
                }),
                Err(_) => Err(ProviderError::Endless {
                    name,
                    whole: limits.whole,
                }),
                Ok(None) => return None,
                Ok(Some(piece)) => piece.and_then(|piece| counter.count(&piece).map(|()| piece)),
            };
            let rest = piece.is_ok().then_some((body, counter));
            Some((piece, rest))
        }
    })
}

/// Counts a body's bytes: in total, and since the last blank line.
struct Counter {
    name: String,
    max_event: usize,
    max_reply: usize,
    event: usize,
    reply: usize,
    line_is_empty: bool,
    /// Whether the last byte was a carriage return; a line feed after it belongs to the same line break.
    after_return: bool,
}

impl Counter {
    fn new(name: &str, limits: &Limits) -> Self {
        Self {
            name: name.to_owned(),
            max_event: limits.max_event_bytes,
            max_reply: limits.max_reply_bytes,
            event: 0,
            reply: 0,
            line_is_empty: true,
            after_return: false,
        }
    }

    fn count(&mut self, piece: &[u8]) -> Result<(), ProviderError> {
        self.reply = self.reply.saturating_add(piece.len());
        if self.reply > self.max_reply {
            return Err(self.too_large(self.max_reply, "in one reply"));
        }
        for &byte in piece {
            let joined = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            if joined {
                continue;
            }
            self.event += 1;
            let ends = matches!(byte, b'\n' | b'\r');
            if ends && self.line_is_empty {
                self.event = 0;
            }
            self.line_is_empty = ends;
            if self.event > self.max_event {
                return Err(self.too_large(self.max_event, "in one event"));
            }
        }
        Ok(())
    }

    fn too_large(&self, bytes: usize, of: &'static str) -> ProviderError {
        ProviderError::TooLarge {
            name: self.name.clone(),
            bytes,
            of,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits() -> Limits {
        Limits {
            idle: Duration::from_secs(1),
            whole: Duration::from_secs(10),
            max_event_bytes: 20,
            max_reply_bytes: 60,
            ..Limits::default()
        }
    }

    async fn drain(mut events: Events) -> (Vec<String>, Option<ProviderError>) {
        let mut data = Vec::new();
        loop {
            match events.next().await {
                Ok(Some(event)) => data.push(event),
                Ok(None) => return (data, None),
                Err(error) => return (data, Some(error)),
            }
        }
    }

    async fn read(pieces: &[&[u8]], limits: &Limits) -> (Vec<String>, Option<ProviderError>) {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        drain(Events::new(stream::iter(pieces).boxed(), "m", limits)).await
    }

    #[tokio::test]
    async fn any_cut_gives_the_same_events() {
        let whole = "event: x\ndata: a\n\n: note\r\n\r\ndata: b\r\n\r\ndata: ü\r\rda: 1\n\n";
        for cut in 0..whole.len() {
            let (left, right) = whole.as_bytes().split_at(cut);
            let expected = vec!["a".to_owned(), "b".to_owned(), "ü".to_owned()];
            assert_eq!(read(&[left, right], &limits()).await, (expected, None), "{cut}");
        }
    }

    /// Runs a future that needs the clock only.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.unwrap().block_on(future)
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_read_as_if_they_came_at_once(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), any::<u8>()], 0..200),
            lines in prop::collection::vec("(data|event|id): ?[a-zä]{0,5}(\n|\r\n|\r){1,2}", 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let whole = [lines.concat().as_bytes(), &bytes].concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &whole[ends[0]..ends[1]]).collect();
            let wide = Limits::default();
            let at_once = now(read(&[&whole], &wide));
            prop_assert_eq!(now(read(&pieces, &wide)), at_once);
        }
    }

    #[tokio::test]
    async fn one_event_and_all_of_them_are_bounded() {
        let (data, error) = read(&[b"data: a\n\ndata: 0123456789", b"0123456789"], &limits()).await;
        assert!(
            matches!(error, Some(ProviderError::TooLarge { bytes: 20, .. })),
            "{data:?} {error:?}"
        );
        let (data, error) = read(&[b"data: 0123456789\r\r".as_slice(); 4], &limits()).await;
        assert!(
            matches!(error, Some(ProviderError::TooLarge { bytes: 60, .. })),
            "{data:?} {error:?}"
        );
        assert_eq!(data.len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_has_an_end() {
        let mut events = Events::new(stream::pending().boxed(), "m", &limits());
        assert!(matches!(events.next().await, Err(ProviderError::Stalled { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_beyond_any_clock_are_taken() {
        let forever = Limits {
            idle: Duration::MAX,
            whole: Duration::from_secs(u64::MAX),
            ..limits()
        };
        assert_eq!(
            read(&[b"data: a\n\n"], &forever).await,
            (vec!["a".to_owned()], None)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn comments_keep_a_reply_open_but_not_for_ever() {
        let pings = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            Some((Ok(Bytes::from_static(b":\n\n")), ()))
        });
        let began = Instant::now();
        let mut events = Events::new(
            pings.boxed(),
            "m",
            &Limits {
                max_reply_bytes: 1 << 20,
                ..limits()
            },
        );
        assert!(matches!(events.next().await, Err(ProviderError::Endless { .. })));
        assert_eq!(began.elapsed(), Duration::from_secs(10));
    }
}
