//! Where the agents of a run stand, and which of them are due.

use crate::records::{Checkpoint, Trace};
use crate::words::Mark;
use crate::workflow::Phase;

#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Has not begun, or has to begin again.
    Due {
        feedback: Option<Feedback>,
    },
    Running {
        trace: String,
        progress: i64,
        feedback: Option<Feedback>,
    },
    /// Its artifact waits for a person's decision.
    Waiting {
        approval: String,
    },
    Done {
        artifact: String,
    },
}

/// Why an agent works once more on what it has done.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    pub rejected_artifact: Option<String>,
    pub text: String,
}

/// One place for each agent of the phase, in its order.
#[derive(Clone, Debug)]
pub struct Board {
    places: Vec<Place>,
    /// How many steps have ended.
    pub step: i64,
}

impl Board {
    /// As the run's checkpoints and unfinished traces have it.
    pub fn new(phase: &Phase, checkpoints: &[Checkpoint], running: &[Trace]) -> Self {
        let mut board = Self { places: vec![Place::Due { feedback: None }; phase.agents.len()], step: 0 };
        for checkpoint in checkpoints.iter().filter(|checkpoint| checkpoint.mark != Mark::Interrupted) {
            board.step = board.step.max(checkpoint.step);
            if let Some(place) = checkpoint.agent.as_deref().and_then(|agent| phase.position(agent)) {
                board.set(place, place_after(checkpoint));
            }
        }
        for trace in running {
            if let Some(place) = phase.position(&trace.agent) {
                let feedback = board.feedback(place).cloned();
                board.set(
                    place,
                    Place::Running { trace: trace.id.clone(), progress: trace.progress, feedback },
                );
            }
        }
        board
    }

    pub fn place(&self, place: usize) -> &Place {
        &self.places[place]
    }

    pub fn set(&mut self, place: usize, to: Place) {
        self.places[place] = to;
    }

    pub fn feedback(&self, place: usize) -> Option<&Feedback> {
        match &self.places[place] {
            Place::Due { feedback } | Place::Running { feedback, .. } => feedback.as_ref(),
            Place::Waiting { .. } | Place::Done { .. } => None,
        }
    }

    /// Whether `percent` is more than was told before; it then is what was told.
    pub fn advance(&mut self, place: usize, percent: i64) -> bool {
        match &mut self.places[place] {
            Place::Running { progress, .. } if percent > *progress => {
                *progress = percent;
                true
            }
            _ => false,
        }
    }

    pub fn running(&self) -> Vec<usize> {
        self.all(|place| matches!(place, Place::Running { .. }))
    }

    pub fn is_complete(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Done { .. }))
    }

    /// Agents and approvals, in the order of the phase.
    pub fn waiting(&self, phase: &Phase) -> Vec<(String, String)> {
        let places = phase.agents.iter().zip(&self.places);
        let waiting = places.filter_map(|(agent, place)| match place {
            Place::Waiting { approval } => Some((agent.name.clone(), approval.clone())),
            _ => None,
        });
        waiting.collect()
    }

    /// Those whose inputs are there, so many that at most `at_once` are at work. Before a person's decision nobody
    /// begins.
    pub fn due(&self, phase: &Phase, at_once: usize) -> Vec<usize> {
        if self.places.iter().any(|place| matches!(place, Place::Waiting { .. })) {
            return Vec::new();
        }
        let is_done = |input: &String| match phase.position(input) {
            Some(place) => matches!(self.places[place], Place::Done { .. }),
            // Of an earlier phase, which is complete.
            None => true,
        };
        let mut due = self.all(|place| matches!(place, Place::Due { .. }));
        due.retain(|place| phase.agents[*place].inputs.iter().all(is_done));
        due.truncate(at_once.saturating_sub(self.running().len()));
        due
    }

    /// The artifacts that an agent reads of its own phase: of this run, whatever other versions there are.
    pub fn inputs_of_this_phase(&self, phase: &Phase, place: usize) -> Vec<String> {
        let places = phase.agents[place].inputs.iter().filter_map(|input| phase.position(input));
        let artifacts = places.filter_map(|place| match &self.places[place] {
            Place::Done { artifact } => Some(artifact.clone()),
            _ => None,
        });
        artifacts.collect()
    }

    fn all(&self, fits: impl Fn(&Place) -> bool) -> Vec<usize> {
        (0..self.places.len()).filter(|place| fits(&self.places[*place])).collect()
    }
}

fn place_after(checkpoint: &Checkpoint) -> Place {
    let artifact = checkpoint.artifact_id.clone();
    match checkpoint.mark {
        Mark::Waiting => Place::Waiting { approval: checkpoint.id.clone() },
        Mark::Rejected => {
            let text = checkpoint.feedback.clone().unwrap_or_default();
            Place::Due { feedback: Some(Feedback { rejected_artifact: artifact, text }) }
        }
        Mark::Complete | Mark::Approved | Mark::Edited => {
            artifact.map_or(Place::Due { feedback: None }, |artifact| Place::Done { artifact })
        }
        Mark::Interrupted => Place::Due { feedback: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::TraceStatus;
    use crate::workflow::Workflow;

    fn phase() -> Phase {
        Workflow::load(None).unwrap().phase("architecture").unwrap().clone()
    }

    fn checkpoint(agent: &str, step: i64, mark: Mark) -> Checkpoint {
        Checkpoint {
            id: format!("checkpoint {step}"),
            project_id: String::new(),
            run_id: String::new(),
            phase: "architecture".into(),
            agent: Some(agent.into()),
            step,
            mark,
            artifact_id: Some(format!("artifact {step}")),
            feedback: Some("shorter".into()),
            decided_by: None,
            created_at: 0,
        }
    }

    fn due(checkpoints: &[Checkpoint]) -> Vec<usize> {
        Board::new(&phase(), checkpoints, &[]).due(&phase(), 4)
    }

    #[test]
    fn agents_are_due_when_their_inputs_are_done_and_several_at_once() {
        assert_eq!(due(&[]), [0]);
        assert_eq!(due(&[checkpoint("architect", 1, Mark::Complete)]), [1, 2]);
        let board = Board::new(&phase(), &[checkpoint("architect", 1, Mark::Complete)], &[]);
        assert_eq!(board.due(&phase(), 1), [1]);
        assert_eq!(board.inputs_of_this_phase(&phase(), 1), ["artifact 1"]);
    }

    #[test]
    fn no_agent_begins_before_a_decision_and_a_rejection_brings_the_feedback() {
        assert_eq!(due(&[checkpoint("architect", 1, Mark::Waiting)]), NONE);
        assert_eq!(due(&[checkpoint("architect", 1, Mark::Approved)]), [1, 2]);
        let rejected = [checkpoint("architect", 1, Mark::Rejected)];
        assert_eq!(due(&rejected), [0]);
        let board = Board::new(&phase(), &rejected, &[]);
        assert_eq!(board.feedback(0).unwrap().text, "shorter");
        let again = [rejected[0].clone(), checkpoint("architect", 2, Mark::Waiting)];
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
            started_at: 0,
            ended_at: None,
        };
        let mut board = Board::new(&phase(), &[], &[trace]);
        assert_eq!((board.running(), board.due(&phase(), 4)), (vec![0], vec![]));
        assert!(!board.advance(0, 40) && board.advance(0, 41) && !board.advance(0, 12));
    }

    #[test]
    fn a_run_is_complete_when_every_agent_is() {
        let done = ["architect", "data-modeller", "security-engineer"];
        let mut checkpoints: Vec<Checkpoint> =
            done.iter().zip(1..).map(|(agent, step)| checkpoint(agent, step, Mark::Complete)).collect();
        checkpoints.push(checkpoint("architect", 3, Mark::Interrupted));
        let board = Board::new(&phase(), &checkpoints, &[]);
        assert!(board.is_complete() && board.step == 3);
    }
}
