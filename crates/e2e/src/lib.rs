//! Real servers for tests: the program itself, PostgreSQL, S3 and a target for the gateway. Each is started by
//! the test that needs it and gone with it.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops where it fails")]

pub mod api;
pub mod browser;
pub mod client;
pub mod clients;
pub mod crm;
pub mod desk;
pub mod fault_proxy;
pub mod issuer;
pub mod oidc;
pub mod passages;
pub mod person;
pub mod postgres;
pub mod raw;
pub mod s3;
pub mod schema;
pub mod sse;
pub mod stoa;
pub mod studio;
pub mod tokens;
pub mod upstream;
pub mod vendor;

pub use browser::Browser;
pub use client::{Reply, get, reply};
pub use clients::run_client;
pub use crm::{Crm, Mood, Sent};
pub use desk::Desk;
pub use fault_proxy::{FaultProxy, Server};
pub use issuer::Issuer;
pub use oidc::OidcProvider;
pub use person::{Form, Person};
pub use raw::Raw;
pub use sse::{Told, Watch};
pub use stoa::Stoa;
pub use studio::Studio;
pub use upstream::Upstream;
pub use vendor::Vendor;
