//! The workflow's file: its faults are reported, and the built-in one can be written out and changed.

use e2e::{Stoa, Vendor};

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_workflow_is_refused_line_by_line() {
    let vendor = Vendor::start("").await;
    let text = "[[phase]]\nname = \"prd\"\n[[phase.agent]]\nname = \"a\"\nprompt = \"role.md\"\ninputs = [\"b\"]\n\
                [[phase.agent]]\nname = \"b\"\nprompt = \"missing.md\"\ninputs = [\"a\", \"nobody\"]\n";
    let start = Stoa::start_supervisor(&vendor, text);
    let file = start.path().join("workflow.toml").display().to_string();
    let faults = [
        format!("{file} line 4: a cycle: `a`, `b` wait for each other's artifacts"),
        format!(
            "{file} line 9: prompt file `missing.md` cannot be used: No such file or directory (os error 2)"
        ),
        format!(
            "{file} line 10: unknown input `nobody` of agent `b`: one of the agents of this phase or of earlier ones"
        ),
    ];
    let (code, out, _) = start.run(&["check"]);
    assert_eq!(code, 1, "{out}");
    assert!(faults.iter().all(|fault| out.contains(fault)), "{out}");
    let (code, _, complaint) = start.run(&["serve", "--only", "supervisor"]);
    assert_eq!(code, 1, "{complaint}");
    assert!(faults.iter().all(|fault| complaint.contains(fault)), "{complaint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_workflow_can_be_written_out_changed_and_used() {
    let vendor = Vendor::start("").await;
    let start = Stoa::start_supervisor(&vendor, "");
    let (code, _, said) = start.run(&["workflow", "own"]);
    assert_eq!(code, 0, "{said}");
    let file = start.path().join("own/workflow.toml");
    let start = start.set("WORKFLOW", file.display());
    let (_, out, _) = start.run(&["check"]);
    assert!(out.contains("13 agents in prd, architecture, plan, build, review"), "{out}");
    // Files that exist are not overwritten.
    let (code, _, said) = start.run(&["workflow", "own"]);
    assert_eq!(code, 1);
    assert!(said.contains("cannot write") && said.contains("exists"), "{said}");
    let (code, _, said) = start.set("WORKFLOW", "/nowhere/workflow.toml").run(&["check"]);
    assert_eq!(code, 2);
    assert!(said.contains("WORKFLOW") && said.contains("there is no file"), "{said}");
}
