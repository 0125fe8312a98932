//! Tests of valid workflows, and of the faults of others.

use super::super::DefaultModel;
use super::*;

fn faults(text: &str) -> Vec<String> {
    let prompt = |name: &str| {
        if name == "p.md" { Ok("Do it.".to_owned()) } else { Err("no such file".to_owned()) }
    };
    match parse(text, prompt) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.to_string().lines().map(|line| line.replace("the workflow ", "")).collect(),
    }
}

const PHASE: &str = "[[phase]]\nname = \"a\"\n";

fn agent(name: &str, more: &str) -> String {
    format!("[[phase.agent]]\nname = \"{name}\"\nprompt = \"p.md\"\n{more}\n")
}

#[test]
fn the_built_in_workflow_has_the_five_phases_and_two_or_three_agents_in_each() {
    let workflow = Workflow::load(None).unwrap();
    assert_eq!(workflow.names(), "prd, architecture, plan, build, review");
    assert!(workflow.phases.iter().all(|phase| (2..=3).contains(&phase.agents.len())));
    assert_eq!(workflow.agents(), 13);
    assert!(workflow.phases.iter().flat_map(|phase| &phase.agents).all(|agent| !agent.approval));
}

#[test]
fn a_workflow_has_defaults_for_all_but_names_and_prompts() {
    let text = format!(
        "{PHASE}{}{}",
        agent("x", ""),
        agent("y", "inputs = [\"x\"]\noutput = \"json\"\ntime_limit = \"3s\"")
    );
    let workflow = parse(&text, |_| Ok("Do it.".to_owned())).unwrap();
    let (x, y) = (&workflow.phases[0].agents[0], &workflow.phases[0].agents[1]);
    assert_eq!((x.output, x.provider, x.retries, x.approval), (Output::Markdown, None, 2, false));
    assert_eq!(
        (y.output, y.time_limit, y.inputs.as_slice()),
        (Output::Json, Duration::from_secs(3), ["x".to_owned()].as_slice())
    );
}

#[test]
fn the_run_chooses_the_model_before_the_workflow_and_the_workflow_before_the_default() {
    let lines = ["", "provider = \"gemini\"\nmodel = \"m-c\"", "model = \"m-own\""];
    let agents: Vec<String> =
        lines.iter().zip(["x", "y", "z"]).map(|(lines, name)| agent(name, lines)).collect();
    let workflow = parse(&format!("{PHASE}{}", agents.concat()), |_| Ok("Do it.".to_owned())).unwrap();
    let [x, y, z] = &workflow.phases[0].agents[..] else { panic!("three agents") };
    let default = DefaultModel { provider: llm::VENDOR_B.to_owned(), model: Some("m-b".to_owned()) };
    for (agent, asked, expected) in [
        (x, (None, None), ("vendor-b", Some("m-b"))),
        (y, (None, None), ("vendor-c", Some("m-c"))),
        (z, (None, None), ("vendor-b", Some("m-own"))),
        (x, (Some("vendor-a"), None), ("vendor-a", None)),
        (y, (Some("vendor-a"), Some("m-a")), ("vendor-a", Some("m-a"))),
        (y, (Some("vendor-c"), None), ("vendor-c", Some("m-c"))),
        (y, (Some("vendor-b"), None), ("vendor-b", Some("m-b"))),
        (y, (None, Some("m")), ("vendor-c", Some("m"))),
    ] {
        assert_eq!(agent.answered_by(asked, &default), expected, "{} {asked:?}", agent.name);
    }
}

#[test]
fn every_fault_has_its_line() {
    let text = format!(
        "{PHASE}{}{}[[phase]]\nname = \"a\"\n{}",
        agent("x", "inputs = [\"nobody\", \"z\"]"),
        agent(
            "x",
            "output = \"pdf\"\nprovider = \"me\"\ntemperature = 1.5\nmax_tokens = 0\ntime_limit = \"soon\""
        ),
        "[[phase.agent]]\nname = \"Z z\"\nprompt = \"q.md\"\n",
    );
    assert_eq!(
        faults(&text),
        [
            "line 6: unknown input `nobody` of agent `x`: one of the agents of this phase or of earlier ones",
            "line 6: unknown input `z` of agent `x`: one of the agents of this phase or of earlier ones",
            "line 8: there is another agent named `x`",
            "line 10: unknown output `pdf`: one of markdown, json, code",
            "line 11: unknown provider `me`: one of edge-ai, vendor-a, vendor-b, vendor-c",
            "line 12: `temperature` is 1.5: expected 0 to 1",
            "line 13: `max_tokens` is 0: expected 1 to 32768",
            "line 14: `soon` is not a time: expected a whole number and a unit, such as `250ms`, `30s`, `15m`, `1h`, `7d`",
            "line 16: there is another phase named `a`",
            "line 18: `Z z` is no name of an agent: expected 1 to 64 of a-z 0-9 -",
            "line 19: prompt file `q.md` cannot be used: no such file",
        ]
    );
}

#[test]
fn cycles_and_empty_workflows_are_faults() {
    let text = format!(
        "{PHASE}{}{}{}",
        agent("x", "inputs = [\"z\"]"),
        agent("y", ""),
        agent("z", "inputs = [\"x\", \"y\"]")
    );
    assert_eq!(faults(&text), ["line 4: a cycle: `x`, `z` wait for each other's artifacts"]);
    let own = format!("{PHASE}{}", agent("x", "inputs = [\"x\"]"));
    assert_eq!(faults(&own), ["line 4: a cycle: `x` waits for its own artifact"]);
    assert_eq!(faults(""), ["line 1: there is no `[[phase]]`"]);
    assert_eq!(faults(PHASE), ["line 2: phase `a` has no agent"]);
}

#[test]
fn a_file_that_is_not_a_workflow_is_refused_with_its_line() {
    let unknown = format!("{PHASE}{}", agent("x", "prompts = 1"));
    assert!(faults(&unknown)[0].starts_with("line 6: unknown field `prompts`"), "{:?}", faults(&unknown));
    assert!(faults("[[phase]\n")[0].starts_with("line 1: "), "{:?}", faults("[[phase]\n"));
    assert!(
        faults("[[phase]]\nname = 7\n")[0].starts_with("line 2: "),
        "{:?}",
        faults("[[phase]]\nname = 7\n")
    );
}

#[test]
fn broken_workflows_are_refused_or_read() {
    let more = "inputs = [\"x\"]\noutput = \"json\"\ntime_limit = \"3s\"\nretries = 1\napproval = true";
    let text = format!("{PHASE}{}{}", agent("x", ""), agent("y", more));
    let mut read = 0;
    mutations::mutations(text.as_bytes(), 2_000, |bytes| {
        read += usize::from(faults(&String::from_utf8_lossy(&bytes)).is_empty());
    });
    assert!(read > 5, "{read} were readable: the mutations are no test");
}
