//! The tools, each called as its user. A wrong argument is the tool's error, in words by which a model can correct it.

use super::catalog::{
    ASK, AskArguments, GRAPH_NEIGHBORS, INSTRUCTIONS, LIST_DOCUMENTS, ListArguments, ListedDocument,
    ListedDocuments, Neighbor, Neighbors, NeighborsArguments, SEARCH, SearchArguments, TOOLS, ToolAnswer,
};
use crate::chat::{Ask, ShownSource, Source};
use crate::http::App;
use crate::http::chat::collect;
use crate::http::documents::most_listed;
use crate::http::fields::{check_question, filled};
use crate::http::limit::CountedQuestion;
use crate::http::scope::{named_documents, named_spaces, require_visible};
use crate::http::search::{SearchAnswer, default_results};
use crate::listing::Listing;
use crate::records::{Document, Order, User};
use crate::search::{Filters, Question, SearchResult};
use graph::Node;
use kit::error::ApiError;
use kit::fields::{AnyText, Whole};
use kit::request::from_fields;
use kit::unknown_fields::{Names, UnknownFields};
use llm::Purpose;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Documents that are listed with a node: a word that all of them have would list them all.
const MOST_DOCUMENT_IDS: usize = 100;
const DEFAULT_NEIGHBORS: usize = 20;

#[derive(Clone)]
pub struct Tools {
    app: App,
    user: User,
    unknown: Option<UnknownFields>,
}

/// What a tool returns: for programs, and as text.
struct ToolOutput {
    content: Value,
    text: String,
}

impl ToolOutput {
    fn new(content: impl Serialize, text: String) -> Result<Self, ApiError> {
        Ok(Self { content: serde_json::to_value(content).map_err(ApiError::internal)?, text })
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("stoa", env!("CARGO_PKG_VERSION")).with_title("Stoa"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        self.note_unknown(&request.name, &arguments);
        let called = tokio::select! {
            called = self.call(&request.name, arguments) => called,
            // The client has left and needs no answer.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        let Some(called) = called else {
            let message = format!("no tool `{}`: `tools/list` names those that there are", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(result(called).into())
    }
}

fn result(called: Result<ToolOutput, ApiError>) -> CallToolResult {
    match called {
        Ok(ToolOutput { content, text }) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(content);
            result
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.message())]),
    }
}

impl Tools {
    pub fn new(app: App, user: User, unknown: Option<UnknownFields>) -> Self {
        Self { app, user, unknown }
    }

    /// Notes the arguments that the tool does not take.
    fn note_unknown(&self, name: &str, arguments: &JsonObject) {
        if let (Some(unknown), Some(tool)) = (&self.unknown, self.get_tool(name)) {
            let taken = Names::of_schema(&Value::Object(tool.input_schema.as_ref().clone()));
            unknown.compare(arguments, &taken, "");
        }
    }

    /// Returns none if there is no such tool.
    async fn call(&self, name: &str, arguments: JsonObject) -> Option<Result<ToolOutput, ApiError>> {
        Some(match name {
            SEARCH => self.search(arguments).await,
            GRAPH_NEIGHBORS => self.graph_neighbors(arguments).await,
            LIST_DOCUMENTS => self.list_documents(arguments).await,
            ASK => self.ask(arguments).await,
            _ => return None,
        })
    }

    async fn search(&self, arguments: JsonObject) -> Result<ToolOutput, ApiError> {
        let arguments: SearchArguments = read(arguments)?;
        let document_ids = named_documents(arguments.document_id, arguments.document_ids)?;
        let question = Question {
            text: filled("query", arguments.query.0.trim())?.to_owned(),
            mode: arguments.mode.unwrap_or_default().into(),
            limit: arguments.top_k.unwrap_or_else(default_results).size(),
            filters: Filters { document_ids, ..metadata_filters(arguments.category, arguments.tags) },
            rerank: arguments.rerank.unwrap_or_default(),
        };
        let spaces = named_spaces(arguments.space_id, arguments.space_ids)?;
        let scope = self.app.search.scope(&self.user.id, &spaces).await?;
        let found = self.app.search.ask(&scope, question).await?;
        let passages: Vec<String> = found.results.iter().enumerate().map(passage).collect();
        let text = if passages.is_empty() { "Nothing was found.".to_owned() } else { passages.join("\n\n") };
        ToolOutput::new(SearchAnswer::from(found), text)
    }

    async fn graph_neighbors(&self, arguments: JsonObject) -> Result<ToolOutput, ApiError> {
        let arguments: NeighborsArguments = read(arguments)?;
        let name = filled("node", arguments.node.0.trim())?;
        let spaces = named_spaces(arguments.space_id, arguments.space_ids)?;
        let scope = self.app.search.scope(&self.user.id, &spaces).await?;
        let graph = self.app.indexes.graph(&scope).await?.graph;
        let unknown =
            || ApiError::not_found(format!("no `node` `{name}` in the graph: no document names it"));
        let node = graph.find_named(name).ok_or_else(unknown)?;
        let mut near = graph.neighbours(&node.id);
        near.truncate(arguments.limit.map_or(DEFAULT_NEIGHBORS, Whole::size));
        let lines: Vec<String> =
            near.iter().map(|(strength, node)| format!("- {} ({strength:.2})", node.label)).collect();
        let text = format!("{} is connected to:\n{}", node.label, lines.join("\n"));
        let neighbors = near.iter().map(|(strength, node)| neighbor(node, *strength)).collect();
        ToolOutput::new(Neighbors { node: neighbor(node, node.strength), neighbors }, text)
    }

    async fn list_documents(&self, arguments: JsonObject) -> Result<ToolOutput, ApiError> {
        let arguments: ListArguments = read(arguments)?;
        let owner_id = match arguments.space_id {
            Some(id) if id.0 != self.user.id => self.app.spaces.get(&self.user, &id.0).await?.space.id,
            _ => self.user.id.clone(),
        };
        let listing = Listing {
            status: arguments.status,
            filters: metadata_filters(arguments.category, arguments.tags),
            title: arguments.title.map(|title| title.0),
            order: Order::Newest,
            after: arguments.after.filter(|after| after.fits(Order::Newest)),
            limit: arguments.limit.unwrap_or_else(most_listed).size(),
        };
        let page = listing.page(&self.app.db, &owner_id).await?;
        let next = page.next.map(|cursor| cursor.to_string());
        let mut lines: Vec<String> = page.documents.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("There are no documents.".to_owned());
        }
        lines.extend(
            next.as_ref().map(|next| format!("There are more: list again with `after` set to {next}.")),
        );
        let documents = page.documents.into_iter().map(ListedDocument::from).collect();
        ToolOutput::new(ListedDocuments { documents, next }, lines.join("\n"))
    }

    async fn ask(&self, arguments: JsonObject) -> Result<ToolOutput, ApiError> {
        let counted = CountedQuestion::count(&self.app, &self.user.id).await?;
        if let Some(excess) = counted.excess(&self.app) {
            let message = format!("rate limit exceeded: {}", excess.message);
            return Err(ApiError::too_many_requests(message, excess.wait));
        }
        let arguments: AskArguments = read(arguments)?;
        let question = filled("question", arguments.question.0.trim())?;
        check_question("question", question)?;
        let mut ask = Ask::new(question);
        ask.purpose = Purpose::Api;
        ask.agent = arguments.agent_type.unwrap_or_default();
        ask.document_ids = named_documents(arguments.document_id, arguments.document_ids)?;
        ask.space_ids = named_spaces(arguments.space_id, arguments.space_ids)?;
        require_visible(&self.app, &self.user.id, &ask).await?;
        ask.top_k = arguments.top_k.map_or(ask.top_k, Whole::size);
        let answer = self.app.chats.answer(&self.user.id, ask).await?;
        let (sources, notices) = (answer.sources.clone(), answer.notices.clone());
        let (provider, model) = (answer.provider.clone(), answer.model.clone());
        let (answer, _) = collect(answer).await?;
        let titles: Vec<String> = sources.iter().enumerate().map(title).collect();
        let mut text = answer.clone();
        // Mostly, only the text is read.
        for notice in notices.iter().filter(|notice| !answer.contains(*notice)) {
            text.push_str(&format!("\n\n{notice}"));
        }
        if !titles.is_empty() {
            text.push_str(&format!("\n\nSources:\n{}", titles.join("\n")));
        }
        let sources = Source::numbered(&sources);
        ToolOutput::new(ToolAnswer { answer, sources, notices, provider, model }, text)
    }
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ApiError> {
    Ok(from_fields(Value::Object(arguments))?)
}

fn metadata_filters(category: Option<AnyText>, tags: Option<Vec<String>>) -> Filters {
    let tags = tags.unwrap_or_default().into_iter().map(|tag| tag.trim().to_owned());
    let tags = tags.filter(|tag| !tag.is_empty()).collect();
    Filters { document_ids: Vec::new(), category: category.map(|category| category.0), tags }
}

fn passage((index, result): (usize, &SearchResult)) -> String {
    format!("{}. {}\n{}", index + 1, document_of(result), result.text)
}

fn title((index, source): (usize, &Source)) -> String {
    let document = match &source.shown {
        ShownSource::Found(result) => document_of(result),
        ShownSource::Given(_) => source.title.clone(),
    };
    format!("[{}] {document}", index + 1)
}

fn document_of(result: &SearchResult) -> String {
    let space = result.metadata.space_name.as_ref().map(|name| format!(", space {name}")).unwrap_or_default();
    format!("{} (document {}{space})", result.metadata.document_title, result.document_id)
}

fn neighbor(node: &Node, strength: f32) -> Neighbor {
    Neighbor {
        id: node.id.clone(),
        label: node.label.clone(),
        kind: node.kind.into(),
        strength: strength.into(),
        document_ids: node.documents.iter().take(MOST_DOCUMENT_IDS).map(|id| id.to_string()).collect(),
        document_count: node.documents.len(),
    }
}

fn line(document: &Document) -> String {
    let Document { id, title, chunk_count, .. } = document;
    format!("- {title} (document {id}): {}, {chunk_count} passages", document.status.as_str())
}

impl From<Document> for ListedDocument {
    fn from(document: Document) -> Self {
        Self {
            id: document.id,
            title: document.title,
            status: document.status,
            chunk_count: document.chunk_count,
            uploaded_at: document.uploaded_at,
        }
    }
}
