//! Conversations: questions and answers that are kept, and answers that are written whether or not a client waits.
//!
//! The process that takes a question writes its answer (`writer`), in a task of its own. The text so far is in memory
//! (`live`) and, a moment later, in the answer's row: clients of this process follow the one, those of other processes the
//! other (`follower`). An answer is not a job, because no other process may write it again: it has a lease, and if its
//! process dies, any other ends it as `error` with the text so far. `history` is what a model is told of earlier messages.

mod export;
mod follower;
mod history;
mod listing;
mod live;
mod writer;

pub use export::{export_message, export_title};
pub use follower::{AnswerEvent, EventId, FollowedEvent, Follower};
pub use listing::{Listing, MOST_LISTED};

use crate::chat::{Ask, Chats};
use crate::records::{Conversation, Message, MessageRole, MessageStatus, conversation_topic, stop_topic};
use crate::tables::{conversations, messages, users};
use crate::{removal, title};
use base::{Clock, Random};
use live::LiveAnswers;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use store::{CLOCK_DIFFERENCE, Db, StoreError, Tx};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use writer::Writing;

pub const MOST_CONVERSATIONS: i64 = 1_000;
pub const MOST_MESSAGES: i64 = 1_000;
/// In characters.
const TITLE_OF_QUESTION: usize = 80;
/// How long a request to stop waits for the process that writes the answer.
const STOP_WAIT: Duration = Duration::from_secs(3);
const INTERRUPTED: &str = "the answer was interrupted";

#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    #[error("no conversation `{0}`")]
    NoSuchConversation(String),
    #[error("no message `{0}` in this conversation")]
    NoSuchMessage(String),
    #[error("`editOf` names an answer: it takes the id of a question")]
    NotAQuestion,
    #[error("`retryOf` names a question: it takes the id of an answer")]
    NotAnAnswer,
    #[error("an answer is still being written in this conversation: wait for its end, or stop it")]
    Running,
    #[error("you have {MOST_CONVERSATIONS} conversations, the most that are kept: delete some of them first")]
    TooMany,
    #[error("this conversation is full, with at most {MOST_MESSAGES} messages: start a new one")]
    Full,
    #[error("no such user")]
    OwnerGone,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a new question replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaces {
    Nothing,
    /// The question with this id and all messages after it.
    Question(String),
    /// The answer with this id and all messages after it. Its question is asked again.
    Answer(String),
}

/// A question and its answer.
#[derive(Clone, Debug)]
pub struct Turn {
    pub question: Message,
    pub answer: Message,
}

pub struct Conversations {
    db: Db,
    chats: Arc<Chats>,
    clock: Clock,
    random: Random,
    /// How long an answer stays `running` after its process has died.
    lease: Duration,
    shutdown: CancellationToken,
    live: LiveAnswers,
    writers: TaskTracker,
}

impl Conversations {
    pub fn new(
        db: Db,
        chats: Arc<Chats>,
        clock: Clock,
        random: Random,
        lease: Duration,
        shutdown: CancellationToken,
    ) -> Self {
        let (live, writers) = (LiveAnswers::default(), TaskTracker::new());
        Self { db, chats, clock, random, lease, shutdown, live, writers }
    }

    /// Makes a conversation. Without a title, the first question will be its title.
    pub async fn create(
        &self,
        user_id: &str,
        title: Option<String>,
    ) -> Result<Conversation, ConversationError> {
        let now = self.clock.now_ms();
        let conversation = Conversation {
            id: self.new_id(),
            is_named: title.is_some(),
            title: title.unwrap_or_default(),
            created_at: now,
            updated_at: now,
            message_count: 0,
            last_number: 0,
            is_running: false,
            files_owner: String::new(),
        };
        let mut tx = self.db.begin().await?;
        // With the user locked, two requests cannot both make the last conversation.
        users::lock(&mut tx, user_id).await?.ok_or(ConversationError::OwnerGone)?;
        if conversations::count(&mut tx, user_id).await? >= MOST_CONVERSATIONS {
            return Err(ConversationError::TooMany);
        }
        conversations::insert(&mut tx, user_id, &conversation).await?;
        tx.commit().await?;
        Ok(conversation)
    }

    pub async fn get(&self, user_id: &str, id: &str) -> Result<Conversation, ConversationError> {
        let conversation = conversations::get(&self.db, user_id, id).await?;
        conversation.ok_or_else(|| ConversationError::NoSuchConversation(id.to_owned()))
    }

    pub async fn rename(
        &self,
        user_id: &str,
        id: &str,
        title: &str,
    ) -> Result<Conversation, ConversationError> {
        let mut tx = self.db.begin().await?;
        let mut conversation = self.lock(&mut tx, user_id, id).await?;
        conversations::rename(&mut tx, user_id, id, title).await?;
        tx.commit().await?;
        conversation.title = title.to_owned();
        Ok(conversation)
    }

    /// Deletes a conversation with its files. An answer that is being written ends.
    pub async fn delete(&self, user_id: &str, id: &str) -> Result<(), ConversationError> {
        let mut tx = self.db.begin().await?;
        let conversation = self.lock(&mut tx, user_id, id).await?;
        conversations::delete(&mut tx, user_id, id).await?;
        if !conversation.files_owner.is_empty() {
            removal::remove_user(&mut tx, &conversation.files_owner).await?;
        }
        tx.wake(&stop_topic(id));
        tx.wake(&conversation_topic(id));
        Ok(tx.commit().await?)
    }

    /// Returns who owns the files of a conversation, for one more file.
    pub async fn files_owner(&self, user_id: &str, id: &str) -> Result<String, ConversationError> {
        let mut tx = self.db.begin().await?;
        let conversation = self.lock(&mut tx, user_id, id).await?;
        if !conversation.files_owner.is_empty() {
            return Ok(conversation.files_owner);
        }
        let owner_id = self.new_id();
        users::insert_owner(&mut tx, &owner_id, user_id, self.clock.now_ms()).await?;
        conversations::set_files_owner(&mut tx, id, &owner_id).await?;
        tx.commit().await?;
        Ok(owner_id)
    }

    /// Adds a question and starts its answer. The answer goes on, and is stored, if the caller goes away.
    pub async fn ask(
        self: &Arc<Self>,
        user_id: &str,
        id: &str,
        ask: Ask,
        replaces: Replaces,
    ) -> Result<Turn, ConversationError> {
        let (this, user_id, id) = (self.clone(), user_id.to_owned(), id.to_owned());
        // In a task of its own: a caller that is dropped after the commit would leave an answer that no task writes.
        let starting = tokio::spawn(async move { this.start(user_id, id, ask, replaces).await });
        starting.await.map_err(|_| StoreError::Stopping)?
    }

    async fn start(
        self: Arc<Self>,
        user_id: String,
        id: String,
        mut ask: Ask,
        replaces: Replaces,
    ) -> Result<Turn, ConversationError> {
        let mut tx = self.db.begin().await?;
        let mut conversation = self.lock(&mut tx, &user_id, &id).await?;
        self.interrupt_expired(&mut tx, &id).await?;
        if messages::running(&mut tx, &id).await?.is_some() {
            return Err(ConversationError::Running);
        }
        let asked_before = drop_replaced(&mut tx, &mut conversation, &replaces).await?;
        if let Some(question) = &asked_before {
            ask.query.clone_from(&question.content);
            ask.document_ids.clone_from(&question.document_ids);
            ask.space_ids.clone_from(&question.space_ids);
            ask.without_documents = question.without_documents;
        }
        ask.files_owner = Some(conversation.files_owner.clone()).filter(|owner| !owner.is_empty());
        let added = if asked_before.is_some() { 1 } else { 2 };
        if conversation.message_count + added > MOST_MESSAGES {
            return Err(ConversationError::Full);
        }
        let now = self.clock.now_ms();
        if conversation.message_count == 0 && !conversation.is_named {
            let line = ask.query.split_whitespace().collect::<Vec<&str>>().join(" ");
            conversation.title = title::cut(&line, TITLE_OF_QUESTION);
        }
        conversation.message_count += added;
        conversation.updated_at = now;
        let question = match asked_before {
            Some(question) => question,
            None => {
                let question = self.new_message(&mut conversation, MessageRole::User, &ask, now);
                messages::insert(&mut tx, &question, 0).await?;
                question
            }
        };
        let answer = self.new_message(&mut conversation, MessageRole::Assistant, &ask, now);
        messages::insert(&mut tx, &answer, self.lease_end()).await?;
        conversations::update(&mut tx, &conversation).await?;
        tx.wake(&conversation_topic(&id));
        tx.commit().await?;

        let turn = Turn { question, answer };
        let writing = Writing::new(self.clone(), user_id, turn.clone(), ask);
        self.writers.spawn(writing.run());
        Ok(turn)
    }

    /// Ends the answer that is being written, and returns the last answer; none if there was no question yet.
    pub async fn stop(&self, user_id: &str, id: &str) -> Result<Option<Message>, ConversationError> {
        let mut changed = self.db.subscribe(&conversation_topic(id));
        let mut tx = self.db.begin().await?;
        self.lock(&mut tx, user_id, id).await?;
        messages::request_stop(&mut tx, id).await?;
        tx.wake(&stop_topic(id));
        tx.commit().await?;
        let deadline = Instant::now() + STOP_WAIT;
        loop {
            let last = messages::before(&self.db, id, i64::MAX, 1).await?.pop();
            match last {
                Some(last) if last.status == MessageStatus::Running => {}
                ended => return Ok(ended),
            }
            if timeout_at(deadline, changed.notified()).await.is_err() {
                break;
            }
        }
        // The process that writes it does not answer.
        let mut tx = self.db.begin().await?;
        self.lock(&mut tx, user_id, id).await?;
        if let Some((answer, _)) = messages::running(&mut tx, id).await? {
            messages::finish(&mut tx, &answer.id, &answer.content, MessageStatus::Stopped, None).await?;
            tx.wake(&conversation_topic(id));
        }
        tx.commit().await?;
        Ok(messages::before(&self.db, id, i64::MAX, 1).await?.pop())
    }

    /// Ends answers whose processes have died, until the process stops; then waits for the answers that it writes itself.
    pub async fn work(&self) {
        let mut every = tokio::time::interval((self.lease / 3).min(Duration::from_secs(1)));
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => break,
                _ = every.tick() => {}
            }
            if let Err(error) = self.sweep().await {
                tracing::error!(%error, "cannot look for answers of dead processes");
            }
        }
        self.writers.close();
        self.writers.wait().await;
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        for id in messages::conversations_of_expired(&self.db, &self.living_leases()).await? {
            let mut tx = self.db.begin().await?;
            // This locks the conversation.
            if conversations::touch(&mut tx, &id, self.clock.now_ms()).await? {
                self.interrupt_expired(&mut tx, &id).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// When the leases of living processes end.
    fn living_leases(&self) -> Range<i64> {
        let now = self.clock.now_ms();
        now + 1..now + (self.lease + CLOCK_DIFFERENCE).as_millis() as i64
    }

    /// Ends the answer of a conversation if its process has died.
    async fn interrupt_expired(&self, tx: &mut Tx, id: &str) -> Result<(), StoreError> {
        let Some((answer, lease_until)) = messages::running(tx, id).await? else { return Ok(()) };
        let living = self.living_leases();
        // The clock may have leapt while this process writes it.
        if living.contains(&lease_until) || self.live.get(&answer.id).is_some() {
            return Ok(());
        }
        if lease_until >= living.end {
            // The clock was set back: if a process writes it, that will extend the lease.
            let lease_until = self.clock.now_ms() + self.lease.as_millis() as i64;
            return messages::set_lease(tx, &answer.id, lease_until).await;
        }
        tracing::warn!(message = answer.id, "the process that wrote an answer has died");
        let (status, error) = (MessageStatus::Error, Some(INTERRUPTED));
        messages::finish(tx, &answer.id, &answer.content, status, error).await?;
        tx.wake(&conversation_topic(id));
        Ok(())
    }

    async fn lock(&self, tx: &mut Tx, user_id: &str, id: &str) -> Result<Conversation, ConversationError> {
        let conversation = conversations::lock(tx, user_id, id).await?;
        conversation.ok_or_else(|| ConversationError::NoSuchConversation(id.to_owned()))
    }

    fn new_message(
        &self,
        conversation: &mut Conversation,
        role: MessageRole,
        ask: &Ask,
        created_at: i64,
    ) -> Message {
        conversation.last_number += 1;
        let is_answer = role == MessageRole::Assistant;
        Message {
            id: self.new_id(),
            conversation_id: conversation.id.clone(),
            number: conversation.last_number,
            role,
            content: if is_answer { String::new() } else { ask.query.clone() },
            status: if is_answer { MessageStatus::Running } else { MessageStatus::Complete },
            error: None,
            sources: Vec::new(),
            notices: Vec::new(),
            provider: None,
            model: None,
            agent_type: is_answer.then(|| ask.agent.name().to_owned()),
            document_ids: if is_answer { Vec::new() } else { ask.document_ids.clone() },
            space_ids: if is_answer { Vec::new() } else { ask.space_ids.clone() },
            without_documents: !is_answer && ask.without_documents,
            created_at,
        }
    }

    fn new_id(&self) -> String {
        self.random.uuid_v7(&self.clock).to_string()
    }

    fn lease_end(&self) -> i64 {
        self.clock.now_ms() + i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Deletes the messages that a question replaces. Returns the question that is asked again, if it is an old one.
async fn drop_replaced(
    tx: &mut Tx,
    conversation: &mut Conversation,
    replaces: &Replaces,
) -> Result<Option<Message>, ConversationError> {
    let id = match replaces {
        Replaces::Nothing => return Ok(None),
        Replaces::Question(id) | Replaces::Answer(id) => id,
    };
    let message = messages::get_in(tx, &conversation.id, id).await?;
    let message = message.ok_or_else(|| ConversationError::NoSuchMessage(id.clone()))?;
    let asked_again = match (replaces, message.role) {
        (Replaces::Answer(_), MessageRole::User) => return Err(ConversationError::NotAnAnswer),
        (Replaces::Question(_), MessageRole::Assistant) => return Err(ConversationError::NotAQuestion),
        (Replaces::Answer(_), _) => {
            let question = messages::last_before(tx, &conversation.id, message.number).await?;
            Some(question.ok_or_else(|| ConversationError::NoSuchMessage(id.clone()))?)
        }
        _ => None,
    };
    conversation.message_count -= messages::delete_from(tx, &conversation.id, message.number).await?;
    Ok(asked_again)
}
