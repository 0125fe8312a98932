//! Reads a workflow from its file. All faults are reported at once, each with its line.

use super::{Agent, Output, Phase, Workflow};
use base::line_at;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::path::Path;
use std::time::Duration;
use strum::VariantNames;
use toml::Spanned;

const LONGEST_NAME: usize = 64;
const MOST_TOKENS: usize = 32_768;
const MOST_RETRIES: u32 = 100;
const DEFAULT_TEMPERATURE: f32 = 0.2;
const DEFAULT_MAX_TOKENS: usize = 700;
const DEFAULT_RETRIES: u32 = 2;
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counts from 1; absent if the file itself cannot be read.
    pub line: Option<usize>,
    pub message: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Faults {
    /// The path as it was given.
    pub file: String,
    pub all: Vec<Fault>,
}

impl Faults {
    pub(super) fn of_file(file: &Path, message: &str) -> Self {
        let fault = Fault { line: None, message: format!("cannot be read: {message}") };
        Self { file: file.display().to_string(), all: vec![fault] }
    }

    pub(super) fn in_file(self, file: &Path) -> Self {
        Self { file: file.display().to_string(), ..self }
    }
}

/// One line for each fault.
impl Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.all.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            match fault.line {
                Some(line) => write!(f, "{separator}{} line {line}: {}", self.file, fault.message)?,
                None => write!(f, "{separator}{} {}", self.file, fault.message)?,
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkflow {
    #[serde(default)]
    phase: Vec<RawPhase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPhase {
    name: Spanned<String>,
    #[serde(default)]
    agent: Vec<RawAgent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAgent {
    name: Spanned<String>,
    prompt: Spanned<String>,
    #[serde(default)]
    inputs: Vec<Spanned<String>>,
    output: Option<Spanned<String>>,
    provider: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    temperature: Option<Spanned<f32>>,
    max_tokens: Option<Spanned<usize>>,
    #[serde(default)]
    approval: bool,
    retries: Option<Spanned<u32>>,
    time_limit: Option<Spanned<String>>,
    #[serde(default)]
    search: bool,
}

/// Parses a workflow. `prompt` reads the text of a prompt file.
pub fn parse(text: &str, prompt: impl Fn(&str) -> Result<String, String>) -> Result<Workflow, Faults> {
    let mut finder = Finder { text, faults: Vec::new() };
    let raw: RawWorkflow = match toml::from_str(text) {
        Ok(raw) => raw,
        Err(error) => {
            finder.fault(error.span().map_or(0, |span| span.start), error.message().trim_end());
            return Err(finder.into_faults());
        }
    };
    if raw.phase.is_empty() {
        finder.fault(0, "there is no `[[phase]]`");
    }
    finder.check_names(&raw);
    for (index, phase) in raw.phase.iter().enumerate() {
        finder.check_inputs(&raw.phase[..index], phase);
    }
    let phases = raw.phase.iter().map(|phase| finder.phase(phase, &prompt)).collect();
    if finder.faults.is_empty() { Ok(Workflow { phases }) } else { Err(finder.into_faults()) }
}

struct Finder<'a> {
    text: &'a str,
    faults: Vec<(usize, String)>,
}

impl Finder<'_> {
    /// Adds a fault at a byte of the text.
    fn fault(&mut self, offset: usize, message: impl Into<String>) {
        self.faults.push((offset, message.into()));
    }

    /// Returns the faults in the order of their lines.
    fn into_faults(mut self) -> Faults {
        self.faults.sort_by_key(|(offset, _)| *offset);
        let faults = self.faults.iter().map(|(offset, message)| Fault {
            line: Some(line_at(self.text, *offset)),
            message: message.clone(),
        });
        Faults { file: "the workflow".to_owned(), all: faults.collect() }
    }

    fn check_names(&mut self, raw: &RawWorkflow) {
        let (mut phases, mut agents) = (BTreeSet::new(), BTreeSet::new());
        for phase in &raw.phase {
            self.check_name("phase", &phase.name, &mut phases);
            if phase.agent.is_empty() {
                self.fault(phase.name.span().start, format!("phase `{}` has no agent", phase.name.get_ref()));
            }
            for agent in &phase.agent {
                self.check_name("agent", &agent.name, &mut agents);
            }
        }
    }

    fn check_name<'a>(&mut self, what: &str, name: &'a Spanned<String>, seen: &mut BTreeSet<&'a str>) {
        let (offset, text) = (name.span().start, name.get_ref().as_str());
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() || text.len() > LONGEST_NAME || !text.bytes().all(allowed) {
            let article = if what == "agent" { "an" } else { "a" };
            let message =
                format!("`{text}` is no name of {article} {what}: expected 1 to {LONGEST_NAME} of a-z 0-9 -");
            self.fault(offset, message);
        }
        if !seen.insert(text) {
            self.fault(offset, format!("there is another {what} named `{text}`"));
        }
    }

    fn check_inputs(&mut self, earlier: &[RawPhase], phase: &RawPhase) {
        let known: Vec<&str> = earlier
            .iter()
            .chain([phase])
            .flat_map(|phase| &phase.agent)
            .map(|agent| agent.name.get_ref().as_str())
            .collect();
        for agent in &phase.agent {
            for input in agent.inputs.iter().filter(|input| !known.contains(&input.get_ref().as_str())) {
                let message = format!(
                    "unknown input `{}` of agent `{}`: one of the agents of this phase or of earlier ones",
                    input.get_ref(),
                    agent.name.get_ref()
                );
                self.fault(input.span().start, message);
            }
        }
        if let Some(cycle) = cycle(phase) {
            let names: Vec<String> =
                cycle.iter().map(|agent| format!("`{}`", agent.name.get_ref())).collect();
            let message = format!("a cycle: {} wait for each other's artifacts", names.join(", "));
            let message = if names.len() == 1 {
                format!("a cycle: {} waits for its own artifact", names[0])
            } else {
                message
            };
            self.fault(cycle[0].name.span().start, message);
        }
    }

    fn phase(&mut self, raw: &RawPhase, prompt: &impl Fn(&str) -> Result<String, String>) -> Phase {
        let agents = raw.agent.iter().map(|agent| self.agent(agent, prompt)).collect();
        Phase { name: raw.name.get_ref().clone(), agents }
    }

    fn agent(&mut self, raw: &RawAgent, prompt: &impl Fn(&str) -> Result<String, String>) -> Agent {
        Agent {
            name: raw.name.get_ref().clone(),
            prompt: self.prompt(&raw.prompt, prompt),
            inputs: raw.inputs.iter().map(|input| input.get_ref().clone()).collect(),
            output: self.value(raw.output.as_ref(), Output::Markdown, |text| output(text)),
            provider: self.value(raw.provider.as_ref(), None, |name| provider(name).map(Some)),
            model: raw.model.as_ref().map(|model| model.get_ref().clone()),
            temperature: self.value(raw.temperature.as_ref(), DEFAULT_TEMPERATURE, |number| {
                within(*number, 0.0, 1.0, "temperature")
            }),
            max_tokens: self.value(raw.max_tokens.as_ref(), DEFAULT_MAX_TOKENS, |number| {
                within(*number, 1, MOST_TOKENS, "max_tokens")
            }),
            approval: raw.approval,
            retries: self.value(raw.retries.as_ref(), DEFAULT_RETRIES, |number| {
                within(*number, 0, MOST_RETRIES, "retries")
            }),
            time_limit: self.value(raw.time_limit.as_ref(), DEFAULT_TIME_LIMIT, |text| base::duration(text)),
            search: raw.search,
        }
    }

    fn prompt(&mut self, name: &Spanned<String>, read: &impl Fn(&str) -> Result<String, String>) -> String {
        let text = match read(name.get_ref()) {
            Ok(text) if text.trim().is_empty() => Err("it is empty".to_owned()),
            text => text,
        };
        text.unwrap_or_else(|why| {
            self.fault(name.span().start, format!("prompt file `{}` cannot be used: {why}", name.get_ref()));
            String::new()
        })
    }

    fn value<R, T>(
        &mut self,
        raw: Option<&Spanned<R>>,
        default: T,
        read: impl Fn(&R) -> Result<T, String>,
    ) -> T {
        let Some(raw) = raw else { return default };
        read(raw.get_ref()).unwrap_or_else(|message| {
            self.fault(raw.span().start, message);
            default
        })
    }
}

/// Returns agents that wait for each other's artifacts, so that none of them can start.
fn cycle(phase: &RawPhase) -> Option<Vec<&RawAgent>> {
    let mut waiting: Vec<&RawAgent> = phase.agent.iter().collect();
    loop {
        let names: Vec<&str> = waiting.iter().map(|agent| agent.name.get_ref().as_str()).collect();
        let waits =
            |agent: &&RawAgent| agent.inputs.iter().any(|input| names.contains(&input.get_ref().as_str()));
        let still: Vec<&RawAgent> = waiting.iter().copied().filter(waits).collect();
        match still.len() {
            0 => return None,
            same if same == waiting.len() => return Some(still),
            _ => waiting = still,
        }
    }
}

fn output(text: &str) -> Result<Output, String> {
    text.parse().map_err(|_| format!("unknown output `{text}`: one of {}", Output::VARIANTS.join(", ")))
}

fn provider(name: &str) -> Result<&'static str, String> {
    let wrong = || format!("unknown provider `{name}`: one of edge-ai, vendor-a, vendor-b, vendor-c");
    llm::canonical(name).ok_or_else(wrong)
}

fn within<T: PartialOrd + Display>(number: T, least: T, most: T, name: &str) -> Result<T, String> {
    if number >= least && number <= most {
        return Ok(number);
    }
    Err(format!("`{name}` is {number}: expected {least} to {most}"))
}

#[cfg(test)]
mod tests;
