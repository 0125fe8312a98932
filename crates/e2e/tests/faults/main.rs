//! Faults under mixed load, seen from the front doors: what was acknowledged is there afterwards.
//!
//! `make test` runs them in short forms, `make faults` in long ones: `STOA_KILLS` says how many kills, and everything else
//! grows with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops where it fails")]
#![allow(clippy::print_stdout, reason = "it says how much it has tried")]

mod bad_files;
mod clock;
mod connections;
mod failover;
mod kills;
mod load;
mod tenancy;

use e2e::stoa::Start;
use e2e::supervisor_client::workflow;
use e2e::{Crm, Stoa, Vendor};

/// Returns how many kills are wanted; other tests try as much more.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
fn kills() -> usize {
    std::env::var("STOA_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

/// A run of three agents in a chain.
fn three_agents() -> String {
    let agents = ["name = \"a\"", "name = \"b\"\ninputs = [\"a\"]", "name = \"c\"\ninputs = [\"b\"]"];
    workflow(&[("prd", &agents)])
}

/// All services with the models, a vendor for the agents and a CRM.
fn start(vendor: &Vendor, crm: &Crm) -> Start {
    let start = Stoa::start_supervisor(vendor, &three_agents());
    let start = start.only("gateway,knowledge,supervisor,portal,leads").with_models().with_webhook(crm);
    start.set("CHAT_REQUESTS_PER_MINUTE", 100_000).set("LEADS_PER_MINUTE", 100_000)
}
