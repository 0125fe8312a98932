//! The names of the providers.

/// The embedded model. It needs no key, and answers if no vendor is configured.
pub const EDGE_AI: &str = "edge-ai";
pub const VENDOR_A: &str = "vendor-a";
pub const VENDOR_B: &str = "vendor-b";
pub const VENDOR_C: &str = "vendor-c";

#[derive(Debug, thiserror::Error)]
#[error("unknown provider `{0}`: one of edge-ai, vendor-a, vendor-b, vendor-c, or the name of a connection")]
pub struct UnknownProvider(pub(crate) String);

/// Returns the provider's own name. Requests may also name a vendor by its protocol.
pub fn canonical(provider: &str) -> Option<&'static str> {
    match provider {
        EDGE_AI => Some(EDGE_AI),
        VENDOR_A | "openai" => Some(VENDOR_A),
        VENDOR_B | "anthropic" => Some(VENDOR_B),
        VENDOR_C | "gemini" => Some(VENDOR_C),
        _ => None,
    }
}
