//! What a portal has when it is new: a welcome, and the ways to the other services.

use crate::kinds::{Kind, TOOLS, UPDATES};
use serde_json::{Value, json};

/// Links go through the gateway, whose address is that of the page that shows them.
pub fn entries() -> Vec<(&'static Kind, Value)> {
    let tool = |name: &str, url: &str, category: &str, description: &str| {
        (&TOOLS, json!({ "name": name, "url": url, "category": category, "description": description }))
    };
    vec![
        (
            &UPDATES,
            json!({
                "title": "Welcome to Stoa",
                "author": "Stoa",
                "category": "welcome",
                "pinned": true,
                "body": "This is your portal. Updates, goals, tools, tasks and pages are kept here, and an administrator can \
                         change all of them. Upload documents to the knowledge service and ask them questions; give the \
                         supervisor a project and watch its agents. Delete this update when you have read it: it does not \
                         come back.",
            }),
        ),
        tool(
            "Knowledge",
            "/core/",
            "services",
            "Documents, search, the knowledge graph and answers with their sources.",
        ),
        tool(
            "Supervisor",
            "/build/api/workflow",
            "services",
            "Projects and the agents that carry them through their phases.",
        ),
        tool("Status", "/kv/api/portal/status", "operations", "Which services answer, and how fast."),
    ]
}
