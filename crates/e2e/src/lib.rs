//! Real servers for tests: the program itself, PostgreSQL, S3 and a target for the gateway. Each is started by the test
//! that needs it and ends with it.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops where it fails, and says what it cannot try"
)]

pub mod api;
pub mod browser;
pub mod client;
pub mod clients;
pub mod crm;
pub mod dovecot;
pub mod fault_proxy;
pub mod git_server;
pub mod issuer;
pub mod knowledge_client;
pub mod nginx;
pub mod oidc;
pub mod passages;
pub mod portal_client;
pub mod postgres;
pub mod program;
pub mod raw;
pub mod s3;
pub mod schema;
pub mod sse;
pub mod stoa;
pub mod supervisor_client;
pub mod tokens;
pub mod upstream;
pub mod vendor;

pub use browser::Browser;
pub use client::{Reply, get, reply};
pub use clients::run_client;
pub use crm::{Crm, Mood, Sent};
pub use dovecot::Dovecot;
pub use fault_proxy::{FaultProxy, Server};
pub use git_server::{GitServer, Repository};
pub use issuer::Issuer;
pub use knowledge_client::{Form, KnowledgeClient};
pub use nginx::Nginx;
pub use oidc::OidcProvider;
pub use portal_client::PortalClient;
pub use raw::Raw;
pub use sse::{SseEvent, Watch};
pub use stoa::Stoa;
pub use supervisor_client::SupervisorClient;
pub use upstream::Upstream;
pub use vendor::Vendor;
