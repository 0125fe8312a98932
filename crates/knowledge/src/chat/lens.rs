//! What each agent looks for, where the model is too small to be told: an answer then is made of the sources' own
//! sentences, chosen by the agent's cues and laid out in its way.

use super::agents::Agent;
use super::evidence::Sentence;
use super::source::Source;

#[derive(Clone, Copy)]
pub struct Lens {
    /// Stands above the sentences.
    heading: &'static str,
    layout: Layout,
    /// Sentences at most.
    most: usize,
    /// Words that make a sentence worth more to this agent.
    cues: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Layout {
    Lines,
    Bullets,
    Numbers,
    Boxes,
    /// Those without a cue, then those with one.
    Sides,
}

/// What a cue adds to a sentence.
const CUE: f32 = 0.5;
const HEDGED: &str = "Left open, or said with a reservation:";
/// A sentence that is worth less than this part of the best is not shown.
const LEAST: f32 = 0.7;
const LEAST_IN_LISTS: f32 = 0.4;

impl Lens {
    pub fn of(agent: Agent) -> Self {
        let lens = |heading, layout, most, cues| Self { heading, layout, most, cues };
        match agent {
            Agent::RagChat => lens("", Layout::Lines, 4, &[]),
            Agent::GraphAnalyst => lens("Where the documents connect them:", Layout::Bullets, 4, &[]),
            Agent::ExecutiveSummary => lens(
                "Key points:",
                Layout::Bullets,
                4,
                &["most", "first", "main", "cost", "increase", "total", "percent", "%", "decided", "result"],
            ),
            Agent::TechnicalAuditor => lens(
                "Findings:",
                Layout::Numbers,
                5,
                &[
                    "must", "never", "only", "limit", "at most", "at least", "fail", "error", "not ",
                    "refused", "without",
                ],
            ),
            Agent::FuturePlanner => lens(
                "Next steps that the documents call for:",
                Layout::Numbers,
                5,
                &[
                    "will", "should", "next", "plan", "before", "until", "due", "every", "replace", "need",
                    "by ",
                ],
            ),
            Agent::Coordinator => lens(
                "To be done, and who or what it concerns:",
                Layout::Boxes,
                5,
                &[
                    "must",
                    "should",
                    "responsible",
                    "manager",
                    "team",
                    "needs",
                    "depends",
                    "after",
                    "before",
                    "by ",
                ],
            ),
            Agent::Critic => lens(
                "Borne out:",
                Layout::Sides,
                6,
                &[
                    "but ", "however", "may ", "might", "not ", "unless", "except", "although", "unclear",
                    "never ",
                ],
            ),
        }
    }

    /// What a sentence is worth to this agent beyond what it has to do with the question.
    pub fn bonus(&self, text: &str) -> f32 {
        if self.has_cue(text) { CUE } else { 0.0 }
    }

    /// The sentences that this agent would show, best first.
    pub fn choose<'a>(&self, evidence: &'a [Sentence]) -> Vec<&'a Sentence> {
        let mut ranked: Vec<&Sentence> = evidence.iter().collect();
        ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
        let best = ranked.first().map_or(0.0, |best| best.score);
        // Of sentences that all have little to do with the question, one is shown.
        let least = best.abs() * if self.cues.is_empty() { LEAST } else { LEAST_IN_LISTS };
        let mut chosen: Vec<&Sentence> = ranked.into_iter().take(self.most).collect();
        let worthy = chosen.iter().take_while(|sentence| sentence.score >= least).count();
        chosen.truncate(worthy.max(1));
        chosen
    }

    /// The sentences with their citations, in the agent's layout.
    pub fn lay_out(&self, sources: &[Source], chosen: &[&Sentence], connections: &[String]) -> String {
        let mut lines = Vec::new();
        if !connections.is_empty() {
            lines.push("Connections, the strongest first:".to_owned());
            lines.extend(connections.iter().map(|connection| format!("- {connection}")));
        }
        let (hedged, plain): (Vec<&Sentence>, Vec<&Sentence>) = match self.layout {
            Layout::Sides => chosen.iter().partition(|sentence| self.has_cue(sentence.text(sources))),
            _ => (Vec::new(), chosen.to_vec()),
        };
        if !self.heading.is_empty() && !plain.is_empty() {
            lines.push(self.heading.to_owned());
        }
        for (index, sentence) in plain.into_iter().enumerate() {
            let mark = match self.layout {
                Layout::Lines => String::new(),
                Layout::Bullets | Layout::Sides => "- ".to_owned(),
                Layout::Numbers => format!("{}. ", index + 1),
                Layout::Boxes => "- [ ] ".to_owned(),
            };
            lines.push(mark + &sentence.cited(sources));
        }
        if !hedged.is_empty() {
            lines.push(HEDGED.to_owned());
            lines.extend(hedged.into_iter().map(|sentence| format!("- {}", sentence.cited(sources))));
        }
        lines.join("\n")
    }

    fn has_cue(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.cues.iter().any(|cue| text.contains(cue))
    }
}
