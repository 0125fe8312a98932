//! Asks a vendor one question and prints the answer as it arrives, with the time and tokens it took.
//!
//! `ask PROVIDER BASE_URL MODEL PROMPT`: the provider is `vendor-a`, `vendor-b` or `vendor-c`. Its key is the first
//! line of standard input, so that no process list shows it; for a server that needs none, write `none`.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "not the product"
)]

use futures_util::StreamExt;
use llm::{
    Caller, Chat, Edge, Format, Message, Piece, Providers, Purpose, VENDOR_A, VENDOR_B, VendorSettings,
    Vendors, Who,
};
use std::env;
use std::io::{Write, stdin, stdout};
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [provider, base_url, model, prompt] = &arguments[..] else {
        panic!("ask PROVIDER BASE_URL MODEL PROMPT")
    };
    let mut key = String::new();
    stdin().read_line(&mut key).expect("a line on standard input");
    let key = if key.trim().is_empty() { "none" } else { key.trim() };
    let settings = VendorSettings {
        api_key: key.parse().expect("a key"),
        base_url: base_url.parse().expect("an address"),
        model: model.clone(),
        window: 128_000,
    };
    let mut vendors = Vendors { timeout: Duration::from_secs(120), ..Vendors::none() };
    match provider.as_str() {
        VENDOR_A => vendors.a = Some(settings),
        VENDOR_B => vendors.b = Some(settings),
        _ => vendors.c = Some(settings),
    }
    let providers = Providers::new(Edge::new(None, "none"), vendors, None).expect("a client");
    let model = providers.pick(provider, None).expect("a provider");

    let chat = Chat {
        messages: vec![Message::system("Answer in two sentences."), Message::user(prompt)],
        max_tokens: 64,
        temperature: 0.0,
        stop: Vec::new(),
        seed: 1,
        urgent: true,
        caller: Caller::new(Who::Local, Purpose::Test),
        tries: llm::USUAL_TRIES,
        tools: None,
        format: Format::Text,
    };
    let since = Instant::now();
    let mut first = None;
    let mut pieces = 0;
    let mut reply = model.chat(chat);
    while let Some(piece) = reply.next().await {
        match piece {
            Ok(Piece::Text(text)) => {
                first.get_or_insert_with(|| since.elapsed());
                pieces += 1;
                print!("{text}");
                stdout().flush().unwrap();
            }
            Ok(Piece::Call(_)) => {}
            Ok(Piece::End(usage)) => println!(
                "\n{pieces} pieces, the first after {:.3} s, all in {:.3} s; {} tokens read, {} written, {}",
                first.unwrap_or_default().as_secs_f32(),
                since.elapsed().as_secs_f32(),
                usage.input_tokens,
                usage.output_tokens,
                if usage.cut_off { "cut off" } else { "at its end" },
            ),
            Err(error) => {
                println!("\n{error}");
                std::process::exit(1);
            }
        }
    }
}
