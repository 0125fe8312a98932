//! The states of a run's agents, and which of them are due.

use crate::records::{Checkpoint, Trace};
use crate::status::CheckpointStatus;
use crate::workflow::{Agent, Phase};
use std::collections::HashMap;

/// The state of one agent in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentState {
    /// It has not begun, or has to begin again.
    Due {
        feedback: Option<Feedback>,
    },
    Running {
        trace: String,
        progress: i64,
        feedback: Option<Feedback>,
    },
    /// Its artifact waits for approval.
    Waiting {
        approval: String,
    },
    Done {
        artifact: String,
    },
}

/// Why an agent has to work again.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    pub rejected_artifact: Option<String>,
    pub text: String,
}

/// The states of all agents of a run, by their index in the phase.
#[derive(Clone, Debug)]
pub struct RunState {
    agents: Vec<AgentState>,
    /// The newest version of each agent's artifact; 0 if it has none.
    versions: Vec<i64>,
    /// How many steps have ended.
    pub step: i64,
}

impl RunState {
    /// Makes the state from the run's checkpoints, its running traces, and the newest versions of the artifacts by agent.
    pub fn new(
        phase: &Phase,
        checkpoints: &[Checkpoint],
        running: &[Trace],
        newest: &HashMap<String, i64>,
    ) -> Self {
        let newest_of = |agent: &Agent| newest.get(&agent.name).copied().unwrap_or(0);
        let mut state = Self {
            agents: vec![AgentState::Due { feedback: None }; phase.agents.len()],
            versions: phase.agents.iter().map(newest_of).collect(),
            step: 0,
        };
        let checkpoints =
            checkpoints.iter().filter(|checkpoint| checkpoint.status != CheckpointStatus::Interrupted);
        for checkpoint in checkpoints {
            state.step = state.step.max(checkpoint.step);
            if let Some(index) = checkpoint.agent.as_deref().and_then(|agent| phase.position(agent)) {
                state.set(index, state_after(checkpoint));
            }
        }
        for trace in running {
            if let Some(index) = phase.position(&trace.agent) {
                let feedback = state.feedback(index).cloned();
                let (trace, progress) = (trace.id.clone(), trace.progress);
                state.set(index, AgentState::Running { trace, progress, feedback });
            }
        }
        state
    }

    pub fn agent(&self, index: usize) -> &AgentState {
        &self.agents[index]
    }

    pub fn set(&mut self, index: usize, state: AgentState) {
        self.agents[index] = state;
    }

    /// Counts a new version of an agent's artifact, and returns its number.
    pub fn next_version(&mut self, index: usize) -> i64 {
        self.versions[index] += 1;
        self.versions[index]
    }

    pub fn feedback(&self, index: usize) -> Option<&Feedback> {
        match &self.agents[index] {
            AgentState::Due { feedback } | AgentState::Running { feedback, .. } => feedback.as_ref(),
            AgentState::Waiting { .. } | AgentState::Done { .. } => None,
        }
    }

    /// Raises the progress of a running agent. Returns false if it is not higher than before.
    pub fn advance(&mut self, index: usize, percent: i64) -> bool {
        match &mut self.agents[index] {
            AgentState::Running { progress, .. } if percent > *progress => {
                *progress = percent;
                true
            }
            _ => false,
        }
    }

    /// Returns the indexes of the agents at work.
    pub fn running(&self) -> Vec<usize> {
        self.all(|agent| matches!(agent, AgentState::Running { .. }))
    }

    pub fn is_complete(&self) -> bool {
        self.agents.iter().all(|agent| matches!(agent, AgentState::Done { .. }))
    }

    /// Returns the agents whose artifacts wait, each with the id of its approval, in the order of the phase.
    pub fn waiting(&self, phase: &Phase) -> Vec<(String, String)> {
        let agents = phase.agents.iter().zip(&self.agents);
        let waiting = agents.filter_map(|(agent, state)| match state {
            AgentState::Waiting { approval } => Some((agent.name.clone(), approval.clone())),
            _ => None,
        });
        waiting.collect()
    }

    /// Returns the agents that can begin, so that at most `max_running` are at work: those whose inputs are done. While an
    /// artifact waits for approval, no agent begins.
    pub fn due(&self, phase: &Phase, max_running: usize) -> Vec<usize> {
        if self.agents.iter().any(|agent| matches!(agent, AgentState::Waiting { .. })) {
            return Vec::new();
        }
        let is_done = |input: &String| match phase.position(input) {
            Some(index) => matches!(self.agents[index], AgentState::Done { .. }),
            // An agent of an earlier phase, which is complete.
            None => true,
        };
        let mut due = self.all(|agent| matches!(agent, AgentState::Due { .. }));
        due.retain(|index| phase.agents[*index].inputs.iter().all(is_done));
        due.truncate(max_running.saturating_sub(self.running().len()));
        due
    }

    /// Returns the artifacts of this run that an agent reads. They count, whatever other versions there are.
    pub fn inputs_of_this_phase(&self, phase: &Phase, index: usize) -> Vec<String> {
        let inputs = phase.agents[index].inputs.iter().filter_map(|input| phase.position(input));
        let artifacts = inputs.filter_map(|input| match &self.agents[input] {
            AgentState::Done { artifact } => Some(artifact.clone()),
            _ => None,
        });
        artifacts.collect()
    }

    fn all(&self, fits: impl Fn(&AgentState) -> bool) -> Vec<usize> {
        (0..self.agents.len()).filter(|index| fits(&self.agents[*index])).collect()
    }
}

fn state_after(checkpoint: &Checkpoint) -> AgentState {
    let artifact = checkpoint.artifact_id.clone();
    match checkpoint.status {
        CheckpointStatus::Waiting => AgentState::Waiting { approval: checkpoint.id.clone() },
        CheckpointStatus::Rejected => {
            let text = checkpoint.feedback.clone().unwrap_or_default();
            AgentState::Due { feedback: Some(Feedback { rejected_artifact: artifact, text }) }
        }
        CheckpointStatus::Complete | CheckpointStatus::Approved | CheckpointStatus::Edited => {
            artifact.map_or(AgentState::Due { feedback: None }, |artifact| AgentState::Done { artifact })
        }
        CheckpointStatus::Interrupted => AgentState::Due { feedback: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::TraceStatus;
    use crate::workflow::Workflow;
    use kit::fields::Time;

    fn phase() -> Phase {
        Workflow::load(None).unwrap().phase("architecture").unwrap().clone()
    }

    fn checkpoint(agent: &str, step: i64, status: CheckpointStatus) -> Checkpoint {
        Checkpoint {
            id: format!("checkpoint {step}"),
            project_id: String::new(),
            run_id: String::new(),
            phase: "architecture".into(),
            agent: Some(agent.into()),
            step,
            status,
            artifact_id: Some(format!("artifact {step}")),
            feedback: Some("shorter".into()),
            decided_by: None,
            decided_at: None,
            created_at: Time(0),
        }
    }

    fn due(checkpoints: &[Checkpoint]) -> Vec<usize> {
        RunState::new(&phase(), checkpoints, &[], &HashMap::new()).due(&phase(), 4)
    }

    #[test]
    fn agents_are_due_when_their_inputs_are_done_and_several_at_once() {
        assert_eq!(due(&[]), [0]);
        assert_eq!(due(&[checkpoint("architect", 1, CheckpointStatus::Complete)]), [1, 2]);
        let state = RunState::new(
            &phase(),
            &[checkpoint("architect", 1, CheckpointStatus::Complete)],
            &[],
            &HashMap::new(),
        );
        assert_eq!(state.due(&phase(), 1), [1]);
        assert_eq!(state.inputs_of_this_phase(&phase(), 1), ["artifact 1"]);
    }

    #[test]
    fn no_agent_begins_before_a_decision_and_a_rejection_brings_the_feedback() {
        assert_eq!(due(&[checkpoint("architect", 1, CheckpointStatus::Waiting)]), NONE);
        assert_eq!(due(&[checkpoint("architect", 1, CheckpointStatus::Approved)]), [1, 2]);
        let rejected = [checkpoint("architect", 1, CheckpointStatus::Rejected)];
        assert_eq!(due(&rejected), [0]);
        let state = RunState::new(&phase(), &rejected, &[], &HashMap::new());
        assert_eq!(state.feedback(0).unwrap().text, "shorter");
        let again = [rejected[0].clone(), checkpoint("architect", 2, CheckpointStatus::Waiting)];
        assert_eq!(due(&again), NONE);
    }

    const NONE: [usize; 0] = [];

    #[test]
    fn a_step_of_a_dead_worker_is_running_and_its_progress_only_rises() {
        let trace = Trace {
            id: "trace".into(),
            project_id: String::new(),
            run_id: String::new(),
            phase: "architecture".into(),
            agent: "architect".into(),
            status: TraceStatus::Running,
            progress: 40,
            provider: String::new(),
            model: String::new(),
            input_tokens: None,
            output_tokens: None,
            error: None,
            started_at: Time(0),
            ended_at: None,
        };
        let mut state = RunState::new(&phase(), &[], &[trace], &HashMap::from([("architect".into(), 2)]));
        assert_eq!((state.running(), state.due(&phase(), 4)), (vec![0], vec![]));
        assert!(!state.advance(0, 40) && state.advance(0, 41) && !state.advance(0, 12));
        assert_eq!((state.next_version(0), state.next_version(0), state.next_version(1)), (3, 4, 1));
    }

    #[test]
    fn a_run_is_complete_when_every_agent_is() {
        let done = ["architect", "data-modeller", "security-engineer"];
        let mut checkpoints: Vec<Checkpoint> = done
            .iter()
            .zip(1..)
            .map(|(agent, step)| checkpoint(agent, step, CheckpointStatus::Complete))
            .collect();
        checkpoints.push(checkpoint("architect", 3, CheckpointStatus::Interrupted));
        let state = RunState::new(&phase(), &checkpoints, &[], &HashMap::new());
        assert!(state.is_complete() && state.step == 3);
    }
}
