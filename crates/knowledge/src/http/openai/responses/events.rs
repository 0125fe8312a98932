//! The events of an answer that is streamed. An item's `added` comes before its deltas, and its `done` after them; the last
//! event has the whole answer.

use super::view::{OutputItem, OutputText, ResponseView, Status, Writing};
use crate::http::openai::error::OpenAiError;
use futures_util::stream::{self, Stream, StreamExt};
use kit::sse::Event;
use llm::{CallPiece, CallStart, ChatError, Piece, Reply, ToolCall, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// The data of an event. Each has its `type` and a `sequence_number`, which counts from 0.
#[derive(Serialize, ToSchema)]
pub struct ResponseEvent {
    sequence_number: usize,
    #[serde(flatten)]
    kind: Kind,
}

#[derive(Serialize, ToSchema)]
#[serde(tag = "type")]
#[schema(as = ResponseEventKind)]
enum Kind {
    #[serde(rename = "response.created")]
    Created { response: Box<ResponseView> },
    #[serde(rename = "response.in_progress")]
    InProgress { response: Box<ResponseView> },
    #[serde(rename = "response.output_item.added")]
    ItemAdded { output_index: usize, item: OutputItem },
    #[serde(rename = "response.content_part.added")]
    PartAdded { item_id: String, output_index: usize, content_index: usize, part: OutputText },
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        item_id: String,
        output_index: usize,
        content_index: usize,
        delta: String,
        /// Always empty.
        #[schema(value_type = Vec<Object>)]
        logprobs: [(); 0],
    },
    #[serde(rename = "response.output_text.done")]
    TextDone {
        item_id: String,
        output_index: usize,
        content_index: usize,
        text: String,
        /// Always empty.
        #[schema(value_type = Vec<Object>)]
        logprobs: [(); 0],
    },
    #[serde(rename = "response.content_part.done")]
    PartDone { item_id: String, output_index: usize, content_index: usize, part: OutputText },
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta { item_id: String, output_index: usize, delta: String },
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone { item_id: String, output_index: usize, name: String, arguments: String },
    #[serde(rename = "response.output_item.done")]
    ItemDone { output_index: usize, item: OutputItem },
    #[serde(rename = "response.completed")]
    Completed { response: Box<ResponseView> },
    /// In place of `response.completed`, if the limit of tokens ended the answer.
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Box<ResponseView> },
    /// In place of `response.completed`, if the model failed.
    #[serde(rename = "response.failed")]
    Failed { response: Box<ResponseView> },
}

/// What is written, and where.
struct Stage {
    writing: Writing,
    sequence_number: usize,
    /// The message that text is added to.
    message: Option<usize>,
    /// The item of each call.
    calls: Vec<usize>,
}

/// Returns the events of an answer.
pub fn of(writing: Writing, pieces: Reply) -> impl Stream<Item = Event> + Send {
    let mut stage = Stage { writing, sequence_number: 0, message: None, calls: Vec::new() };
    let created = Kind::Created { response: stage.response() };
    let in_progress = Kind::InProgress { response: stage.response() };
    let first = stage.numbered(vec![created, in_progress]);
    let rest = pieces.flat_map(move |piece| {
        let kinds = stage.read(piece);
        stream::iter(stage.numbered(kinds))
    });
    stream::iter(first).chain(rest)
}

impl Stage {
    fn read(&mut self, piece: Result<Piece, ChatError>) -> Vec<Kind> {
        match piece {
            Ok(Piece::Text(text)) => self.text(text),
            Ok(Piece::Call(piece)) => self.call(piece),
            Ok(Piece::End(usage)) => self.end(usage),
            Err(error) => {
                self.writing.fail(OpenAiError::from(error).message());
                vec![Kind::Failed { response: self.response() }]
            }
        }
    }

    fn text(&mut self, delta: String) -> Vec<Kind> {
        let mut kinds = Vec::new();
        let output_index = match self.message {
            Some(index) => index,
            None => self.begin_message(&mut kinds),
        };
        let item_id = self.add(output_index, &delta);
        kinds.push(Kind::TextDelta { item_id, output_index, content_index: 0, delta, logprobs: [] });
        kinds
    }

    fn begin_message(&mut self, kinds: &mut Vec<Kind>) -> usize {
        let item = self.writing.message("");
        let (output_index, item_id) = (self.writing.view.output.len(), item.id().to_owned());
        let mut added = item.clone();
        if let OutputItem::Message { content, .. } = &mut added {
            content.clear();
        }
        kinds.push(Kind::ItemAdded { output_index, item: added });
        kinds.push(Kind::PartAdded { item_id, output_index, content_index: 0, part: OutputText::new("") });
        self.writing.view.output.push(item);
        self.message = Some(output_index);
        output_index
    }

    /// Adds a piece of a call. A message before a new call is done; calls are done at the end, since their pieces may come in
    /// turns.
    fn call(&mut self, piece: CallPiece) -> Vec<Kind> {
        let CallPiece { index, start, arguments } = piece;
        let mut kinds = Vec::new();
        if let Some(CallStart { id, name }) = start {
            if let Some(message) = self.message.take() {
                kinds.extend(self.done(message, Status::Completed));
            }
            let item = self.writing.call(ToolCall { id, name, arguments: String::new() });
            let output_index = self.writing.view.output.len();
            kinds.push(Kind::ItemAdded { output_index, item: item.clone() });
            self.calls.push(output_index);
            self.writing.view.output.push(item);
        }
        if let Some(output_index) = self.calls.get(index).copied().filter(|_| !arguments.is_empty()) {
            let item_id = self.add(output_index, &arguments);
            kinds.push(Kind::ArgumentsDelta { item_id, output_index, delta: arguments });
        }
        kinds
    }

    fn end(&mut self, usage: Usage) -> Vec<Kind> {
        let mut kinds = Vec::new();
        if self.writing.view.output.is_empty() {
            self.begin_message(&mut kinds);
        }
        let output = self.writing.view.output.iter().enumerate();
        let open = output.filter(|(_, item)| item.status() == Status::InProgress).map(|(index, _)| index);
        let open: Vec<usize> = open.collect();
        self.writing.end(usage);
        let status = self.writing.view.status();
        kinds.extend(open.into_iter().flat_map(|index| self.done(index, status)));
        let response = self.response();
        kinds.push(match status {
            Status::Incomplete => Kind::Incomplete { response },
            _ => Kind::Completed { response },
        });
        kinds
    }

    /// Ends an item.
    fn done(&mut self, output_index: usize, status: Status) -> Vec<Kind> {
        let Some(item) = self.writing.view.output.get_mut(output_index) else { return Vec::new() };
        item.end(status);
        let item_id = item.id().to_owned();
        let mut kinds = match &*item {
            OutputItem::Message { content, .. } => {
                let part = content.first().cloned().unwrap_or_else(|| OutputText::new(""));
                let (text, content_index) = (part.text.clone(), 0);
                vec![
                    Kind::TextDone {
                        item_id: item_id.clone(),
                        output_index,
                        content_index,
                        text,
                        logprobs: [],
                    },
                    Kind::PartDone { item_id, output_index, content_index, part },
                ]
            }
            OutputItem::FunctionCall { name, arguments, .. } => {
                let (name, arguments) = (name.clone(), arguments.clone());
                vec![Kind::ArgumentsDone { item_id, output_index, name, arguments }]
            }
        };
        kinds.push(Kind::ItemDone { output_index, item: item.clone() });
        kinds
    }

    /// Adds to an item, and returns its id.
    fn add(&mut self, output_index: usize, more: &str) -> String {
        let item = self.writing.view.output.get_mut(output_index);
        item.map(|item| {
            item.add(more);
            item.id().to_owned()
        })
        .unwrap_or_default()
    }

    fn response(&self) -> Box<ResponseView> {
        Box::new(self.writing.view.clone())
    }

    fn numbered(&mut self, kinds: Vec<Kind>) -> Vec<Event> {
        let events = kinds.into_iter().map(|kind| {
            let event = ResponseEvent { sequence_number: self.sequence_number, kind };
            self.sequence_number += 1;
            event.to_sse()
        });
        events.collect()
    }
}

impl ResponseEvent {
    fn to_sse(&self) -> Event {
        let event = Event::live("", self);
        let name = event.data.get("type").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        Event { name, ..event }
    }
}
