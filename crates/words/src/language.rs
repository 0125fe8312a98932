//! The languages that are told apart.

use rust_stemmers::Algorithm;
use strum::{EnumCount, FromRepr, IntoStaticStr, VariantArray};

/// A language that is told apart from others. Not all have a stemmer.
///
/// The numbers are in the files of indexes: if they change, the version of the file must change, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumCount, FromRepr, IntoStaticStr, VariantArray)]
#[repr(u8)]
pub enum Language {
    /// Also of texts whose words do not tell.
    #[default]
    English,
    Arabic,
    Bulgarian,
    Chinese,
    Czech,
    Danish,
    Dutch,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Japanese,
    Korean,
    Norwegian,
    Persian,
    Polish,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    Ukrainian,
}

impl Language {
    pub const COUNT: usize = <Self as EnumCount>::COUNT;

    /// Returns all languages in the order of their numbers.
    pub fn all() -> &'static [Self] {
        Self::VARIANTS
    }

    /// Returns its name in English.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns the algorithm that stems its words, if there is one.
    pub(crate) fn stemmer(self) -> Option<Algorithm> {
        Some(match self {
            Self::Arabic => Algorithm::Arabic,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Tamil => Algorithm::Tamil,
            Self::Turkish => Algorithm::Turkish,
            // The crate's Greek stemmer is reported to panic at some words (lance-format/lance#5235).
            Self::Greek => return None,
            Self::Bulgarian | Self::Czech | Self::Persian | Self::Polish | Self::Ukrainian => return None,
            Self::Chinese | Self::Japanese | Self::Korean => return None,
        })
    }

    /// Returns whether it is written in Latin letters.
    pub(crate) fn is_latin(self) -> bool {
        !matches!(
            self,
            Self::Arabic
                | Self::Bulgarian
                | Self::Chinese
                | Self::Greek
                | Self::Japanese
                | Self::Korean
                | Self::Persian
                | Self::Russian
                | Self::Tamil
                | Self::Ukrainian
        )
    }
}
