//! The tools, each as its caller. A wrong argument is the tool's error, in words that a model can mend it by.

use super::catalog::{
    self, ASK, DEFAULT_NEIGHBOURS, GRAPH_NEIGHBORS, INSTRUCTIONS, LIST_DOCUMENTS, MOST_NEIGHBOURS, SEARCH,
};
use crate::accounts::User;
use crate::chat::{Agent, Ask, Source};
use crate::documents::{Document, Status};
use crate::http::App;
use crate::http::chat::{collect, refuse_long};
use crate::http::error::Failure;
use crate::http::limit::Counted;
use crate::http::search::{self, DEFAULT_RESULTS};
use crate::search::{Filters, MOST_RESULTS, Question};
use crate::tables;
use graph::Node;
use kit::error::ApiError;
use kit::fields::{given, text, whole};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

/// Documents that are listed with a node: a word that all of them have would list them all.
const MOST_DOCUMENT_IDS: usize = 100;

type Arguments = Map<String, Value>;

#[derive(Clone)]
pub struct Tools {
    app: App,
    user: User,
}

/// What a tool gives: for programs, and in words.
struct Given {
    content: Value,
    words: String,
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
        Ok(ListToolsResult::with_all_items(catalog::tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        catalog::tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let called = tokio::select! {
            called = self.call(&request.name, &arguments) => called,
            // Whoever has gone away needs no answer.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        let Some(called) = called else {
            let message = format!("no tool `{}`: `tools/list` names those that there are", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(result(called).into())
    }
}

fn result(called: Result<Given, Failure>) -> CallToolResult {
    match called {
        Ok(Given { content, words }) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(words)]);
            result.structured_content = Some(content);
            result
        }
        Err(Failure(error)) => CallToolResult::error(vec![ContentBlock::text(error.message())]),
    }
}

impl Tools {
    pub fn new(app: App, user: User) -> Self {
        Self { app, user }
    }

    /// None where there is no such tool.
    async fn call(&self, name: &str, arguments: &Arguments) -> Option<Result<Given, Failure>> {
        Some(match name {
            SEARCH => self.search(arguments).await,
            GRAPH_NEIGHBORS => self.graph_neighbors(arguments).await,
            LIST_DOCUMENTS => self.list_documents(arguments).await,
            ASK => self.ask(arguments).await,
            _ => return None,
        })
    }

    async fn search(&self, arguments: &Arguments) -> Result<Given, Failure> {
        let question = Question {
            text: required(arguments, "query")?.to_owned(),
            mode: search::mode(text(arguments, "mode")?)?,
            limit: whole(arguments, "topK", "topK", MOST_RESULTS)?.unwrap_or(DEFAULT_RESULTS),
            filters: Filters {
                document_id: text(arguments, "documentId")?.map(str::to_owned),
                category: text(arguments, "category")?.map(str::to_owned),
                tags: tags(arguments)?,
            },
        };
        let content = search::found(&self.app, &self.user.id, question).await?;
        let results = content["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let passages: Vec<String> = results.iter().enumerate().map(passage).collect();
        let words = if passages.is_empty() { "Nothing was found.".to_owned() } else { passages.join("\n\n") };
        Ok(Given { words, content })
    }

    async fn graph_neighbors(&self, arguments: &Arguments) -> Result<Given, Failure> {
        let name = required(arguments, "node")?;
        let limit = whole(arguments, "limit", "limit", MOST_NEIGHBOURS)?.unwrap_or(DEFAULT_NEIGHBOURS);
        let graph = self.app.indexes.graph(&self.user.id).await?.graph;
        let unknown =
            || ApiError::not_found(format!("no `node` `{name}` in the graph: no document names it"));
        let node = graph.find_named(name).ok_or_else(unknown)?;
        let mut near = graph.neighbours(&node.id);
        near.truncate(limit);
        let lines: Vec<String> =
            near.iter().map(|(strength, node)| format!("- {} ({strength:.2})", node.label)).collect();
        let neighbors: Vec<Value> = near.iter().map(|(strength, node)| shown(node, *strength)).collect();
        Ok(Given {
            words: format!("{} is connected to:\n{}", node.label, lines.join("\n")),
            content: json!({ "node": shown(node, node.strength), "neighbors": neighbors }),
        })
    }

    async fn list_documents(&self, arguments: &Arguments) -> Result<Given, Failure> {
        let status = text(arguments, "status")?.map(|name| {
            let all = Status::ALL.map(Status::as_str).join(", ");
            let unknown = || ApiError::invalid(format!("unknown `status` `{name}`: one of {all}"));
            Status::parse(name).ok_or_else(unknown)
        });
        let status = status.transpose()?;
        let documents = tables::documents::of_user(&self.app.db, &self.user.id).await?;
        let wanted = |document: &&Document| status.is_none_or(|status| status == document.status);
        let documents: Vec<&Document> = documents.iter().filter(wanted).collect();
        let lines: Vec<String> = documents.iter().map(|document| line(document)).collect();
        let listed: Vec<Value> = documents.iter().map(|document| listed(document)).collect();
        Ok(Given {
            words: if lines.is_empty() { "There are no documents.".to_owned() } else { lines.join("\n") },
            content: json!({ "documents": listed }),
        })
    }

    async fn ask(&self, arguments: &Arguments) -> Result<Given, Failure> {
        let counted = Counted::question(&self.app, &self.user.id).await?;
        if let Some(excess) = counted.excess(&self.app) {
            let message = format!("rate limit exceeded: {}", excess.message);
            return Err(ApiError::too_many_requests(message, excess.wait).into());
        }
        let question = required(arguments, "question")?;
        refuse_long("question", question)?;
        let mut ask = Ask::new(question);
        if let Some(name) = text(arguments, "agentType")? {
            ask.agent = Agent::named(name).map_err(|error| ApiError::invalid(error.to_string()))?;
        }
        ask.top_k = whole(arguments, "topK", "topK", MOST_RESULTS)?.unwrap_or(ask.top_k);
        let answer = self.app.chats.answer(&self.user.id, ask).await?;
        let (sources, provider, model) =
            (Source::numbered(&answer.sources), answer.provider, answer.model.clone());
        let (text, _) = collect(answer).await?;
        let titles: Vec<String> = sources.iter().map(title).collect();
        let words = match titles.is_empty() {
            true => text.clone(),
            false => format!("{text}\n\nSources:\n{}", titles.join("\n")),
        };
        let content = json!({ "answer": text, "sources": sources, "provider": provider, "model": model });
        Ok(Given { words, content })
    }
}

fn required<'a>(arguments: &'a Arguments, name: &str) -> Result<&'a str, ApiError> {
    let found = text(arguments, name)?.map(str::trim).filter(|text| !text.is_empty());
    found.ok_or_else(|| ApiError::invalid(format!("`{name}` is missing: a string that is not empty")))
}

fn tags(arguments: &Arguments) -> Result<Vec<String>, ApiError> {
    let Some(value) = given(arguments, "tags") else { return Ok(Vec::new()) };
    let tags = value.as_array().and_then(|tags| tags.iter().map(|tag| tag.as_str()).collect());
    let tags: Vec<&str> = tags.ok_or_else(|| ApiError::invalid("`tags` is not an array of strings"))?;
    Ok(tags.into_iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect())
}

fn passage((place, result): (usize, &Value)) -> String {
    let text = result["text"].as_str().unwrap_or_default();
    format!("{}. {}\n{text}", place + 1, document_of(result))
}

fn title(source: &Value) -> String {
    format!("[{}] {}", source["number"], document_of(source))
}

fn document_of(result: &Value) -> String {
    let title = result["metadata"]["documentTitle"].as_str().unwrap_or_default();
    let id = result["documentId"].as_str().unwrap_or_default();
    format!("{title} (document {id})")
}

fn shown(node: &Node, strength: f32) -> Value {
    json!({
        "id": node.id,
        "label": node.label,
        "type": node.kind.as_str(),
        "strength": strength,
        "documentIds": node.documents.iter().take(MOST_DOCUMENT_IDS).map(|id| &**id).collect::<Vec<&str>>(),
        "documentCount": node.documents.len(),
    })
}

fn line(document: &Document) -> String {
    let Document { id, title, chunk_count, .. } = document;
    format!("- {title} (document {id}): {}, {chunk_count} passages", document.status.as_str())
}

fn listed(document: &Document) -> Value {
    json!({
        "id": document.id,
        "title": document.title,
        "status": document.status.as_str(),
        "chunkCount": document.chunk_count,
        "uploadedAt": document.uploaded_at,
    })
}
