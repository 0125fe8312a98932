//! The gateway through a real socket, in front of a real target: the contract rule by rule, and what attackers try.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops where it fails")]

mod attacks;
mod auth;
mod cors;
mod drain;
mod framing;
mod headers;
mod http2;
mod login;
mod paths;
mod proxy;
mod refresh;
mod slow;
mod streams;
mod targets;
mod throttle;
mod tokens;
mod transfers;
mod upgrades;
