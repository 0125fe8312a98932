//! What a portal has when it is new: a welcome, and the ways to the other services.

use crate::entry::Entry;
use crate::records::{Tool, Update};

const WELCOME: &str = "This is your portal. Updates, goals, tools, tasks and pages are kept here, and an administrator can \
                       change all of them. Upload documents to the knowledge service and ask them questions; give the \
                       supervisor a project and watch its agents. An administrator can delete this update: it does not \
                       come back.";

/// Returns the first entries. Links go through the gateway, whose address is that of the page that shows them.
pub fn entries() -> Vec<Entry> {
    let welcome = Update {
        title: "Welcome to Stoa".to_owned(),
        author: "Stoa".to_owned(),
        category: "welcome".to_owned(),
        pinned: true,
        body: WELCOME.to_owned(),
        ..Update::default()
    };
    vec![
        welcome.into(),
        tool(
            "Knowledge",
            "/kv/#/documents",
            "services",
            "Documents, search, the knowledge graph and answers with their sources.",
        ),
        tool(
            "Supervisor",
            "/kv/#/projects",
            "services",
            "Projects and the agents that carry them through their phases.",
        ),
        tool(
            "Interface",
            "/core/docs",
            "developers",
            "The requests of the knowledge service, to browse and try.",
        ),
    ]
}

fn tool(name: &str, url: &str, category: &str, description: &str) -> Entry {
    let [name, url, category, description] = [name, url, category, description].map(str::to_owned);
    Tool { name, url, category, description, ..Tool::default() }.into()
}
