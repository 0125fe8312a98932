//! The step of one agent: what it reads, the model's answer, and the retries. It writes nothing to the database: what it
//! reports goes to the execution of the run.

mod answer;
mod output;
mod prompt;
mod worksheet;

pub use answer::{Report, StepOutput};

use super::run_state::Feedback;
use crate::knowledge::KnowledgeClient;
use crate::live_text::LiveTexts;
use crate::records::{Artifact, Run};
use crate::tables;
use crate::workflow::Agent;
use answer::{Failure, ProgressReporter, read_answer, step_output};
use base::Backoff;
use base::token::Claims;
use kit::identity::Rank;
use kit::page::excerpt;
use llm::{Caller, Chat, DefaultModel, Format, Model, Project, Providers, Purpose, Skill, Who};
use prompt::PromptContext;
use std::sync::Arc;
use std::time::Duration;
use store::{Db, StoreError};
use tokio::sync::{Semaphore, mpsc};

/// Answers that the embedded model writes at a time: it is faster the more it writes together, and refuses more.
const EDGE_CONCURRENCY: usize = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// Characters of a provider's error message that are kept.
const LONGEST_MESSAGE: usize = 2_000;

#[derive(Clone)]
pub struct StepRunner {
    db: Db,
    providers: Arc<Providers>,
    default_model: DefaultModel,
    knowledge: Option<KnowledgeClient>,
    texts: LiveTexts,
    edge_permits: Arc<Semaphore>,
}

impl StepRunner {
    pub fn new(
        db: Db,
        providers: Arc<Providers>,
        default_model: DefaultModel,
        knowledge: Option<KnowledgeClient>,
        texts: LiveTexts,
    ) -> Self {
        let edge_permits = Arc::new(Semaphore::new(EDGE_CONCURRENCY));
        Self { db, providers, default_model, knowledge, texts, edge_permits }
    }

    /// Returns the model of an agent in a run.
    pub fn model(&self, agent: &Agent, run: &Run) -> Model {
        let asked = (run.provider.as_deref(), run.model.as_deref());
        agent.model(asked, &self.providers.chosen(Purpose::Agents, &self.default_model), &self.providers)
    }

    /// Fails if the provider of an agent is a connection that is gone: another model would write in its place.
    fn check_provider(&self, agent: &Agent, run: &Run) -> Result<(), Failure> {
        let asked = (run.provider.as_deref(), run.model.as_deref());
        let default = self.providers.chosen(Purpose::Agents, &self.default_model);
        let (provider, _) = agent.answered_by(asked, &default);
        self.providers.name(provider).map(drop).map_err(|unknown| Failure::permanent(unknown.to_string()))
    }

    /// Runs the step of the agent with this index in its phase, with as many retries as the agent has. `own_inputs` are
    /// artifacts of this run.
    pub async fn run(
        &self,
        index: usize,
        agent: &Agent,
        run: &Run,
        own_inputs: Vec<String>,
        feedback: Option<Feedback>,
        reports: mpsc::Sender<Report>,
    ) -> Result<StepOutput, String> {
        let report =
            async |message: String| drop(reports.send(Report::Trouble { agent: index, message }).await);
        let mut tried = 0;
        loop {
            let model = self.model(agent, run);
            // The wait for a permit is not part of the attempt. A worksheet needs none: its model is not asked.
            let permit = match model.provider() {
                llm::EDGE_AI if model.skill() > Skill::Nothing => self.edge_permits.acquire().await.ok(),
                _ => None,
            };
            let attempt = async {
                self.check_provider(agent, run)?;
                let (context, trouble) = self.gather(agent, run, &own_inputs, feedback.as_ref()).await?;
                if tried == 0
                    && let Some(trouble) = trouble
                {
                    report(trouble).await;
                }
                let text = self.texts.start(&run.id, &agent.name);
                let mut progress = ProgressReporter::new(index, &reports, text);
                self.ask(agent, run, &model, &context, tried, &mut progress).await
            };
            let failure = match tokio::time::timeout(agent.time_limit, attempt).await {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    let limit = agent.time_limit.as_secs_f32();
                    Failure::temporary(format!("the model took longer than {limit} s"))
                }
            };
            let tries = agent.retries + 1;
            tried += 1;
            // A vendor's message may have a NUL, which PostgreSQL does not store, or be a whole page of HTML.
            let message = excerpt(&failure.message, LONGEST_MESSAGE).0.replace('\0', "");
            if failure.is_final || tried >= tries {
                return Err(message);
            }
            let wait = failure.retry_after.unwrap_or_else(|| BACKOFF.pause(tried.into(), self.db.random()));
            let wait_s = wait.as_secs_f32();
            drop(permit);
            report(format!("try {tried} of {tries} failed, the next is in {wait_s:.1} s: {message}")).await;
            tokio::time::sleep(wait).await;
        }
    }

    /// Gathers what the agent reads. Returns also why the documents could not be searched, if they could not.
    async fn gather(
        &self,
        agent: &Agent,
        run: &Run,
        own_inputs: &[String],
        feedback: Option<&Feedback>,
    ) -> Result<(PromptContext, Option<String>), Failure> {
        let deleted = || Failure::permanent("the project was deleted");
        let project = tables::projects::get(&self.db, &run.project_id).await?.ok_or_else(deleted)?;
        let product_seed = tables::projects::seed(&self.db, &project.id).await?.ok_or_else(deleted)?;
        let (name, space) = (project.name, project.space_id);
        let mut inputs = Vec::new();
        for input in &agent.inputs {
            let missing = || {
                Failure::permanent(format!("the artifact of `{input}` is missing: execute its phase again"))
            };
            inputs.push(self.input(run, input, own_inputs).await?.ok_or_else(missing)?);
        }
        let (mut passages, mut trouble) = (Vec::new(), None);
        if agent.search {
            match &self.knowledge {
                Some(knowledge) => {
                    match knowledge
                        .search(&name, &product_seed, space.as_deref(), run.caller.as_deref())
                        .await
                    {
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
        Ok((PromptContext { name, space, product_seed, inputs, passages, feedback }, trouble))
    }

    /// Returns the agent's artifact of this run, or else the project's current one.
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
        agent: &Agent,
        run: &Run,
        model: &Model,
        context: &PromptContext,
        tried: u32,
        progress: &mut ProgressReporter<'_>,
    ) -> Result<StepOutput, Failure> {
        if model.skill() == Skill::Nothing {
            return worksheet::write(agent, context, model, progress);
        }
        let chat = Chat {
            messages: prompt::messages(agent, context, model),
            max_tokens: agent.max_tokens,
            temperature: agent.temperature,
            stop: Vec::new(),
            // With the same seed a retry could give the same answer.
            seed: u64::from(tried),
            urgent: false,
            caller: caller(run, context),
            // The retries are those of `run`.
            tries: 1,
            tools: None,
            format: Format::Text,
        };
        // A token is about four bytes.
        let (text, usage) = read_answer(model, chat, progress, agent.max_tokens / 25).await?;
        step_output(agent, model, &text, usage)
    }
}

/// Returns on whose behalf an agent asks its model, and which project and space it counts to.
fn caller(run: &Run, context: &PromptContext) -> Caller {
    let project = Project { id: run.project_id.clone(), name: context.name.clone() };
    let (project, space) = (Some(project), context.space.clone());
    Caller { who: started_by(run), purpose: Purpose::Agents, project, space }
}

/// Returns who has started a run.
fn started_by(run: &Run) -> Who {
    let claims = run.caller.as_deref().and_then(|claims| serde_json::from_str::<Claims>(claims).ok());
    match (&run.guest_address, claims) {
        (Some(address), _) => Who::Guest(address.clone()),
        (None, Some(claims)) => match Rank::of(&claims) {
            Rank::Administrator => Who::Administrator(claims.project_id),
            Rank::User => Who::User(claims.project_id),
            Rank::Guest => Who::Guest(claims.project_id),
        },
        (None, None) => Who::Local,
    }
}
