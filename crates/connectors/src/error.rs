//! What can go wrong with a place, and with one of its items.

/// A place that cannot be opened or listed. The message is for the person who has set it up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConnectError {
    pub message: String,
}

impl ConnectError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// An item that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// The item is at fault, or gone: the others can be read.
    #[error("{0}")]
    Item(String),
    /// The place cannot be reached any more, or the content cannot be kept: reading goes on another time.
    #[error("{0}")]
    Place(String),
}
