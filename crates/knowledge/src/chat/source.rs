//! A source: a passage that is put before the model, and that the answer may cite.

use crate::search::SearchResult;
use crate::title;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use words::Language;

/// More would not fit into any model's window.
const MOST_SOURCES: usize = 100;
const MOST_HEADINGS: usize = 8;
/// In characters.
const LONGEST_TITLE: usize = 200;

#[derive(Clone, Debug)]
pub struct Source {
    pub text: String,
    pub title: String,
    /// The document's headings above the passage.
    pub headings: Vec<String>,
    /// The score of the search; 0 for a source that the request gives.
    pub score: f64,
    pub shown: ShownSource,
}

/// A source, as answers show it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ShownSource {
    Found(SearchResult),
    Given(GivenSource),
}

impl PartialSchema for ShownSource {
    fn schema() -> RefOr<Schema> {
        // Not one of the two: a search result has all that a given source must have.
        AnyOfBuilder::new().item(SearchResult::schema()).item(GivenSource::schema()).into()
    }
}

impl ToSchema for ShownSource {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Source")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        SearchResult::schemas(schemas);
        GivenSource::schemas(schemas);
    }
}

/// A source of the request, as answers show it: with its other fields as they were given.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GivenSource {
    #[schema(example = "1")]
    id: String,
    #[schema(example = "The pump P-204 circulates coolant.")]
    text: String,
    metadata: Map<String, Value>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A source that a request gives. Search results may be given as they are.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct SourceBody {
    /// Its number in the list if absent.
    #[schema(example = "1")]
    id: Option<String>,
    #[schema(example = "The pump P-204 circulates coolant.")]
    text: String,
    /// `documentTitle` and `headings` are put before the model too.
    metadata: Option<Map<String, Value>>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A source, with the number that the answer cites it by.
#[derive(Clone, Serialize, ToSchema)]
pub struct NumberedSource {
    #[schema(example = 1, minimum = 1)]
    pub number: usize,
    #[serde(flatten)]
    pub source: ShownSource,
}

impl Source {
    pub fn found(result: SearchResult) -> Self {
        Self {
            text: result.text.clone(),
            title: result.metadata.document_title.clone(),
            headings: result.metadata.headings.clone(),
            score: result.score,
            shown: ShownSource::Found(result),
        }
    }

    /// Returns the id of the document that it was found in.
    pub fn document_id(&self) -> Option<&str> {
        match &self.shown {
            ShownSource::Found(result) => Some(&result.document_id),
            ShownSource::Given(_) => None,
        }
    }

    /// Returns its language; English if its words do not tell.
    pub fn language(&self) -> Language {
        Language::of(&self.text).unwrap_or_default()
    }

    /// Returns its title and its headings, the title once.
    pub fn above(&self) -> Vec<&str> {
        let mut above: Vec<&str> = self.headings.iter().map(String::as_str).collect();
        if !self.title.is_empty() && above.first() != Some(&self.title.as_str()) {
            above.insert(0, &self.title);
        }
        above
    }

    /// Returns whether both are the same passage.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.shown, &other.shown) {
            (ShownSource::Found(one), ShownSource::Found(other)) => one.id == other.id,
            _ => self.text == other.text,
        }
    }

    /// Takes the sources of a request. Fails with what is wrong about them.
    pub fn given(sources: Vec<SourceBody>) -> Result<Vec<Self>, String> {
        if sources.len() > MOST_SOURCES {
            return Err(format!("`sources` has {} entries: at most {MOST_SOURCES}", sources.len()));
        }
        sources.into_iter().enumerate().map(|(index, source)| Self::given_one(index, source)).collect()
    }

    fn given_one(index: usize, source: SourceBody) -> Result<Self, String> {
        let SourceBody { id, text, metadata, other } = source;
        let trimmed = text.trim().to_owned();
        if trimmed.is_empty() {
            return Err(format!("`sources[{index}].text` is missing: a string that is not empty"));
        }
        let id = id.unwrap_or_else(|| (index + 1).to_string());
        let metadata = metadata.unwrap_or_default();
        let headings = metadata.get("headings").and_then(Value::as_array).into_iter().flatten();
        Ok(Self {
            text: trimmed,
            title: shorten(metadata.get("documentTitle").and_then(Value::as_str).unwrap_or_default()),
            headings: headings.filter_map(Value::as_str).take(MOST_HEADINGS).map(shorten).collect(),
            score: 0.0,
            shown: ShownSource::Given(GivenSource { id, text, metadata, other }),
        })
    }

    /// Returns the sources with the numbers that the answer cites them by.
    pub fn numbered(sources: &[Self]) -> Vec<NumberedSource> {
        let number = |(index, source): (usize, &Self)| NumberedSource {
            number: index + 1,
            source: source.shown.clone(),
        };
        sources.iter().enumerate().map(number).collect()
    }

    #[cfg(test)]
    pub fn of_texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<Self> {
        let source = |text: String| SourceBody { id: None, text, metadata: None, other: Map::new() };
        Self::given(texts.into_iter().map(|text| source(text.into())).collect()).unwrap()
    }
}

fn shorten(title: &str) -> String {
    title::cut(title, LONGEST_TITLE)
}
