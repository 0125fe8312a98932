//! How each agent answers with a model that is too small to follow a prompt: with parts of the sources, chosen by what the
//! agent looks for and laid out in its way.

use super::agents::Agent;
use super::critique;
use super::sentence::Sentence;
use super::source::Source;

/// The way in which an agent chooses and lays out parts.
pub struct AnswerStyle {
    /// The line above the parts.
    heading: &'static str,
    layout: Layout,
    /// The most parts.
    most: usize,
    /// What the agent looks for.
    kinds: &'static [Kind],
    /// What it says if there is nothing of these kinds; without it, it shows other parts as well.
    without: Option<&'static str>,
}

/// A kind of statement, known by its words.
struct Kind {
    name: &'static str,
    cues: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Lines,
    Bullets,
    /// Numbered, each with its kind.
    Findings,
    /// By kinds, in their order.
    Groups,
    /// By kinds, as boxes to tick; what is of no kind is the background.
    Boxes,
}

/// What a cue adds to the score of a part.
const CUE: f32 = 2.0;
/// A part whose score is lower than the best by more than this is not shown.
const MARGIN: f32 = 2.0;
const MARGIN_IN_LISTS: f32 = 6.0;
/// The lowest relevance of a sentence that is shown since it follows the best.
const EXPLAINS: f32 = 0.0;
const EXPLAINS_SHORT: f32 = -8.0;
/// In bytes.
const SHORT: usize = 120;
const OTHER: &str = "Fact";
const BACKGROUND: &str = "Background:";

const FIGURES: &[Kind] = &[Kind {
    name: "",
    cues: &["most", "main", "total", "percent", "cost", "costs", "decided", "result", "increase", "overall"],
}];
const AUDITED: &[Kind] = &[
    Kind {
        name: "Failure",
        cues: &["fail", "fails", "failed", "error", "errors", "refused", "crash", "lost"],
    },
    Kind {
        name: "Limit",
        cues: &[
            "at most",
            "at least",
            "up to",
            "limit",
            "limited",
            "maximum",
            "minimum",
            "only",
            "no more than",
        ],
    },
    Kind {
        name: "Requirement",
        cues: &["must", "shall", "required", "requires", "has to", "have to", "should"],
    },
    Kind { name: "Restriction", cues: &["never", "cannot", "not", "without", "unless", "except"] },
];
const PLANNED: &[Kind] = &[
    Kind {
        name: "Planned:",
        cues: &[
            "will", "plan", "plans", "planned", "next", "future", "roadmap", "intend", "upcoming", "later",
        ],
    },
    Kind { name: "By when:", cues: &["until", "due", "deadline", "no later than", "by the end", "within"] },
    Kind { name: "Again and again:", cues: &["every", "annually", "yearly", "monthly", "weekly", "daily"] },
];
const TASKS: &[Kind] = &[
    Kind {
        name: "To be done:",
        cues: &[
            "must",
            "should",
            "shall",
            "needs",
            "need to",
            "has to",
            "have to",
            "replace",
            "check",
            "make sure",
            "ensure",
            "responsible",
        ],
    },
    Kind {
        name: "What it depends on:",
        cues: &["after", "before", "once", "until", "depends", "requires", "first", "unless", "if"],
    },
];

const RESERVED: &[Kind] = &[Kind { name: "", cues: &critique::RESERVED }];

impl AnswerStyle {
    pub fn of(agent: Agent) -> Self {
        let style = |heading, layout, most, kinds| Self { heading, layout, most, kinds, without: None };
        match agent {
            Agent::RagChat => style("", Layout::Lines, 2, &[]),
            Agent::GraphAnalyst => style("Where the documents connect them:", Layout::Bullets, 4, &[]),
            Agent::ExecutiveSummary => style("Key points:", Layout::Bullets, 4, FIGURES),
            Agent::TechnicalAuditor => style("Findings:", Layout::Findings, 5, AUDITED),
            Agent::FuturePlanner => Self {
                without: Some("The documents say nothing about plans for this."),
                ..style("", Layout::Groups, 5, PLANNED)
            },
            Agent::Coordinator => style("", Layout::Boxes, 6, TASKS),
            // Laid out by `critique`.
            Agent::Critic => style("", Layout::Lines, 5, RESERVED),
        }
    }

    /// Returns what the agent's cues add to the score of a part.
    pub fn bonus(&self, text: &str) -> f32 {
        if self.kind(text).is_some() { CUE } else { 0.0 }
    }

    /// Chooses the parts that this agent shows, of some that are sorted.
    pub fn choose<'a>(&self, sources: &[Source], ranked: &'a [Sentence]) -> Vec<&'a Sentence> {
        let mut chosen: Vec<&Sentence> = Vec::new();
        let best = ranked.first().map_or(0.0, |best| best.score);
        for sentence in ranked {
            // The more is said already, the nearer the next must be to the best.
            let margin =
                if self.kinds.is_empty() { MARGIN / chosen.len().max(1) as f32 } else { MARGIN_IN_LISTS };
            if chosen.len() == self.most || sentence.score < best - margin {
                break;
            }
            let is_wanted = self.without.is_none() || self.kind(&sentence.plain(sources)).is_some();
            let is_said = chosen
                .iter()
                .any(|said| said.source == sentence.source && said.unit.overlaps(&sentence.unit));
            let explains = chosen.is_empty() || !sentence.is_question(sources);
            if is_wanted && !is_said && explains {
                chosen.push(sentence);
            }
        }
        // What follows the only sentence often explains it, above all a short one.
        if let (true, [only]) = (self.kinds.is_empty(), chosen.as_slice()) {
            let least = if only.unit.range.len() < SHORT { EXPLAINS_SHORT } else { EXPLAINS };
            let explains = |other: &Sentence| other.relevance >= least && !other.is_question(sources);
            chosen.extend(ranked.iter().find(|other| other.follows(only) && explains(other)));
        }
        chosen
    }

    /// Returns whether it answers in a few sentences, and looks for nothing in particular.
    pub fn is_plain(&self) -> bool {
        self.kinds.is_empty() && self.layout == Layout::Lines
    }

    /// Returns what is said if no part is of the agent's kinds.
    pub fn without(&self) -> Option<&'static str> {
        self.without
    }

    /// Returns the parts with their citations, in the agent's layout.
    pub fn lay_out(&self, sources: &[Source], chosen: &[&Sentence], connections: &[String]) -> String {
        let mut lines = Vec::new();
        if !connections.is_empty() {
            lines.push("Connections, the strongest first:".to_owned());
            lines.extend(connections.iter().map(|connection| format!("- {connection}")));
        }
        if !self.heading.is_empty() {
            lines.push(self.heading.to_owned());
        }
        let cited = |sentence: &&Sentence| sentence.cited(sources);
        match self.layout {
            Layout::Lines => lines.extend(chosen.iter().map(cited)),
            Layout::Bullets => lines.extend(chosen.iter().map(|part| format!("- {}", cited(part)))),
            Layout::Findings => {
                let finding = |(index, part): (usize, &&Sentence)| {
                    let kind = self.kind(&part.plain(sources)).map_or(OTHER, |kind| self.kinds[kind].name);
                    format!("{}. **{kind}:** {}", index + 1, cited(part))
                };
                lines.extend(chosen.iter().enumerate().map(finding));
            }
            Layout::Groups | Layout::Boxes => {
                let is_of = |part: &&&Sentence, kind| self.kind(&part.plain(sources)) == kind;
                for (index, kind) in self.kinds.iter().enumerate() {
                    let mark = if self.layout == Layout::Boxes && index == 0 { "- [ ] " } else { "- " };
                    let parts = chosen.iter().filter(|part| is_of(part, Some(index)));
                    let parts: Vec<String> = parts.map(|part| format!("{mark}{}", cited(part))).collect();
                    if !parts.is_empty() {
                        lines.push(kind.name.to_owned());
                        lines.extend(parts);
                    }
                }
                let others = chosen.iter().filter(|part| is_of(part, None));
                let others: Vec<String> = others.map(|part| format!("- {}", cited(part))).collect();
                if !others.is_empty() {
                    lines.push(BACKGROUND.to_owned());
                    lines.extend(others);
                }
            }
        }
        lines.join("\n")
    }

    /// Returns the first kind of which a text has a cue, as its index.
    fn kind(&self, text: &str) -> Option<usize> {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let text = format!(" {} ", words.join(" "));
        self.kinds.iter().position(|kind| kind.cues.iter().any(|cue| text.contains(&format!(" {cue} "))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::units;
    use super::*;

    fn shown(agent: Agent, texts: &[&str]) -> String {
        let sources = Source::of_texts(texts.iter().copied());
        let sentences: Vec<Sentence> = (0..)
            .zip(texts)
            .flat_map(|(source, text)| {
                let sentence = move |unit| Sentence::new(source, unit);
                units(text).into_iter().map(sentence)
            })
            .collect();
        let style = AnswerStyle::of(agent);
        style.lay_out(&sources, &style.choose(&sources, &sentences), &[])
    }

    const TEXTS: [&str; 4] = [
        "The seals must be replaced.",
        "The pump fails without oil.",
        "It will be painted.",
        "The pump is blue.",
    ];

    #[test]
    fn each_agent_shows_what_it_is_for() {
        assert_eq!(
            shown(Agent::TechnicalAuditor, &TEXTS),
            "Findings:\n1. **Requirement:** The seals must be replaced. [1]\n\
            2. **Failure:** The pump fails without oil. [2]\n3. **Fact:** It will be painted. [3]\n\
            4. **Fact:** The pump is blue. [4]"
        );
        assert_eq!(shown(Agent::FuturePlanner, &TEXTS), "Planned:\n- It will be painted. [3]");
        assert_eq!(shown(Agent::FuturePlanner, &TEXTS[3..]), "");
        assert_eq!(
            shown(Agent::Coordinator, &TEXTS),
            "To be done:\n- [ ] The seals must be replaced. [1]\nBackground:\n- The pump fails without oil. [2]\n\
            - It will be painted. [3]\n- The pump is blue. [4]"
        );
    }

    #[test]
    fn a_cue_is_a_whole_word() {
        let style = AnswerStyle::of(Agent::FuturePlanner);
        assert!(style.bonus("What is next?") > 0.0);
        assert!(style.bonus("The plane and the willow.") == 0.0);
    }
}
