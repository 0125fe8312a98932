//! The engine with the real models: order, priorities, streams, cancellation.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;
#[path = "common/reader_file.rs"]
#[allow(dead_code, reason = "small models are for the tests of the reader")]
mod reader_file;

use inference::chat_template::Message;
use inference::decoder::{Decoder, Sampling};
use inference::encoder::Encoder;
use inference::reader::{Pair, Reader};
use inference::{Engine, EngineError, Event, FinishReason, Finished, Kernel, Models, Priority, Request};
use std::time::{Duration, Instant};

fn engine() -> Engine {
    let models = common::models_dir();
    let kernel = Kernel::best();
    let file = models.join("smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf");
    Engine::start(Models {
        encoder: Some(Encoder::load(&models.join("all-minilm-l6-v2"), kernel).unwrap()),
        decoder: Some(Decoder::load(&file, kernel, 2).unwrap()),
        threads: 2,
        ..Models::default()
    })
}

fn ask(question: &str, max_tokens: usize) -> Request {
    let message = Message { role: "user".to_owned(), content: question.to_owned() };
    Request {
        messages: vec![message],
        max_tokens,
        sampling: Sampling::default(),
        stop: Vec::new(),
        priority: Priority::Interactive,
        user: "ada".into(),
    }
}

/// Runs a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Returns the whole text and how it ended.
fn answer(engine: &Engine, request: Request) -> (String, Result<Finished, EngineError>) {
    let mut generation = engine.generate(request).unwrap();
    let mut text = String::new();
    loop {
        match block_on(generation.next()).expect("an event that ends the answer") {
            Event::Text(piece) => text.push_str(&piece),
            Event::Finished(finished) => {
                assert!(block_on(generation.next()).is_none());
                return (text, Ok(finished));
            }
            Event::Failed(error) => return (text, Err(error)),
        }
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| {
            format!("Record {i}: {}", "the wing of the model was swept by some degrees. ".repeat(1 + i % 17))
        })
        .collect()
}

#[test]
fn vectors_come_in_the_order_of_their_texts() {
    let engine = engine();
    let all = block_on(engine.embed("ada", texts(60), Priority::Bulk).unwrap()).unwrap();
    assert_eq!(all.len(), 60);
    for (index, text) in texts(60).into_iter().enumerate().step_by(7) {
        let alone = block_on(engine.embed("ada", vec![text], Priority::Interactive).unwrap()).unwrap();
        let cosine: f32 = alone[0].iter().zip(&all[index]).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{index}: {cosine}");
    }
    assert!(block_on(engine.embed("ada", Vec::new(), Priority::Bulk).unwrap()).unwrap().is_empty());
}

#[test]
fn an_interactive_text_does_not_wait_for_bulk_or_for_answers() {
    let engine = engine();
    let mut bulk = Vec::new();
    let mut waits = Vec::new();
    let mut writing = engine.generate(ask("Tell me a long story about a harbour.", 400)).unwrap();
    for _ in 0..60 {
        while bulk.len() < 4 {
            bulk.push(engine.embed("ada", texts(200), Priority::Bulk).unwrap());
        }
        let start = Instant::now();
        let text = "How deep may a ship be at the north quay?".to_owned();
        block_on(engine.embed("ada", vec![text], Priority::Interactive).unwrap()).unwrap();
        waits.push(start.elapsed());
        std::thread::sleep(Duration::from_millis(3));
    }
    waits.sort();
    assert!(waits[waits.len() / 2] < Duration::from_millis(20), "median {:?}", waits[waits.len() / 2]);
    assert!(matches!(block_on(writing.next()), Some(Event::Text(_))), "the answer goes on, too");
}

fn engine_with_reader(threads: usize) -> Engine {
    let kernel = Kernel::best();
    Engine::start(Models {
        encoder: Some(Encoder::load(&common::models_dir().join("all-minilm-l6-v2"), kernel).unwrap()),
        reader: Some(Reader::from_bytes(&reader_file::trained(), kernel).unwrap()),
        threads,
        ..Models::default()
    })
}

fn pairs(engine: &Engine, count: usize) -> Vec<Pair> {
    let reader = engine.reader().unwrap();
    texts(count).iter().map(|text| reader.tokenize("How deep is the quay?", text)).collect()
}

#[test]
fn readings_come_in_the_order_of_their_pairs() {
    let engine = engine_with_reader(2);
    let readings = block_on(engine.read("ada", pairs(&engine, 40)).unwrap()).unwrap();
    assert_eq!(readings.len(), 40);
    for (index, pair) in pairs(&engine, 40).into_iter().enumerate().step_by(7) {
        let alone = block_on(engine.read("ada", vec![pair]).unwrap()).unwrap();
        assert_eq!(alone[0].tokens, readings[index].tokens);
        let difference = (alone[0].relevance - readings[index].relevance).abs();
        assert!(difference < 0.02, "{index}: {difference}");
    }
    assert!(block_on(engine.read("ada", Vec::new()).unwrap()).unwrap().is_empty());
    assert!(matches!(engine.read("ada", pairs(&engine, 1025)), Err(EngineError::Busy)));
}

#[test]
fn texts_that_are_embedded_and_pairs_of_others_do_not_wait_for_all_that_are_read() {
    let engine = engine_with_reader(1);
    let readings = engine.read("ada", pairs(&engine, 200)).unwrap();
    let others = engine.read("bob", pairs(&engine, 3)).unwrap();
    let vectors = engine.embed("ada", vec!["The quay is deep.".to_owned()], Priority::Interactive).unwrap();
    let waiting = std::thread::spawn(move || block_on(readings).unwrap());
    block_on(vectors).unwrap();
    assert!(!waiting.is_finished(), "all pairs were read first");
    assert_eq!(block_on(others).unwrap().len(), 3);
    assert!(!waiting.is_finished(), "all pairs of one user were read first");
    assert_eq!(waiting.join().unwrap().len(), 200);
}

#[test]
fn pairs_that_wait_get_an_error_when_the_engine_ends() {
    let engine = engine_with_reader(1);
    let readings = engine.read("ada", pairs(&engine, 400)).unwrap();
    drop(engine);
    assert!(matches!(block_on(readings), Err(EngineError::Stopped)));
}

#[test]
fn bulk_texts_are_embedded_while_answers_are_written() {
    let engine = engine();
    let mut generation = engine.generate(ask("Tell me a long story about a harbour.", 2000)).unwrap();
    assert!(matches!(block_on(generation.next()), Some(Event::Text(_))));
    let vectors = engine.embed("ada", texts(20), Priority::Bulk).unwrap();
    let waiting = std::thread::spawn(move || block_on(vectors).unwrap());
    let mut answered = false;
    while let Some(event) = block_on(generation.next()) {
        answered |= waiting.is_finished();
        if answered || matches!(event, Event::Finished(_)) {
            break;
        }
    }
    assert!(answered, "no vector before the answer was over");
}

#[test]
fn more_than_the_queue_holds_is_refused() {
    let engine = engine();
    let many = vec![String::from("x"); 20_000];
    assert!(matches!(engine.embed("ada", many, Priority::Bulk), Err(EngineError::Busy)));
    let waiting: Vec<_> = (0..600).map(|_| engine.generate(ask("Count to a thousand.", 1000))).collect();
    assert!(waiting.iter().any(|generation| matches!(generation, Err(EngineError::Busy))));
    assert!(waiting.iter().filter(|generation| generation.is_ok()).count() >= 256);
}

#[test]
fn without_models_requests_say_which_is_missing() {
    let engine = Engine::start(Models { threads: 1, ..Models::default() });
    let error = engine.embed("ada", vec![String::new()], Priority::Bulk).err().unwrap();
    assert_eq!(error.to_string(), "no embedding model is loaded");
    let error = engine.generate(ask("?", 1)).err().unwrap();
    assert_eq!(error.to_string(), "no language model is loaded");
    let error = engine.read("ada", Vec::new()).err().unwrap();
    assert_eq!(error.to_string(), "no reading model is loaded");
}

#[test]
fn an_answer_ends_by_itself_at_its_length_or_at_a_stop_string() {
    let engine = engine();
    let (text, finished) = answer(&engine, ask("What do bees make? Answer in one short sentence.", 200));
    let finished = finished.unwrap();
    assert!(!text.is_empty());
    assert_eq!(finished.reason, FinishReason::Stop);
    assert!(finished.prompt_tokens > 20 && finished.answer_tokens > 3);

    let (text, finished) = answer(&engine, counting(7));
    let finished = finished.unwrap();
    assert!(text.contains("four five six"), "{text}");
    assert_eq!((finished.reason, finished.answer_tokens), (FinishReason::Length, 7));

    let stop = Request { stop: vec!["seven".to_owned()], ..counting(60) };
    let (text, finished) = answer(&engine, stop);
    assert_eq!(text.trim(), "four five six");
    assert_eq!(finished.unwrap().reason, FinishReason::Stop);

    let (text, finished) = answer(&engine, ask("Hello", 0));
    assert_eq!((text.as_str(), finished.unwrap().answer_tokens), ("", 0));
}

/// Returns a conversation that even the smallest model continues as it must.
fn counting(max_tokens: usize) -> Request {
    let message = |role: &str, content: &str| Message { role: role.to_owned(), content: content.to_owned() };
    let example =
        [message("user", "one two three"), message("assistant", "four five six seven eight nine ten")];
    let mut messages = [&example[..]; 4].concat();
    messages.push(message("user", "one two three"));
    Request { messages, ..ask("", max_tokens) }
}

#[test]
fn a_prompt_longer_than_the_context_is_an_error_of_its_own() {
    let engine = engine();
    let decoder = engine.decoder().unwrap();
    let request = ask(&"word ".repeat(decoder.context()), 1);
    let length = decoder.template().chat_tokens(decoder.tokenizer(), &request.messages, true).unwrap().len();
    let (_, outcome) = answer(&engine, request);
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, EngineError::PromptTooLong { tokens, most }
            if tokens == length && most == decoder.context() - 1),
        "{error}"
    );
}

#[test]
fn answers_written_at_the_same_time_are_those_written_alone() {
    let engine = engine();
    let questions =
        ["What is the capital of France?", "What do bees make?", "Who wrote Hamlet?", "What is ice?"];
    let alone: Vec<String> = questions.iter().map(|question| answer(&engine, ask(question, 30)).0).collect();
    let together: Vec<String> = std::thread::scope(|scope| {
        let engine = &engine;
        let answers = questions.map(|question| scope.spawn(move || answer(engine, ask(question, 30)).0));
        answers.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    // Rows of one product are rounded independently, but an earlier prompt changes how much of a prompt is reused.
    let same = alone.iter().zip(&together).filter(|(a, b)| a == b).count();
    assert!(same >= 3, "{alone:#?} {together:#?}");
}

#[test]
fn what_begins_like_an_earlier_prompt_is_not_read_again() {
    let engine = engine();
    let system =
        Message { role: "system".to_owned(), content: "You answer in one short sentence. ".repeat(40) };
    let with_system = |question: &str| {
        let user = Message { role: "user".to_owned(), content: question.to_owned() };
        Request { messages: vec![system.clone(), user], ..ask("", 10) }
    };
    let first = answer(&engine, with_system("What do bees make?")).1.unwrap();
    assert_eq!(first.reused_tokens, 0);
    let second = answer(&engine, with_system("What is the capital of France?")).1.unwrap();
    assert!(second.reused_tokens > 250 && second.reused_tokens < second.prompt_tokens, "{second:?}");
}

#[test]
fn the_same_seed_writes_the_same_and_pieces_are_whole_characters() {
    let engine = engine();
    let request = |seed| Request {
        sampling: Sampling { temperature: 1.5, top_k: 0, top_p: 1.0, repetition_penalty: 1.1, seed },
        ..ask("Write emojis and Chinese characters: 🦀 漢字", 60)
    };
    let (first, _) = answer(&engine, request(1));
    let (again, _) = answer(&engine, request(1));
    let (other, _) = answer(&engine, request(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn a_dropped_answer_is_not_written_to_its_end() {
    let engine = engine();
    for _ in 0..8 {
        let mut generation = engine.generate(ask("Count from one to ten thousand.", 4000)).unwrap();
        assert!(matches!(block_on(generation.next()), Some(Event::Text(_))));
    }
    let start = Instant::now();
    let (text, _) = answer(&engine, counting(5));
    assert!(
        text.contains("four") && start.elapsed() < Duration::from_secs(20),
        "{text} {:?}",
        start.elapsed()
    );
}

#[test]
fn waiting_requests_get_an_error_when_the_engine_ends() {
    let engine = engine();
    let vectors = engine.embed("ada", texts(5000), Priority::Bulk).unwrap();
    let mut generation = engine.generate(ask("Count from one to ten thousand.", 4000)).unwrap();
    drop(engine);
    assert!(matches!(block_on(vectors), Err(EngineError::Stopped)));
    while let Some(event) = block_on(generation.next()) {
        assert!(matches!(event, Event::Text(_)));
    }
}

#[tokio::test]
async fn tasks_can_await_vectors_and_answers() {
    let engine = engine();
    let vectors = engine
        .embed("ada", vec!["one".to_owned(), "two".to_owned()], Priority::Interactive)
        .unwrap()
        .await
        .unwrap();
    assert_eq!(vectors.len(), 2);
    let mut generation = engine.generate(ask("What do bees make?", 30)).unwrap();
    let mut ended = false;
    while let Some(event) = generation.next().await {
        ended |= matches!(event, Event::Finished(_));
    }
    assert!(ended);
}
