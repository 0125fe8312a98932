//! What every service of Stoa shares: serving, errors, requests, answers. Knows no service.

pub mod csv;
pub mod error;
pub mod etag;
pub mod fields;
pub mod figures;
pub mod guests;
pub mod headers;
pub mod health;
mod html;
pub mod identity;
pub mod json;
pub mod log;
pub mod metrics;
pub mod openapi;
pub mod ops;
pub mod page;
pub mod request;
pub mod serve;
pub mod sse;
mod storage;
pub mod unknown_fields;

pub use html::escape_html;
