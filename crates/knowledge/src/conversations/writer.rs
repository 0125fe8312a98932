//! The task that writes one answer: lets the model write, stores the text so far again and again, and ends the answer.

use super::live::LiveAnswerWriter;
use super::{Conversations, INTERRUPTED, Turn, history};
use crate::chat::{AnswerPart, Ask, ChatFailure};
use crate::indexes::IndexError;
use crate::records::{Basis, MessageStatus, conversation_topic, stop_topic};
use crate::search::SearchError;
use crate::tables::conversations;
use crate::tables::messages::{self, Saved};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::time::{Instant, sleep, sleep_until};

/// How often the text so far is stored: also how far clients of other processes are behind.
const SAVE_EVERY: Duration = Duration::from_millis(300);
/// In bytes. Part of the ids of events, see [`super::EventId`].
pub const LONGEST_ANSWER: usize = 1 << 20;
const LONGEST_TIME: Duration = Duration::from_secs(10 * 60);
/// How long an answer may go on after the process was asked to stop. Requests get 10 s, and see its end then.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(8);
/// If the database is away at the end of an answer, storing it is retried so often.
const MOST_TRIES: usize = 30;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// An answer that is being written.
pub struct Writing {
    conversations: Arc<Conversations>,
    user_id: String,
    turn: Turn,
    ask: Ask,
    live: LiveAnswerWriter,
}

/// How an answer ends.
enum End {
    Complete,
    Stopped,
    Failed(String),
    /// Another process has ended or deleted it.
    Gone,
}

impl Writing {
    pub fn new(conversations: Arc<Conversations>, user_id: String, turn: Turn, ask: Ask) -> Self {
        let live = conversations.live.add(&turn.answer.id);
        Self { conversations, user_id, turn, ask, live }
    }

    pub async fn run(self) {
        // What is not finished first is dropped: the model stops writing, and nothing more is saved.
        let end = tokio::select! {
            end = self.generate() => end,
            end = self.save_until_stopped() => end,
            () = self.outlived() => End::Failed(INTERRUPTED.to_owned()),
            () = sleep(LONGEST_TIME) => {
                End::Failed(format!("the answer took longer than {} minutes", LONGEST_TIME.as_secs() / 60))
            }
        };
        let (status, error) = match end {
            End::Complete => (MessageStatus::Complete, None),
            End::Stopped => (MessageStatus::Stopped, None),
            End::Failed(error) => (MessageStatus::Error, Some(error)),
            End::Gone => return,
        };
        let mut tries = 1;
        while let Err(failure) = self.finish(status, error.as_deref()).await {
            if tries == MOST_TRIES || failure.outage().is_none() {
                tracing::error!(%failure, message = self.turn.answer.id, "cannot store the end of an answer");
                return;
            }
            tries += 1;
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Waits until the process has been stopping for too long.
    async fn outlived(&self) {
        self.conversations.shutdown.cancelled().await;
        sleep(SHUTDOWN_GRACE).await;
    }

    /// Lets the model write.
    async fn generate(&self) -> End {
        match self.try_generate().await {
            Ok(end) => end,
            Err(failure) => End::Failed(without_nul(&self.describe(failure))),
        }
    }

    async fn try_generate(&self) -> Result<End, ChatFailure> {
        let Conversations { db, chats, .. } = &*self.conversations;
        let history = history::before(db, &self.turn.question).await?;
        let mut answer = chats.answer(&self.user_id, Ask { history, ..self.ask.clone() }).await?;
        let shown = answer.sources.iter().filter_map(|source| serde_json::to_value(&source.shown).ok());
        let (sources, provider) = (shown.collect(), answer.provider.clone());
        let (notices, model) = (answer.notices.clone(), answer.model.clone());
        let basis = Arc::new(Basis { sources, notices, provider, model });
        self.live.sender.send_modify(|live| live.basis = Some(basis));
        while let Some(part) = answer.parts.next().await {
            let AnswerPart::Text(text) = part? else { break };
            let text = without_nul(&text);
            let length = self.live.sender.borrow().text.len() + text.len();
            if length > LONGEST_ANSWER {
                return Ok(End::Failed(format!("the answer is longer than {} MiB", LONGEST_ANSWER >> 20)));
            }
            self.live.sender.send_modify(|live| live.text.push_str(&text));
        }
        Ok(End::Complete)
    }

    /// Returns what the user is told. What went wrong inside is logged.
    fn describe(&self, failure: ChatFailure) -> String {
        let message = failure.to_string();
        match failure {
            ChatFailure::UnknownProvider(_)
            | ChatFailure::TooLong(_)
            | ChatFailure::Search(SearchError::NoEncoder | SearchError::Busy | SearchError::NoSuchSpace)
            | ChatFailure::Search(SearchError::Index(IndexError::Loading { .. }))
            | ChatFailure::Index(IndexError::Loading { .. }) => message,
            ChatFailure::Model(error) => {
                tracing::warn!(%error, "a model did not answer");
                message
            }
            ChatFailure::Search(_)
            | ChatFailure::Index(_)
            | ChatFailure::Store(_)
            | ChatFailure::Files(_) => {
                tracing::error!(error = message, message = self.turn.answer.id, "an answer failed");
                "something went wrong inside: try again, or ask an administrator to look at the log"
                    .to_owned()
            }
        }
    }

    /// Stores the text so far, and keeps the lease, until the answer has to end.
    async fn save_until_stopped(&self) -> End {
        let Conversations { db, lease, .. } = &*self.conversations;
        let mut stop = db.subscribe(&stop_topic(&self.turn.answer.conversation_id));
        let mut written = self.live.sender.subscribe();
        let mut has_basis = false;
        let mut last_save: Option<Instant> = None;
        loop {
            let more_text = async {
                // An error means that the answer is over, which this task would not see.
                let _ = written.changed().await;
                if let Some(last_save) = last_save {
                    sleep_until(last_save + SAVE_EVERY).await;
                }
            };
            tokio::select! {
                () = stop.notified() => {}
                () = sleep(*lease / 3) => {}
                () = more_text => {}
            }
            last_save = Some(Instant::now());
            match self.save(&mut has_basis).await {
                Ok(Saved::Running) => {}
                Ok(Saved::StopRequested) => return End::Stopped,
                Ok(Saved::Gone) => return End::Gone,
                Err(error) => tracing::warn!(%error, "cannot store the text so far of an answer"),
            }
        }
    }

    async fn save(&self, has_basis: &mut bool) -> Result<Saved, StoreError> {
        let (basis, text) = self.so_far();
        let answer = &self.turn.answer;
        let mut tx = self.conversations.db.begin().await?;
        let saved = messages::save(&mut tx, &answer.id, &text, self.conversations.lease_end()).await?;
        if let Some(basis) = basis.as_ref().filter(|_| !*has_basis) {
            messages::set_basis(&mut tx, &answer.id, basis).await?;
        }
        tx.wake(&conversation_topic(&answer.conversation_id));
        tx.commit().await?;
        *has_basis = basis.is_some();
        Ok(saved)
    }

    /// Stores the whole text and how the answer has ended.
    async fn finish(&self, status: MessageStatus, error: Option<&str>) -> Result<(), StoreError> {
        let (basis, text) = self.so_far();
        let (answer, now) = (&self.turn.answer, self.conversations.clock.now_ms());
        let mut tx = self.conversations.db.begin().await?;
        if !conversations::touch(&mut tx, &answer.conversation_id, now).await? {
            return Ok(());
        }
        if let Some(basis) = basis {
            messages::set_basis(&mut tx, &answer.id, &basis).await?;
        }
        messages::finish(&mut tx, &answer.id, &text, status, error).await?;
        tx.wake(&conversation_topic(&answer.conversation_id));
        tx.commit().await
    }

    fn so_far(&self) -> (Option<Arc<Basis>>, String) {
        let live = self.live.sender.borrow();
        (live.basis.clone(), live.text.clone())
    }
}

/// Removes NUL characters, which PostgreSQL does not store.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}
