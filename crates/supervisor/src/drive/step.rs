//! One agent at work: what it reads, the model's answer to it, and the tries that this takes. Writes nothing: what it
//! has to say goes to the one who drives the run.

mod knowledge;
mod output;
mod prompt;
mod sketch;

pub use knowledge::KnowledgeSearch;

use super::board::Feedback;
use crate::records::{Artifact, Run};
use crate::tables;
use crate::workflow::Agent;
use base::Backoff;
use futures_util::StreamExt;
use kit::page::excerpt;
use llm::{Cause, Chat, DefaultModel, Model, Piece, Providers, Usage};
use prompt::Material;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Db, StoreError};
use tokio::sync::{Semaphore, mpsc};

/// The embedded model is the faster the more it writes at a time, up to here; more would be refused.
const EDGE_AT_ONCE: usize = 4;
/// Progress is told when it has grown by this much, and not more often than every so often.
const PROGRESS_STEP: i64 = 10;
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);
/// Before an answer ends nobody knows how long it is.
const MOST_UNFINISHED: i64 = 99;
const MOST_BYTES_TO_A_TOKEN: usize = 16;
/// Characters of what a provider says of a failure.
const LONGEST_MESSAGE: usize = 2_000;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), LONGEST_PAUSE);

#[derive(Clone)]
pub struct Stepper {
    db: Db,
    providers: Arc<Providers>,
    default_model: DefaultModel,
    knowledge: Option<KnowledgeSearch>,
    edge_turns: Arc<Semaphore>,
}

/// What an agent has brought.
#[derive(Debug)]
pub struct Written {
    pub content: String,
    pub provider: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// What somebody should know of it.
    pub note: Option<String>,
}

/// What an agent says while it is at work.
pub enum Report {
    Progress { place: usize, percent: i64 },
    Trouble { place: usize, message: String },
}

/// Why a try came to nothing, and whether another one may do better.
struct Failure {
    message: String,
    is_final: bool,
    wait: Option<Duration>,
}

impl Failure {
    fn again(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_final: false, wait: None }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::again(error.to_string())
    }
}

impl Stepper {
    pub fn new(
        db: Db,
        providers: Arc<Providers>,
        default_model: DefaultModel,
        knowledge: Option<KnowledgeSearch>,
    ) -> Self {
        let edge_turns = Arc::new(Semaphore::new(EDGE_AT_ONCE));
        Self { db, providers, default_model, knowledge, edge_turns }
    }

    /// The model that answers for an agent in a run.
    pub fn model(&self, agent: &Agent, run: &Run) -> Model {
        let asked = (run.provider.as_deref(), run.model.as_deref());
        let (provider, model) = agent.answered_by(asked, &self.default_model);
        // All providers were checked when they came in.
        self.providers.pick(provider, model).unwrap_or_else(|_| self.providers.edge().clone())
    }

    /// Tries as often as the agent may. `own_inputs` are artifacts of this run.
    pub async fn work(
        &self,
        place: usize,
        agent: &Agent,
        run: &Run,
        own_inputs: Vec<String>,
        feedback: Option<Feedback>,
        reports: mpsc::Sender<Report>,
    ) -> Result<Written, String> {
        let say = async |message: String| drop(reports.send(Report::Trouble { place, message }).await);
        let mut tried = 0;
        loop {
            // Waiting for a turn is not part of the try.
            let turn = match self.model(agent, run).provider() {
                llm::EDGE_AI => self.edge_turns.acquire().await.ok(),
                _ => None,
            };
            let attempt = async {
                let (material, trouble) = self.gather(agent, run, &own_inputs, feedback.as_ref()).await?;
                if tried == 0
                    && let Some(trouble) = trouble
                {
                    say(trouble).await;
                }
                self.ask(place, agent, &self.model(agent, run), &material, tried, &reports).await
            };
            let failure = match tokio::time::timeout(agent.time_limit, attempt).await {
                Ok(Ok(written)) => return Ok(written),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    Failure::again(format!("the model took longer than {} s", agent.time_limit.as_secs_f32()))
                }
            };
            let tries = agent.retries + 1;
            tried += 1;
            // PostgreSQL takes no NUL, and a vendor may say one. What it says may be a whole page of HTML.
            let message = excerpt(&failure.message, LONGEST_MESSAGE).0.replace('\0', "");
            if failure.is_final || tried >= tries {
                return Err(message);
            }
            let wait = failure.wait.unwrap_or_else(|| BACKOFF.pause(tried.into(), self.db.random()));
            let wait_s = wait.as_secs_f32();
            drop(turn);
            say(format!("try {tried} of {tries} failed, the next is in {wait_s:.1} s: {message}")).await;
            tokio::time::sleep(wait).await;
        }
    }

    /// What the agent reads, and what could not be had for it.
    async fn gather(
        &self,
        agent: &Agent,
        run: &Run,
        own_inputs: &[String],
        feedback: Option<&Feedback>,
    ) -> Result<(Material, Option<String>), Failure> {
        let gone = || Failure { message: "the project is gone".into(), is_final: true, wait: None };
        let project = tables::projects::get(&self.db, &run.project_id).await?.ok_or_else(gone)?;
        let product_seed = tables::projects::seed(&self.db, &run.project_id).await?.ok_or_else(gone)?;
        let mut inputs = Vec::new();
        for name in &agent.inputs {
            let missing = || Failure {
                message: format!("the artifact of `{name}` is missing: execute its phase again"),
                is_final: true,
                wait: None,
            };
            inputs.push(self.input(run, name, own_inputs).await?.ok_or_else(missing)?);
        }
        let (mut passages, mut trouble) = (Vec::new(), None);
        if agent.search {
            match &self.knowledge {
                Some(knowledge) => {
                    match knowledge.search(&project.name, &product_seed, run.caller.as_deref()).await {
                        Ok(found) => passages = found,
                        Err(why) => trouble = Some(format!("it works without the documents: {why}")),
                    }
                }
                None => {
                    trouble = Some("it works without the documents: no knowledge service is known".into())
                }
            }
        }
        let rejected = match feedback.and_then(|feedback| feedback.rejected_artifact.as_deref()) {
            Some(id) => tables::artifacts::get(&self.db, id).await?.map(|artifact| artifact.content),
            None => None,
        };
        let feedback = feedback.map(|feedback| (rejected.unwrap_or_default(), feedback.text.clone()));
        Ok((Material { name: project.name, product_seed, inputs, passages, feedback }, trouble))
    }

    /// The artifact of this run, or else the project's current one.
    async fn input(&self, run: &Run, agent: &str, own: &[String]) -> Result<Option<Artifact>, StoreError> {
        for id in own {
            let artifact = tables::artifacts::get(&self.db, id).await?;
            if let Some(artifact) = artifact.filter(|artifact| artifact.agent == agent) {
                return Ok(Some(artifact));
            }
        }
        tables::artifacts::current(&self.db, &run.project_id, agent).await
    }

    async fn ask(
        &self,
        place: usize,
        agent: &Agent,
        model: &Model,
        material: &Material,
        tried: u32,
        reports: &mpsc::Sender<Report>,
    ) -> Result<Written, Failure> {
        let mut teller = Teller { place, told: 0, at: Instant::now(), reports };
        if !model.can_write() {
            return sketch::write(agent, material, model, tried, &mut teller).await;
        }
        let chat = Chat {
            messages: prompt::messages(agent, material, model),
            max_tokens: agent.max_tokens,
            temperature: agent.temperature,
            stop: Vec::new(),
            // Another try should not come to the same end.
            seed: u64::from(tried),
            urgent: false,
            // We try again by ourselves, as often as the agent says.
            tries: 1,
        };
        // Four bytes to a token, which is near enough.
        let (text, usage) = answer(model, chat, &mut teller, agent.max_tokens / 25).await?;
        written(agent, model, &text, usage)
    }
}

/// The model's whole answer, which is told as it grows: a percent for every so many bytes.
async fn answer(
    model: &Model,
    chat: Chat,
    teller: &mut Teller<'_>,
    bytes_to_a_percent: usize,
) -> Result<(String, Usage), Failure> {
    let most_tokens = chat.max_tokens;
    // A vendor may not keep to what it was told.
    let most_bytes = most_tokens.saturating_mul(MOST_BYTES_TO_A_TOKEN);
    let mut reply = model.chat(chat);
    let mut text = String::new();
    while let Some(piece) = reply.next().await {
        match piece {
            Ok(Piece::Text(more)) => {
                text.push_str(&more);
                if text.len() > most_bytes {
                    let usage =
                        Usage { output_tokens: most_tokens as u64, cut_off: true, ..Usage::default() };
                    return Ok((text, usage));
                }
                teller.tell((text.len() / bytes_to_a_percent.max(1)) as i64).await;
            }
            Ok(Piece::End(usage)) => return Ok((text, usage)),
            Err(error) => {
                let (is_final, wait) = prospects(&error.cause);
                return Err(Failure { message: error.to_string(), is_final, wait });
            }
        }
    }
    Err(Failure::again("the model's answer has no end"))
}

fn written(agent: &Agent, model: &Model, text: &str, usage: Usage) -> Result<Written, Failure> {
    let (content, note) = output::artifact(agent.output, text, usage.cut_off).map_err(Failure::again)?;
    Ok(Written {
        content,
        provider: model.provider().to_owned(),
        model: model.model().to_owned(),
        input_tokens: usage.input_tokens as i64,
        output_tokens: usage.output_tokens as i64,
        note,
    })
}

/// Tells how far an answer is, as it grows.
struct Teller<'a> {
    place: usize,
    told: i64,
    at: Instant,
    reports: &'a mpsc::Sender<Report>,
}

impl Teller<'_> {
    async fn tell(&mut self, percent: i64) {
        let percent = percent.min(MOST_UNFINISHED);
        if percent < self.told + PROGRESS_STEP || self.at.elapsed() < PROGRESS_PAUSE {
            return;
        }
        self.told = percent;
        self.at = Instant::now();
        // Where the driver is gone, this step is about to be.
        let _ = self.reports.send(Report::Progress { place: self.place, percent }).await;
    }
}

/// Whether a failure is the last word, and how long its provider wants to be left alone.
fn prospects(cause: &Cause) -> (bool, Option<Duration>) {
    match cause {
        Cause::NoModel | Cause::TooLong { .. } | Cause::Declined(_) => (true, None),
        Cause::Refused { status, retry_after, .. } => {
            let passes = matches!(status, 408 | 409 | 425 | 429 | 500..);
            (!passes, retry_after.map(|wait| wait.min(LONGEST_PAUSE)))
        }
        Cause::Busy | Cause::Unreachable(_) | Cause::Silent(_) | Cause::Broken(_) | Cause::Failed(_) => {
            (false, None)
        }
    }
}
