//! The offline model as an implementation of the common trait.

use bobbin_model::TokenUsage;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::help::not_understood;
use super::speech::{Speech, pieces};
use super::steps::{Step, next_step};
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, ModelUsage, Stop,
};

/// Bytes that count as one token: the usual estimate for English and code.
const BYTES_PER_TOKEN: usize = 4;

/// The deterministic model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Model for Offline {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn is_offline(&self, _: Option<&str>) -> bool {
        true
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        respond(request, sink).boxed()
    }
}

async fn respond(request: ModelRequest<'_>, sink: &mut dyn ModelSink) -> Result<ModelReply, ModelError> {
    let written = match next_step(request.messages) {
        Step::Call { tool, arguments } => {
            let calls = request.messages.iter().map(|message| match message {
                Message::Agent { calls, .. } => calls.len(),
                _ => 0,
            });
            // Unique in the Thread: clients match calls by this id alone.
            let id = format!("call_{}_{}", request.turn.0, calls.sum::<usize>() + 1);
            call(sink, id, &tool, &arguments.to_string()).await?
        }
        Step::Say(said) => say(sink, said).await?,
        Step::NotUnderstood(line) => {
            // For programs: the text alone looks like an answer.
            sink.event(ModelEvent::Note {
                code: "not_understood",
                text: "The built-in offline model did not understand this and did nothing.".to_owned(),
            })
            .await?;
            say(sink, vec![Speech::Text(not_understood(&line))]).await?
        }
    };
    Ok(ModelReply {
        stop: Stop::Done,
        usage: Some(usage(request.messages, written)),
    })
}

/// Makes a call; returns the bytes written.
async fn call(
    sink: &mut dyn ModelSink,
    id: String,
    tool: &str,
    arguments: &str,
) -> Result<usize, ModelError> {
    sink.event(ModelEvent::CallStarted {
        id: id.clone(),
        tool: tool.to_owned(),
    })
    .await?;
    for piece in pieces(arguments) {
        sink.event(ModelEvent::CallArguments {
            id: id.clone(),
            text: piece.to_owned(),
        })
        .await?;
    }
    sink.event(ModelEvent::CallEnded { id }).await?;
    Ok(tool.len() + arguments.len())
}

/// Sends the parts with blank lines between them; returns the bytes written.
async fn say(sink: &mut dyn ModelSink, said: Vec<Speech>) -> Result<usize, ModelError> {
    let bytes = said.iter().map(Speech::bytes).sum();
    for (index, speech) in said.iter().enumerate() {
        if index > 0 {
            sink.event(ModelEvent::Text("\n\n".to_owned())).await?;
        }
        for piece in speech.pieces() {
            sink.event(ModelEvent::Text(piece)).await?;
        }
    }
    Ok(bytes)
}

fn usage(messages: &[Message], written: usize) -> ModelUsage {
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    let tokens = TokenUsage::of(tokens(messages.iter().map(Message::bytes).sum()), tokens(written));
    ModelUsage {
        tokens,
        context_tokens: tokens.total(),
        cost_micros: Some(0),
    }
}
