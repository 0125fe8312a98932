//! A vendor: a server that speaks the chat-completions protocol, stores its requests, and answers as the test wants. Its
//! model `hang` stops after one word, `break` breaks off after it, `fail` refuses, `down` fails, `slow` pauses before each
//! word, `flood` never ends. `tools` calls a function of the request with [`REPORT`], and answers once it has the result;
//! `schema` answers [`REPORT`].

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;

/// What the models `tools` and `schema` write.
pub const REPORT: &str = r#"{"city": "Bern", "degrees": 21}"#;

const SLOW_WORD: Duration = Duration::from_millis(25);

pub struct Vendor {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    accepting: JoinHandle<()>,
}

type Body = StreamBody<UnboundedReceiverStream<Result<Frame<Bytes>, Infallible>>>;

impl Vendor {
    pub async fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let remembered = asked.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let remembered = remembered.clone();
                let service = service_fn(move |request| respond(request, remembered.clone(), answer));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
        Self { address, asked, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the bodies of all requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("no test panicked with it").clone()
    }

    /// Returns the text of the last request's message of a role; empty if it has none.
    pub fn last(&self, role: &str) -> String {
        let asked = self.asked();
        let messages = asked.last().expect("a request")["messages"].as_array().expect("messages").clone();
        let found = messages.iter().filter(|message| message["role"] == role);
        found.filter_map(|message| message["content"].as_str()).collect::<Vec<&str>>().join("\n---\n")
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn respond(
    request: Request<Incoming>,
    asked: Arc<Mutex<Vec<Value>>>,
    answer: &'static str,
) -> Result<Response<Body>, hyper::Error> {
    if request.method() == hyper::Method::GET {
        // The list of models, by which `stoa check` sees that it can be reached.
        let (pieces, stream) = mpsc::unbounded_channel();
        let key = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let is_refused = key == Some("Bearer wrong");
        let list = match is_refused {
            true => json!({ "error": { "message": "wrong is no key" } }),
            false => {
                json!({ "object": "list", "data": [{ "id": "small", "max_model_len": 8192 }, { "id": "slow" }] })
            }
        };
        drop(pieces.send(Ok(Frame::data(Bytes::from(list.to_string())))));
        let mut response = Response::new(StreamBody::new(UnboundedReceiverStream::new(stream)));
        if is_refused {
            *response.status_mut() = hyper::StatusCode::UNAUTHORIZED;
        }
        return Ok(response);
    }
    let key = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let key = key.unwrap_or_default().to_owned();
    let body: Value =
        serde_json::from_slice(&request.into_body().collect().await?.to_bytes()).expect("a JSON body");
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let called = called(&body);
    asked.lock().expect("no test panicked with it").push(body);
    let (pieces, stream) = mpsc::unbounded_channel();
    let send = |text: String| drop(pieces.send(Ok(Frame::data(Bytes::from(text)))));
    let mut response = Response::new(StreamBody::new(UnboundedReceiverStream::new(stream)));
    if model == "fail" || model == "down" {
        let is_down = model == "down";
        *response.status_mut() =
            if is_down { hyper::StatusCode::SERVICE_UNAVAILABLE } else { hyper::StatusCode::BAD_REQUEST };
        response.headers_mut().insert("content-type", "application/json".parse().expect("a header"));
        send(json!({ "error": { "message": format!("no such model;\0 you sent {key}") } }).to_string());
        return Ok(response);
    }
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a header"));
    if model == "flood" {
        tokio::spawn(async move {
            let words = chunk(json!({ "content": answer.repeat(100) }), Value::Null);
            while pieces.send(Ok(Frame::data(Bytes::from(words.clone())))).is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        return Ok(response);
    }
    if model == "slow" {
        tokio::spawn(async move {
            for word in answer.split_inclusive(' ') {
                tokio::time::sleep(SLOW_WORD).await;
                if pieces
                    .send(Ok(Frame::data(Bytes::from(chunk(json!({ "content": word }), Value::Null)))))
                    .is_err()
                {
                    return;
                }
            }
            let _ = pieces.send(Ok(Frame::data(Bytes::from(end()))));
        });
        return Ok(response);
    }
    let answer = match (model.as_str(), called) {
        ("tools", Some(name)) => {
            for delta in call(&name) {
                send(chunk(json!({ "tool_calls": [delta] }), Value::Null));
            }
            send(end_with("tool_calls"));
            return Ok(response);
        }
        ("schema", _) => REPORT,
        _ => answer,
    };
    for word in answer.split_inclusive(' ') {
        send(chunk(json!({ "content": word }), Value::Null));
        if model == "hang" {
            // Held open until the client disconnects.
            tokio::spawn(async move { pieces.closed().await });
            return Ok(response);
        }
        if model == "break" {
            return Ok(response);
        }
    }
    send(end());
    Ok(response)
}

fn chunk(delta: Value, finish: Value) -> String {
    let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    format!("data: {}\n\n", json!({ "id": "x", "object": "chat.completion.chunk", "choices": choice }))
}

/// Returns the function that a request has called: the one that it names, or its first; none if it has the result.
fn called(body: &Value) -> Option<String> {
    let is_done = body["messages"].as_array()?.last()?["role"] == "tool";
    let named = body["tool_choice"]["function"]["name"].as_str();
    let name = named.or_else(|| body["tools"][0]["function"]["name"].as_str())?;
    (!is_done).then(|| name.to_owned())
}

/// Returns a call in pieces.
fn call(name: &str) -> [Value; 3] {
    let (one, other) = REPORT.split_at(REPORT.len() / 2);
    [
        json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": name, "arguments": "" } }),
        json!({ "index": 0, "function": { "arguments": one } }),
        json!({ "index": 0, "function": { "arguments": other } }),
    ]
}

fn end() -> String {
    end_with("stop")
}

fn end_with(reason: &str) -> String {
    let usage = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
    let usage = json!({ "id": "x", "choices": [], "usage": usage });
    format!("{}data: {usage}\n\ndata: [DONE]\n\n", chunk(json!({}), json!(reason)))
}
