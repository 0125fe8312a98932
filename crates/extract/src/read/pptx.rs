//! x
use crate::document::Builder;
use crate::{ExtractError, Limits};
pub(super) fn read(_bytes: &[u8], _builder: &mut Builder, _limits: &Limits) -> Result<(), ExtractError> {
    Ok(())
}
