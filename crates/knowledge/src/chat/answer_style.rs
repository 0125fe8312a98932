//! How each agent answers with a model that is too small to follow a prompt: with sentences of the sources, chosen by the
//! agent's cues and laid out in its style.

use super::agents::Agent;
use super::sentence::Sentence;
use super::source::Source;

/// The way in which an agent chooses and lays out sentences.
#[derive(Clone, Copy)]
pub struct AnswerStyle {
    /// The line above the sentences.
    heading: &'static str,
    layout: Layout,
    /// The most sentences.
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
    /// First the sentences without a cue, then those with one.
    Sides,
}

/// What a cue adds to the score of a sentence.
const CUE: f32 = 2.0;
const HEDGED: &str = "Left open, or said with a reservation:";
/// A sentence whose score is lower than the best by more than this is not shown.
const MARGIN: f32 = 2.0;
/// The lowest relevance of a sentence that is shown since it follows the best.
const EXPLAINS: f32 = 0.0;
const EXPLAINS_SHORT: f32 = -4.0;
/// In bytes.
const SHORT: usize = 120;
const MARGIN_IN_LISTS: f32 = 6.0;

impl AnswerStyle {
    pub fn of(agent: Agent) -> Self {
        let style = |heading, layout, most, cues| Self { heading, layout, most, cues };
        match agent {
            Agent::RagChat => style("", Layout::Lines, 3, &[]),
            Agent::GraphAnalyst => style("Where the documents connect them:", Layout::Bullets, 4, &[]),
            Agent::ExecutiveSummary => style(
                "Key points:",
                Layout::Bullets,
                4,
                &["most", "first", "main", "cost", "increase", "total", "percent", "%", "decided", "result"],
            ),
            Agent::TechnicalAuditor => style(
                "Findings:",
                Layout::Numbers,
                5,
                &[
                    "must", "never", "only", "limit", "at most", "at least", "fail", "error", "not ",
                    "refused", "without",
                ],
            ),
            Agent::FuturePlanner => style(
                "Next steps that the documents call for:",
                Layout::Numbers,
                5,
                &[
                    "will", "should", "next", "plan", "before", "until", "due", "every", "replace", "need",
                    "by ",
                ],
            ),
            Agent::Coordinator => style(
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
            Agent::Critic => style(
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

    /// Returns what the agent's cues add to the score of a sentence.
    pub fn bonus(&self, text: &str) -> f32 {
        if self.has_cue(text) { CUE } else { 0.0 }
    }

    /// Chooses the sentences that this agent shows, of some that are sorted.
    pub fn choose<'a>(&self, ranked: &'a [Sentence]) -> Vec<&'a Sentence> {
        let mut chosen: Vec<&Sentence> = Vec::new();
        let best = ranked.first().map_or(0.0, |best| best.score);
        for sentence in ranked {
            // The more is said already, the nearer the next must be to the best.
            let margin =
                if self.cues.is_empty() { MARGIN / chosen.len().max(1) as f32 } else { MARGIN_IN_LISTS };
            if chosen.len() == self.most || sentence.score < best - margin {
                break;
            }
            let is_said = chosen
                .iter()
                .any(|said| said.source == sentence.source && said.unit.overlaps(&sentence.unit));
            if !is_said {
                chosen.push(sentence);
            }
        }
        // What follows the only sentence often explains it, above all a short one.
        if let (true, [only]) = (self.cues.is_empty(), chosen.as_slice()) {
            let least = if only.unit.range.len() < SHORT { EXPLAINS_SHORT } else { EXPLAINS };
            chosen.extend(ranked.iter().find(|other| other.follows(only) && other.relevance >= least));
        }
        chosen
    }

    /// Returns the sentences with their citations, in the agent's layout.
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
