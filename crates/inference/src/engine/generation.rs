//! Answers being written: admitted, read, written together token by token, and ended.

use super::queue::Counts;
use super::stop::{Shown, Stop};
use super::{EngineError, Priority};
use crate::chat_template::Message;
use crate::crew::Crew;
use crate::decoder::{Decoder, Sampler, Sampling, Sequence};
use crate::tokenizer::Utf8Pieces;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// Tokens of a prompt that are read before others may write on.
const READ_AT_ONCE: usize = 256;
/// Texts kept after their end: what begins like one of them need not be read again.
const REMEMBERED: usize = 4;
const REMEMBERED_BYTES: usize = 64 << 20;
/// Fewer tokens are read faster than copied.
const WORTH_COPYING: usize = 16;

pub struct Request {
    pub prompt: Prompt,
    /// Tokens to write at most.
    pub max_tokens: usize,
    pub sampling: Sampling,
    /// The answer ends before the first of these.
    pub stop: Vec<String>,
    pub priority: Priority,
}

pub enum Prompt {
    /// A conversation, put into words by the model's own template.
    Chat(Vec<Message>),
    /// Text to be continued as it is.
    Text(String),
    Tokens(Vec<u32>),
}

#[derive(Debug)]
pub enum Event {
    /// More of the answer, in whole characters.
    Text(String),
    /// The last event of an answer.
    Finished(Finished),
    /// The last event of one that failed.
    Failed(EngineError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub reason: FinishReason,
    pub prompt_tokens: usize,
    /// Tokens of the prompt that had been read before, as part of another.
    pub reused_tokens: usize,
    pub answer_tokens: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its answer, or a stop string did.
    Stop,
    /// `max_tokens`, or the model's context, is used up.
    Length,
}

/// An answer to come. Dropping it ends the writing.
pub struct Generation(pub(super) UnboundedReceiver<Event>);

impl Generation {
    /// The next event; none after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// The same where nothing is async.
    pub fn wait_next(&mut self) -> Option<Event> {
        self.0.blocking_recv()
    }
}

pub(super) struct Waiting {
    pub request: Request,
    pub events: UnboundedSender<Event>,
}

/// All answers that are being written, and some that were.
#[derive(Default)]
pub(super) struct Writers {
    active: Vec<Writer>,
    remembered: VecDeque<Sequence>,
}

struct Writer {
    sequence: Sequence,
    priority: Priority,
    /// What of the prompt is not read yet.
    unread: VecDeque<u32>,
    /// What the model expects next, once the prompt is read.
    expected: Vec<f32>,
    sampler: Sampler,
    pieces: Utf8Pieces,
    stop: Option<Stop>,
    finished: Finished,
    max_tokens: usize,
    events: UnboundedSender<Event>,
}

impl Writers {
    pub fn counts(&self) -> Counts {
        let interactive =
            self.active.iter().filter(|writer| writer.priority == Priority::Interactive).count();
        Counts { interactive, bulk: self.active.len() - interactive }
    }

    pub fn admit(&mut self, decoder: &Decoder, requests: Vec<Waiting>) {
        for Waiting { request, events } in requests {
            if events.is_closed() {
                continue;
            }
            let admitted = catch_unwind(AssertUnwindSafe(|| self.writer(decoder, request, events.clone())));
            match admitted.unwrap_or(Err(EngineError::Failed)) {
                Ok(writer) => self.active.push(writer),
                // Whoever asked may have gone.
                Err(error) => drop(events.send(Event::Failed(error))),
            }
        }
    }

    fn writer(
        &self,
        decoder: &Decoder,
        request: Request,
        events: UnboundedSender<Event>,
    ) -> Result<Writer, EngineError> {
        let prompt = tokens(decoder, request.prompt)?;
        let most = decoder.context() - 1;
        if prompt.len() > most {
            return Err(EngineError::PromptTooLong { tokens: prompt.len(), most });
        }
        let max_tokens = request.max_tokens.min(decoder.context() - prompt.len());
        let mut sequence = decoder.sequence(prompt.len() + max_tokens);
        let known = self.remembered.iter().chain(self.active.iter().map(|writer| &writer.sequence));
        let (reused, source) = known
            .map(|known| (shared_prefix(known.tokens(), &prompt).min(prompt.len() - 1), known))
            .max_by_key(|(shared, _)| *shared)
            .map_or((0, None), |(shared, known)| (shared, Some(known)));
        let reused = if reused < WORTH_COPYING { 0 } else { reused };
        if let (1.., Some(source)) = (reused, source) {
            sequence.begin_with(source, reused);
        }
        Ok(Writer {
            sequence,
            priority: request.priority,
            finished: Finished {
                reason: FinishReason::Length,
                prompt_tokens: prompt.len(),
                reused_tokens: reused,
                answer_tokens: 0,
            },
            unread: prompt.into_iter().skip(reused).collect(),
            expected: Vec::new(),
            sampler: Sampler::new(request.sampling),
            pieces: Utf8Pieces::default(),
            stop: Some(Stop::new(request.stop)),
            max_tokens,
            events,
        })
    }

    /// Reads some of one prompt, then writes a token of every answer whose prompt is read.
    pub fn advance(&mut self, decoder: &Decoder, crew: &Crew) {
        let gone = self.active.extract_if(.., |writer| writer.events.is_closed());
        let gone: Vec<Writer> = gone.collect();
        gone.into_iter().for_each(|writer| self.remember(writer.sequence));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.read(decoder, crew);
            self.write(decoder, crew);
        }));
        if outcome.is_err() {
            for writer in self.active.drain(..) {
                // Whoever asked may have gone.
                let _ = writer.events.send(Event::Failed(EngineError::Failed));
            }
        }
    }

    fn read(&mut self, decoder: &Decoder, crew: &Crew) {
        let reading = self.active.iter_mut().filter(|writer| !writer.unread.is_empty());
        let urgent_first = |writer: &&mut Writer| writer.priority == Priority::Bulk;
        let Some(writer) = reading.min_by_key(urgent_first) else { return };
        let count = writer.unread.len().min(READ_AT_ONCE);
        let tokens: Vec<u32> = writer.unread.drain(..count).collect();
        writer.expected = decoder.read(crew, &mut writer.sequence, &tokens);
    }

    fn write(&mut self, decoder: &Decoder, crew: &Crew) {
        let mut writing: Vec<&mut Writer> =
            self.active.iter_mut().filter(|writer| writer.unread.is_empty()).collect();
        if writing.is_empty() {
            return;
        }
        let expected: Vec<Vec<f32>> =
            writing.iter_mut().map(|writer| std::mem::take(&mut writer.expected)).collect();
        let mut logits = decoder.logits(crew, &expected);
        let chosen =
            writing.iter_mut().zip(&mut logits).map(|(writer, logits)| writer.choose(decoder, logits));
        let chosen: Vec<Option<u32>> = chosen.collect();
        let mut tokens = Vec::new();
        let mut going_on: Vec<&mut Writer> = Vec::new();
        for (writer, token) in writing.into_iter().zip(chosen) {
            if let Some(token) = token {
                tokens.push(token);
                going_on.push(writer);
            }
        }
        if !tokens.is_empty() {
            let mut sequences: Vec<&mut Sequence> =
                going_on.iter_mut().map(|writer| &mut writer.sequence).collect();
            let expected = decoder.write(crew, &mut sequences, &tokens);
            going_on.iter_mut().zip(expected).for_each(|(writer, expected)| writer.expected = expected);
        }
        let over = |writer: &mut Writer| writer.unread.is_empty() && writer.expected.is_empty();
        let over: Vec<Writer> = self.active.extract_if(.., over).collect();
        over.into_iter().for_each(|writer| self.remember(writer.sequence));
    }

    fn remember(&mut self, sequence: Sequence) {
        self.remembered.push_back(sequence);
        let bytes =
            |remembered: &VecDeque<Sequence>| remembered.iter().map(Sequence::resident_bytes).sum::<usize>();
        while self.remembered.len() > REMEMBERED || bytes(&self.remembered) > REMEMBERED_BYTES {
            self.remembered.pop_front();
        }
    }
}

impl Writer {
    /// Takes the next token and shows its text; none when the answer has ended, which is then said.
    fn choose(&mut self, decoder: &Decoder, logits: &mut [f32]) -> Option<u32> {
        if self.finished.answer_tokens == self.max_tokens {
            return self.end(FinishReason::Length);
        }
        let token = self.sampler.choose(logits, self.sequence.tokens());
        if decoder.tokenizer().is_end(token) {
            return self.end(FinishReason::Stop);
        }
        self.finished.answer_tokens += 1;
        let text = self.pieces.push(decoder.tokenizer().piece(token));
        match self.stop.as_mut().map(|stop| stop.push(&text)) {
            Some(Shown::Last(text)) => {
                self.show(text);
                self.stop = None;
                return self.end(FinishReason::Stop);
            }
            Some(Shown::All(text)) => self.show(text),
            None => {}
        }
        if self.finished.answer_tokens == self.max_tokens {
            return self.end(FinishReason::Length);
        }
        Some(token)
    }

    fn end(&mut self, reason: FinishReason) -> Option<u32> {
        if let Some(mut stop) = self.stop.take() {
            match stop.push(&self.pieces.finish()) {
                Shown::Last(text) => self.show(text),
                Shown::All(text) => {
                    self.show(text);
                    self.show(stop.finish());
                }
            }
        }
        self.finished.reason = reason;
        // Whoever asked may have gone.
        let _ = self.events.send(Event::Finished(self.finished));
        None
    }

    fn show(&self, text: String) {
        if !text.is_empty() {
            // Whoever asked may have gone.
            let _ = self.events.send(Event::Text(text));
        }
    }
}

fn tokens(decoder: &Decoder, prompt: Prompt) -> Result<Vec<u32>, EngineError> {
    let tokenizer = decoder.tokenizer();
    let tokens = match prompt {
        Prompt::Chat(messages) => decoder.template().chat_tokens(tokenizer, &messages, true)?,
        Prompt::Text(text) => tokenizer.bos().into_iter().chain(tokenizer.encode(&text, false)).collect(),
        Prompt::Tokens(tokens) => {
            tokens.into_iter().filter(|token| (*token as usize) < tokenizer.len()).collect()
        }
    };
    if !tokens.is_empty() {
        return Ok(tokens);
    }
    // An empty prompt is continued from the beginning of a text.
    Ok(vec![tokenizer.bos().unwrap_or_default()])
}

fn shared_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
