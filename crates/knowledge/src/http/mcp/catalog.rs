//! The tools: their names, what they are for, what they take and what they return. Models read this to choose from.

use crate::chat::{Agent, NumberedSource};
use crate::http::documents::ListLimit;
use crate::http::fields::{NodeType, SearchMode};
use crate::http::scope::Ids;
use crate::http::search::{SearchAnswer, TopK};
use crate::records::{Cursor, Status};
use kit::fields::{AnyText, Whole};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::LazyLock;
use utoipa::ToSchema;

pub const SEARCH: &str = "search";
pub const GRAPH_NEIGHBORS: &str = "graph_neighbors";
pub const LIST_DOCUMENTS: &str = "list_documents";
pub const ASK: &str = "ask";

pub const INSTRUCTIONS: &str = "The user's own documents and those of the spaces that they share. `search` finds passages, `ask` answers a question \
    from them with citations, `graph_neighbors` shows what a name or concept is connected to, `list_documents` says \
    what there is.";

pub static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool::<SearchArguments, SearchAnswer>(
            SEARCH,
            "Search documents",
            "Finds the passages of the user's documents and spaces that bear on a question, by meaning, by words and over \
             connected names. Each comes with its text, its document, and a score between 0 and 1.",
        ),
        tool::<NeighborsArguments, Neighbors>(
            GRAPH_NEIGHBORS,
            "Neighbours in the graph",
            "Shows what a person, place, organization or concept is connected to in the user's documents, and how \
             strongly (between 0 and 1), with the documents that name it.",
        ),
        tool::<ListArguments, ListedDocuments>(
            LIST_DOCUMENTS,
            "List documents",
            "Lists the user's own documents, or those of a space, newest first: id, title, status, number of passages, and when each was \
             uploaded, in milliseconds since 1970.",
        ),
        tool::<AskArguments, ToolAnswer>(
            ASK,
            "Ask the documents",
            "Answers a question from the user's documents, citing them as [1], [2], and gives the sources by these \
             numbers. Says so if the documents have nothing about it. Counts as a chat request.",
        ),
    ]
});

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchArguments {
    /// The question, or what to look for
    #[schema(value_type = String)]
    pub query: AnyText,
    /// How many passages at most; 5 if absent
    #[schema(inline, nullable = false)]
    pub top_k: Option<TopK>,
    /// By meaning (dense), by words (lexical), both (hybrid), or both and over connected names (graph, also if absent)
    #[schema(inline, nullable = false)]
    pub mode: Option<SearchMode>,
    /// Whether the reader orders the first passages anew; no if absent
    #[schema(nullable = false)]
    pub rerank: Option<bool>,
    /// Only in the document with this id
    #[schema(value_type = Option<String>, nullable = false)]
    pub document_id: Option<AnyText>,
    /// Only in the documents with these ids
    #[schema(inline, nullable = false)]
    pub document_ids: Option<Ids>,
    /// Only in the space with this id; the user's own id stands for their own documents
    #[schema(value_type = Option<String>, nullable = false)]
    pub space_id: Option<AnyText>,
    /// Only in the spaces with these ids
    #[schema(inline, nullable = false)]
    pub space_ids: Option<Ids>,
    /// Only documents of this category
    #[schema(value_type = Option<String>, nullable = false)]
    pub category: Option<AnyText>,
    /// Only documents that have all of these tags
    #[schema(nullable = false)]
    pub tags: Option<Vec<String>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NeighborsArguments {
    /// A node's id, or the name of what is meant
    #[schema(value_type = String)]
    pub node: AnyText,
    /// Only in the space with this id; the user's own id stands for their own documents
    #[schema(value_type = Option<String>, nullable = false)]
    pub space_id: Option<AnyText>,
    /// Only in the spaces with these ids
    #[schema(inline, nullable = false)]
    pub space_ids: Option<Ids>,
    /// How many neighbours at most; 20 if absent
    #[schema(inline, nullable = false)]
    pub limit: Option<Whole<1, 200>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListArguments {
    /// The documents of the space with this id; the user's own if absent
    #[schema(value_type = Option<String>, nullable = false)]
    pub space_id: Option<AnyText>,
    /// Only documents of this status
    #[schema(inline, nullable = false)]
    pub status: Option<Status>,
    /// Only documents with this in their title
    #[schema(value_type = Option<String>, nullable = false)]
    pub title: Option<AnyText>,
    /// Only documents of this category
    #[schema(value_type = Option<String>, nullable = false)]
    pub category: Option<AnyText>,
    /// Only documents that have all of these tags
    #[schema(nullable = false)]
    pub tags: Option<Vec<String>>,
    /// How many documents at most; 1000 if absent
    #[schema(inline, nullable = false)]
    pub limit: Option<ListLimit>,
    /// The `next` of the list that this one continues
    #[schema(value_type = Option<String>, nullable = false)]
    pub after: Option<Cursor>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskArguments {
    /// The question
    #[schema(value_type = String)]
    pub question: AnyText,
    /// Who answers: each agent looks at the sources in its own way; `rag-chat` if absent
    #[schema(inline, nullable = false)]
    pub agent_type: Option<Agent>,
    /// Answer from the document with this id only
    #[schema(value_type = Option<String>, nullable = false)]
    pub document_id: Option<AnyText>,
    /// Answer from the documents with these ids only
    #[schema(inline, nullable = false)]
    pub document_ids: Option<Ids>,
    /// Only in the space with this id; the user's own id stands for their own documents
    #[schema(value_type = Option<String>, nullable = false)]
    pub space_id: Option<AnyText>,
    /// Only in the spaces with these ids
    #[schema(inline, nullable = false)]
    pub space_ids: Option<Ids>,
    /// How many sources at most; 5 if absent
    #[schema(inline, nullable = false)]
    pub top_k: Option<TopK>,
}

#[derive(Serialize, ToSchema)]
pub struct Neighbors {
    /// The node that was found
    pub node: Neighbor,
    /// What it is connected to, the strongest first
    pub neighbors: Vec<Neighbor>,
}

/// A node of the graph
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Neighbor {
    pub id: String,
    pub label: String,
    #[serde(rename = "type")]
    pub kind: NodeType,
    /// Of the connection; of the node that was found, its own
    pub strength: f64,
    /// Some of the documents that name it
    pub document_ids: Vec<String>,
    /// How many documents name it
    pub document_count: usize,
}

#[derive(Serialize, ToSchema)]
pub struct ListedDocuments {
    /// The documents, newest first
    pub documents: Vec<ListedDocument>,
    /// Where the list goes on; null at its end
    pub next: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedDocument {
    pub id: String,
    pub title: String,
    pub status: Status,
    /// How many passages it has
    pub chunk_count: i64,
    /// In milliseconds since 1970
    pub uploaded_at: i64,
}

#[derive(Serialize, ToSchema)]
pub struct ToolAnswer {
    pub answer: String,
    /// The sources, each with its `number`
    pub sources: Vec<NumberedSource>,
    /// What was not read for the answer, a sentence each
    pub notices: Vec<String>,
    pub provider: String,
    pub model: String,
}

fn tool<Arguments: ToSchema, Output: ToSchema>(
    name: &'static str,
    title: &str,
    description: &'static str,
) -> Tool {
    let mut tool = Tool::new(name, description, schema_of::<Arguments>());
    tool.title = Some(title.to_owned());
    tool.output_schema = Some(schema_of::<Output>().into());
    tool.annotations = Some(ToolAnnotations::new().read_only(true).open_world(false));
    tool
}

/// Returns the JSON schema of a type, with those that it refers to as `$defs`.
fn schema_of<T: ToSchema>() -> JsonObject {
    let mut referred = Vec::new();
    T::schemas(&mut referred);
    let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
    let definitions = referred.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema)));
    let definitions: JsonObject =
        definitions.filter_map(|(name, schema)| Some((name, schema.ok()?))).collect();
    if let Value::Object(schema) = &mut schema
        && !definitions.is_empty()
    {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    describe_inline(&mut schema);
    let text = schema.to_string().replace("#/components/schemas/", "#/$defs/");
    serde_json::from_str(&text).unwrap_or_default()
}

/// Moves the descriptions of inlined fields into their schemas. utoipa puts them beside, as a part of `allOf` that would
/// have to be an object.
fn describe_inline(schema: &mut Value) {
    if let Some([Value::Object(field), described]) =
        schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && let Some(description) =
            described.get("description").filter(|_| described.get("properties").is_none())
    {
        let mut field = field.clone();
        field.insert("description".to_owned(), description.clone());
        *schema = Value::Object(field);
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(describe_inline),
        Value::Array(parts) => parts.iter_mut().for_each(describe_inline),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_say_what_is_required_and_refer_to_nothing_outside() {
        for tool in TOOLS.iter() {
            for schema in [&tool.input_schema, tool.output_schema.as_ref().unwrap()] {
                let text = serde_json::to_string(schema).unwrap();
                assert_eq!(schema["type"], "object", "{text}");
                let references = text.split("\"$ref\":\"#/$defs/").skip(1);
                for name in references.map(|rest| rest.split('"').next().unwrap()) {
                    assert!(schema["$defs"].get(name).is_some(), "{name} in {text}");
                }
                assert_eq!(
                    text.matches("$ref").count(),
                    text.matches("\"$ref\":\"#/$defs/").count(),
                    "{text}"
                );
            }
        }
        let search = &TOOLS[0].input_schema;
        assert_eq!(search["required"], json!(["query"]));
        assert_eq!(
            search["properties"]["topK"],
            json!({
                "type": "integer", "minimum": 1, "maximum": 100,
                "description": "How many passages at most; 5 if absent",
            })
        );
        assert_eq!(
            search["properties"]["mode"]["enum"],
            json!(["dense", "lexical", "hybrid", "graph"]),
            "{search:?}"
        );
    }
}
