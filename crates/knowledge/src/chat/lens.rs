//! What each agent looks for, where the model is too small to be told: an answer then is made of the sources' own
//! sentences, chosen and laid out by the agent's lens.

use super::agents::Agent;
use super::evidence::Sentence;
use super::source::Source;

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
}

/// What a cue adds to a sentence, and what a figure does for an agent that has no cues.
const CUE: f32 = 0.3;
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
                "What the documents bear out, and where they hedge:",
                Layout::Bullets,
                5,
                &["but", "however", "may", "might", "only", "not ", "unless", "except", "although", "about"],
            ),
        }
    }

    /// The sentences that this agent would show, best first.
    pub fn choose<'a>(&self, sources: &[Source], evidence: &'a [Sentence]) -> Vec<&'a Sentence> {
        let worth = |sentence: &Sentence| {
            let text = sentence.text(sources).to_lowercase();
            let has_cue = self.cues.iter().any(|cue| text.contains(cue));
            sentence.score + if has_cue { CUE } else { 0.0 }
        };
        let mut ranked: Vec<(f32, &Sentence)> = evidence.iter().map(|one| (worth(one), one)).collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        let best = ranked.first().map_or(0.0, |(worth, _)| *worth);
        let least = best * if self.cues.is_empty() { LEAST } else { LEAST_IN_LISTS };
        let worthy = ranked.into_iter().take(self.most).filter(|(worth, _)| *worth >= least);
        worthy.map(|(_, sentence)| sentence).collect()
    }

    /// The sentences with their citations, in the agent's layout.
    pub fn lay_out(&self, sources: &[Source], chosen: &[&Sentence], connections: &[String]) -> String {
        let mut lines = Vec::new();
        if !connections.is_empty() {
            lines.push("Connections, the strongest first:".to_owned());
            lines.extend(connections.iter().map(|connection| format!("- {connection}")));
        }
        if !self.heading.is_empty() {
            lines.push(self.heading.to_owned());
        }
        for (index, sentence) in chosen.iter().enumerate() {
            let mark = match self.layout {
                Layout::Lines => String::new(),
                Layout::Bullets => "- ".to_owned(),
                Layout::Numbers => format!("{}. ", index + 1),
                Layout::Boxes => "- [ ] ".to_owned(),
            };
            lines.push(format!("{mark}{} [{}]", sentence.plain(sources), sentence.source + 1));
        }
        lines.join("\n")
    }
}
