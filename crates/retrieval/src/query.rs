//! What a search is asked for.

pub struct Query<'a> {
    pub text: &'a str,
    /// Of length 1. Without it only words are compared.
    pub vector: Option<&'a [f32]>,
    /// Keys of the names in the question.
    pub names: &'a [String],
    pub mode: Mode,
    /// Most passages to return.
    pub limit: usize,
    /// Which documents may be found; all of them if none is given.
    pub accept: Option<&'a dyn Fn(&str) -> bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By vectors alone.
    Dense,
    /// By words alone.
    Lexical,
    /// By both.
    Hybrid,
    /// By both, and then by the names in the best passages.
    #[default]
    Graph,
}
