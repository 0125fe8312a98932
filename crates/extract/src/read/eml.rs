//! x
use crate::ExtractError;
use crate::document::Builder;
pub(super) fn read(_bytes: &[u8], _builder: &mut Builder) -> Result<(), ExtractError> {
    Ok(())
}
pub(crate) fn looks_like(head: &str) -> bool {
    head.starts_with("From:")
}
