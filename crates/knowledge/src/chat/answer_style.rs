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
    /// A cue that counts only without the words beside it.
    weak: Option<(&'static str, &'static [&'static str])>,
}

impl Kind {
    const fn new(name: &'static str, cues: &'static [&'static str]) -> Self {
        Self { name, cues, weak: None }
    }

    /// Returns whether a text is of this kind. Its words are in lower case between blanks.
    fn is_of(&self, words: &str) -> bool {
        let has = |cue: &&str| words.contains(&format!(" {cue} "));
        let is_weak = self.weak.is_some_and(|(cue, unless)| has(&cue) && !unless.iter().any(has));
        self.cues.iter().any(has) || is_weak
    }
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
const NO_TASKS: &str = "The documents name no tasks for this. What they say:";

#[rustfmt::skip]
const FIGURES: &[Kind] = &[
    Kind::new("", &["most", "main", "total", "percent", "cost", "costs", "decided", "result", "increase", "overall"]),
];
#[rustfmt::skip]
const AUDITED: &[Kind] = &[
    Kind::new("Failure", &["fail", "fails", "failed", "error", "errors", "refused", "crash", "lost", "corrupt"]),
    Kind::new("Limit", &[
        "at most", "at least", "up to", "limit", "limited", "maximum", "minimum", "only", "no more than",
    ]),
    Kind::new("Requirement", &["must", "shall", "required", "requires", "has to", "have to", "should"]),
    Kind::new("Restriction", &["never", "cannot", "not", "without", "unless", "except"]),
];
#[rustfmt::skip]
const PLANNED: &[Kind] = &[
    Kind {
        weak: Some(("will", GENERAL)),
        ..Kind::new("Planned:", &[
            "plan to", "plans to", "planned", "roadmap", "intends to", "upcoming", "in the future",
            "future version", "future versions", "future release", "future releases", "next release", "next version",
            "next year", "next month", "next week", "next step", "next steps", "next is", "is next",
        ])
    },
    Kind::new("By when:", &["is due", "are due", "due on", "due by", "deadline", "no later than", "by the end"]),
    Kind::new("Again and again:", &[
        "every day", "every week", "every month", "every year", "every second", "every third", "annually", "yearly",
        "monthly", "weekly", "daily", "once a",
    ]),
];
/// With these, "will" says what happens in general.
#[rustfmt::skip]
const GENERAL: &[&str] = &[
    "if", "when", "whenever", "you", "your", "can", "may", "might", "would", "occasionally", "usually", "always",
    "often", "automatically", "default", "then", "option", "not",
];
#[rustfmt::skip]
const TASKS: &[Kind] = &[
    Kind {
        weak: Some(("should", &["automatically", "if"])),
        ..Kind::new("To be done:", &[
            "must", "shall", "needs", "need to", "has to", "have to", "replace", "check", "make sure", "ensure",
            "responsible",
        ])
    },
    Kind::new("What it depends on:", &[
        "after", "before", "once", "until", "depends", "requires", "first", "unless", "if",
    ]),
];

const RESERVED: &[Kind] = &[Kind::new("", &critique::RESERVED)];

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
            let is_said =
                chosen.iter().any(|said| said.source == sentence.source && said.unit.shows(&sentence.unit));
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
                let kinds: Vec<Option<usize>> =
                    chosen.iter().map(|part| self.kind(&part.plain(sources))).collect();
                // Without a task there is nothing to depend on: all is one list.
                let has_none = self.layout == Layout::Boxes && !kinds.contains(&Some(0));
                let shown = if has_none { &[] } else { self.kinds };
                let groups = shown.iter().enumerate().map(|(index, kind)| (Some(index), kind.name));
                let rest = (None, if has_none { NO_TASKS } else { BACKGROUND });
                for (group, name) in groups.chain([rest]) {
                    let mark = if self.layout == Layout::Boxes && group == Some(0) { "- [ ] " } else { "- " };
                    let parts = chosen.iter().zip(&kinds);
                    let parts = parts.filter(|(_, kind)| has_none || **kind == group);
                    let parts: Vec<String> =
                        parts.map(|(part, _)| format!("{mark}{}", cited(part))).collect();
                    if !parts.is_empty() {
                        lines.push(name.to_owned());
                        lines.extend(parts);
                    }
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
        let text = format!(" {} ", words.join(" ")).replace(" due to ", " ");
        self.kinds.iter().position(|kind| kind.is_of(&text))
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
        let general =
            ["It will stop if the oil is low.", "The wear is due to heat.", "It is tried the next time."];
        assert_eq!(shown(Agent::FuturePlanner, &general), "");
        assert_eq!(
            shown(Agent::Coordinator, &TEXTS),
            "To be done:\n- [ ] The seals must be replaced. [1]\nBackground:\n- The pump fails without oil. [2]\n\
            - It will be painted. [3]\n- The pump is blue. [4]"
        );
        assert_eq!(
            shown(
                Agent::Coordinator,
                &["It should be written automatically.", "It is lost if the power fails."]
            ),
            "The documents name no tasks for this. What they say:\n- It should be written automatically. [1]\n\
            - It is lost if the power fails. [2]"
        );
    }

    #[test]
    fn a_cue_is_a_whole_word() {
        let style = AnswerStyle::of(Agent::FuturePlanner);
        assert!(style.bonus("What is next?") > 0.0);
        assert!(style.bonus("The plane and the willow.") == 0.0);
    }
}
