//! Writes answers: reads their prompts, then writes all of them together, one token of each at a time.

use super::error::EngineError;
use super::queue::Written;
use super::request::{Event, FinishReason, Finished, Priority, QueuedRequest, Request};
use super::stop::{Shown, Stop};
use crate::chat_template::Message;
use crate::decoder::{Decoder, Sampler, Sequence};
use crate::task_pool::TaskPool;
use crate::tokenizer::Utf8Pieces;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// Tokens of a prompt that are read before other answers get their next token.
const READ_AT_ONCE: usize = 256;
/// Sequences kept after their end: a prompt that begins like one of them reuses its keys and values.
const MOST_KEPT: usize = 4;
const MOST_KEPT_BYTES: usize = 64 << 20;
/// A shorter common prefix is read faster than it is copied.
const SHORTEST_REUSED: usize = 16;

/// All answers that are being written, and the sequences of some that have ended.
#[derive(Default)]
pub(super) struct Writers {
    active: Vec<Writer>,
    kept: VecDeque<Sequence>,
}

struct Writer {
    sequence: Sequence,
    user: Arc<str>,
    priority: Priority,
    /// Tokens of the prompt that are not read yet.
    unread: VecDeque<u32>,
    /// How many parts of the prompt are read.
    parts_read: usize,
    /// The hidden state from which the next token is chosen; empty until the prompt is read and after the end.
    expected: Vec<f32>,
    sampler: Sampler,
    pieces: Utf8Pieces,
    stop: Option<Stop>,
    finished: Finished,
    max_tokens: usize,
    events: UnboundedSender<Event>,
}

impl Writers {
    pub fn written(&self) -> Vec<Written> {
        let written = |writer: &Writer| Written { user: writer.user.clone(), priority: writer.priority };
        self.active.iter().map(written).collect()
    }

    pub fn admit(&mut self, decoder: &Decoder, requests: Vec<QueuedRequest>) {
        for QueuedRequest { request, events } in requests {
            if events.is_closed() {
                continue;
            }
            let admitted = catch_unwind(AssertUnwindSafe(|| self.writer(decoder, request, events.clone())));
            match admitted.unwrap_or(Err(EngineError::Failed)) {
                Ok(writer) => self.active.push(writer),
                // The caller may have dropped its end.
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
        let prompt = tokens(decoder, &request.messages)?;
        let most = decoder.context() - 1;
        if prompt.len() > most {
            return Err(EngineError::PromptTooLong { tokens: prompt.len(), most });
        }
        let max_tokens = request.max_tokens.min(decoder.context() - prompt.len());
        let mut sequence = decoder.sequence(prompt.len() + max_tokens);
        let known = self.kept.iter().chain(self.active.iter().map(|writer| &writer.sequence));
        let (reused, source) = known
            .map(|known| (shared_prefix(known.tokens(), &prompt).min(prompt.len() - 1), known))
            .max_by_key(|(shared, _)| *shared)
            .map_or((0, None), |(shared, known)| (shared, Some(known)));
        let reused = if reused < SHORTEST_REUSED { 0 } else { reused };
        if let (1.., Some(source)) = (reused, source) {
            sequence.begin_with(source, reused);
        }
        Ok(Writer {
            sequence,
            user: request.user,
            priority: request.priority,
            finished: Finished {
                reason: FinishReason::Length,
                prompt_tokens: prompt.len(),
                reused_tokens: reused,
                answer_tokens: 0,
            },
            unread: prompt.into_iter().skip(reused).collect(),
            parts_read: 0,
            expected: Vec::new(),
            sampler: Sampler::new(request.sampling),
            pieces: Utf8Pieces::default(),
            stop: Some(Stop::new(request.stop)),
            max_tokens,
            events,
        })
    }

    /// Reads a part of one prompt, then writes one token of every answer whose prompt is read.
    pub fn advance(&mut self, decoder: &Decoder, pool: &TaskPool) {
        let gone = self.active.extract_if(.., |writer| writer.events.is_closed());
        let gone: Vec<Writer> = gone.collect();
        gone.into_iter().for_each(|writer| self.keep(writer.sequence));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.read(decoder, pool);
            self.write(decoder, pool);
        }));
        if outcome.is_err() {
            for writer in self.active.drain(..) {
                // The caller may have dropped its end.
                let _ = writer.events.send(Event::Failed(EngineError::Failed));
            }
        }
    }

    fn read(&mut self, decoder: &Decoder, pool: &TaskPool) {
        let reading = self.active.iter_mut().filter(|writer| !writer.unread.is_empty());
        // A short prompt does not wait for long ones to be read whole.
        let urgent_first = |writer: &&mut Writer| (writer.priority == Priority::Bulk, writer.parts_read);
        let Some(writer) = reading.min_by_key(urgent_first) else { return };
        writer.parts_read += 1;
        let count = writer.unread.len().min(READ_AT_ONCE);
        let tokens: Vec<u32> = writer.unread.drain(..count).collect();
        writer.expected = decoder.read(pool, &mut writer.sequence, &tokens);
    }

    fn write(&mut self, decoder: &Decoder, pool: &TaskPool) {
        let mut writing: Vec<&mut Writer> =
            self.active.iter_mut().filter(|writer| writer.unread.is_empty()).collect();
        if writing.is_empty() {
            return;
        }
        let expected: Vec<Vec<f32>> =
            writing.iter_mut().map(|writer| std::mem::take(&mut writer.expected)).collect();
        let mut logits = decoder.logits(pool, &expected);
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
            let expected = decoder.write(pool, &mut sequences, &tokens);
            going_on.iter_mut().zip(expected).for_each(|(writer, expected)| writer.expected = expected);
        }
        let over = |writer: &mut Writer| writer.unread.is_empty() && writer.expected.is_empty();
        let over: Vec<Writer> = self.active.extract_if(.., over).collect();
        over.into_iter().for_each(|writer| self.keep(writer.sequence));
    }

    fn keep(&mut self, sequence: Sequence) {
        self.kept.push_back(sequence);
        let bytes = |kept: &VecDeque<Sequence>| kept.iter().map(Sequence::resident_bytes).sum::<usize>();
        while self.kept.len() > MOST_KEPT || bytes(&self.kept) > MOST_KEPT_BYTES {
            self.kept.pop_front();
        }
    }
}

impl Writer {
    /// Chooses the next token and sends its text. Returns none if the answer ends here, after sending the last event.
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
        // The caller may have dropped its end.
        let _ = self.events.send(Event::Finished(self.finished));
        None
    }

    fn show(&self, text: String) {
        if !text.is_empty() {
            // The caller may have dropped its end.
            let _ = self.events.send(Event::Text(text));
        }
    }
}

fn tokens(decoder: &Decoder, messages: &[Message]) -> Result<Vec<u32>, EngineError> {
    let tokens = decoder.template().chat_tokens(decoder.tokenizer(), messages, true)?;
    if !tokens.is_empty() {
        return Ok(tokens);
    }
    // A template may write nothing; the answer then starts at the beginning of a text.
    Ok(vec![decoder.tokenizer().bos().unwrap_or_default()])
}

fn shared_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
