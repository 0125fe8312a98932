//! Indexes one document: reads its file, embeds its passages, finds what they name, and makes it visible.

use super::archive;
use super::error::IndexingError;
use super::progress::Progress;
use super::reading::{MOST_TEXT, error_of, extracted_with_progress};
use super::versions;
use super::{Ingest, LONGEST_TITLE};
use crate::indexes;
use crate::jobs::{IngestPayload, RELATE, RelatePayload, payload, retried_job};
use crate::records::{Chunk, Document, Mention, Stage, documents_topic};
use crate::tables::{self, documents::Indexed};
use crate::title;
use extract::{ExtractError, Outline, Passage};
use inference::encoder::MAX_TOKENS;
use inference::{Engine, EngineError, Priority};
use llm::Purpose;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::jobs::{self, Job};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Passages of a document that the encoder gets at a time: few, so that the batches of documents interleave.
const BATCH: usize = 32;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

struct Text {
    title: String,
    /// What the document is about, if the title says it. The name of a file often does not.
    subject: String,
    outline: Outline,
    passages: Vec<Passage>,
    is_code: bool,
}

pub async fn index(
    ingest: &Ingest,
    document: &Document,
    job: &Job,
    stop: &CancellationToken,
) -> Result<(), IndexingError> {
    let missing = "the embedding model is missing: run `stoa models pull` and start again";
    let engine = ingest.engine.as_ref().ok_or_else(|| IndexingError::Ours(missing.to_owned()))?;
    let encoder = engine.encoder().ok_or_else(|| IndexingError::Ours(missing.to_owned()))?.fingerprint();
    let mut progress = Progress::new(&ingest.db, document, job.id);

    let done = watch::Sender::new(0.0);
    let pages = done.subscribe();
    let reading = progress.show_while(read(ingest, engine, document, done), Stage::Reading, pages);
    let text = timed("chunking", reading).await?;
    progress.at(Stage::Reading, 1.0).await?;
    let embedding = async {
        match known_vectors(ingest, document, job, &text, encoder).await? {
            Some(vectors) => Ok(vectors),
            None => embed(engine, document, &text, &mut progress, stop).await,
        }
    };
    let vectors = timed("embedding", embedding).await?;
    progress.at(Stage::Graph, 0.0).await?;
    let Text { title, subject, outline, passages, is_code } = text;
    let chunks = timed("graph", name(passages, is_code, subject, vectors)).await?;
    progress.at(Stage::Finishing, 0.0).await?;
    if stop.is_cancelled() {
        return Err(IndexingError::Stopped);
    }
    let finished = Finished { title, outline, encoder, chunks };
    timed("finalizing", publish(ingest, document, job, &finished)).await
}

async fn timed<T>(
    stage: &'static str,
    work: impl Future<Output = Result<T, IndexingError>>,
) -> Result<T, IndexingError> {
    let started = Instant::now();
    let done = work.await;
    metrics::histogram!("knowledge_stage_seconds", "stage" => stage).record(started.elapsed());
    done
}

/// Reads the file's text and splits it into passages that the encoder can read whole. The text of an archive is the list
/// of its files.
async fn read(
    ingest: &Ingest,
    engine: &Arc<Engine>,
    document: &Document,
    done: watch::Sender<f64>,
) -> Result<Text, IndexingError> {
    let split = splitter(engine.clone(), document);
    match extracted_with_progress(ingest, document, done, split).await {
        Err(IndexingError::Archive) => {
            let listing = archive::unpack(ingest, document).await?;
            let (extractor, split) = (ingest.extractor.clone(), splitter(engine.clone(), document));
            let splitting = tokio::task::spawn_blocking(move || {
                let extracted = extractor.extract("files.md", listing.as_bytes());
                split(extracted.map_err(error_of)?)
            });
            splitting.await.unwrap_or_else(|error| Err(IndexingError::Ours(error.to_string())))
        }
        read => read,
    }
}

/// Returns what splits the text of a document into passages.
fn splitter(
    engine: Arc<Engine>,
    document: &Document,
) -> impl FnOnce(extract::Document) -> Result<Text, IndexingError> + Send + 'static {
    let (filename, given_title) = (document.filename.clone(), document.metadata.get("title").cloned());
    move |extracted: extract::Document| {
        let own_title = extracted.title.as_ref().map(|own| title::cut(own, LONGEST_TITLE));
        let is_there = |title: &String| !title.trim().is_empty();
        let title = given_title.filter(is_there).or_else(|| own_title.filter(is_there));
        let subject = title.clone().unwrap_or_else(|| subject_of(&filename));
        let title = title.unwrap_or(filename);
        let tokenizer = engine.encoder().map(|encoder| encoder.tokenizer());
        let count = |text: &str| tokenizer.map_or(0, |tokenizer| tokenizer.count(text));
        let passages = extract::passages(&extracted, &title, MAX_TOKENS, &count);
        match passages.is_empty() {
            true => Err(IndexingError::File(ExtractError::NoText(extracted.kind).to_string())),
            false => Ok(Text {
                title,
                subject,
                outline: extracted.outline(MOST_TEXT),
                passages,
                is_code: extracted.kind == extract::Kind::Code,
            }),
        }
    }
}

/// Returns the title in a file's name: `Silent_Harbour.txt` has one, `scan0017.pdf` has none.
fn subject_of(filename: &str) -> String {
    let stem = filename.rsplit_once('.').map_or(filename, |(stem, _)| stem).replace('_', " ");
    if stem.trim().contains(' ') { stem } else { String::new() }
}

/// Returns the vectors of another document with the same content, so that the same file is embedded only once.
async fn known_vectors(
    ingest: &Ingest,
    document: &Document,
    job: &Job,
    text: &Text,
    encoder: &str,
) -> Result<Option<Vec<Vec<f32>>>, IndexingError> {
    let of = payload::<IngestPayload>(job).map_err(|error| IndexingError::Ours(error.message))?.copied_from;
    let Some(twin) = tables::documents::twin(&ingest.db, document, &of, &text.title, encoder).await? else {
        return Ok(None);
    };
    let chunks = tables::chunks::of_document(&ingest.db, &twin).await?;
    let is_same = |(chunk, passage): (&Chunk, &Passage)| {
        chunk.text == passage.text && chunk.headings == passage.headings
    };
    let same = chunks.len() == text.passages.len() && chunks.iter().zip(&text.passages).all(is_same);
    Ok(same.then(|| chunks.into_iter().map(|chunk| chunk.vector).collect()))
}

async fn embed(
    engine: &Engine,
    document: &Document,
    text: &Text,
    progress: &mut Progress<'_>,
    stop: &CancellationToken,
) -> Result<Vec<Vec<f32>>, IndexingError> {
    // Who has added many documents to many spaces has one turn all the same.
    let user_id = if document.added_by.is_empty() { &document.user_id } else { &document.added_by };
    let mut vectors = Vec::with_capacity(text.passages.len());
    for batch in text.passages.chunks(BATCH) {
        if stop.is_cancelled() {
            return Err(IndexingError::Stopped);
        }
        let embeddings = loop {
            match engine.embed(user_id, batch.iter().map(Passage::embedded).collect(), Priority::Bulk) {
                Ok(embeddings) => break embeddings,
                Err(EngineError::Busy) => tokio::time::sleep(BUSY_PAUSE).await,
                Err(error) => return Err(IndexingError::Ours(error.to_string())),
            }
        };
        vectors.extend(embeddings.await.map_err(|error| IndexingError::Ours(error.to_string()))?);
        metrics::counter!("knowledge_passages_embedded_total").increment(batch.len() as u64);
        progress.at(Stage::Embedding, vectors.len() as f64 / text.passages.len() as f64).await?;
    }
    Ok(vectors)
}

/// Makes the chunks, each with what it names.
async fn name(
    passages: Vec<Passage>,
    is_code: bool,
    subject: String,
    vectors: Vec<Vec<f32>>,
) -> Result<Vec<Chunk>, IndexingError> {
    let naming = tokio::task::spawn_blocking(move || {
        let texts: Vec<graph::Passage<'_>> = passages
            .iter()
            .map(|passage| graph::Passage { text: &passage.text, headings: &passage.headings, is_code })
            .collect();
        let mut mentions: Vec<Vec<Mention>> = vec![Vec::new(); passages.len()];
        for mention in graph::mentions(&subject, &texts) {
            if let Some(own) = mentions.get_mut(mention.passage as usize) {
                own.push(Mention {
                    key: mention.key,
                    label: mention.label,
                    kind: mention.kind.as_str().to_owned(),
                    count: mention.count,
                    weight: mention.weight,
                    defines: mention.defines,
                    sentences: mention.sentences,
                });
            }
        }
        let parts = passages.into_iter().zip(vectors).zip(mentions).enumerate();
        let chunks = parts.map(|(position, ((passage, vector), mentions))| Chunk {
            position: position as i64,
            text: passage.text,
            headings: passage.headings,
            page: passage.page.map(i64::from),
            start: passage.offset as i64,
            vector,
            mentions,
        });
        chunks.collect::<Vec<Chunk>>()
    });
    naming.await.map_err(|error| IndexingError::Ours(format!("finding names stopped: {error}")))
}

/// What indexing has made of a document.
struct Finished<'a> {
    title: String,
    outline: Outline,
    encoder: &'a str,
    chunks: Vec<Chunk>,
}

/// Makes all of the document visible, in one transaction.
async fn publish(
    ingest: &Ingest,
    document: &Document,
    job: &Job,
    Finished { title, outline, encoder, chunks }: &Finished<'_>,
) -> Result<(), IndexingError> {
    let nodes: BTreeSet<&str> =
        chunks.iter().flat_map(|chunk| &chunk.mentions).map(|mention| mention.key.as_str()).collect();
    let mut tx = ingest.db.begin().await?;
    let revision = tables::users::next_revision(&mut tx, &document.user_id).await?;
    let Some(revision) = revision else { return Err(IndexingError::Stopped) };
    let indexed = Indexed {
        title,
        chunk_count: chunks.len() as i64,
        graph_nodes: nodes.len() as i64,
        encoder,
        revision,
    };
    if !tables::documents::set_indexed(&mut tx, &document.id, job.id, &indexed).await? {
        return Err(IndexingError::Stopped);
    }
    versions::make_current(&mut tx, document).await?;
    tables::chunks::replace(&mut tx, &document.id, chunks).await?;
    tables::texts::put(&mut tx, &document.id, outline).await?;
    indexes::note_change(&mut tx, &document.user_id, chunks.len() as i64).await?;
    tables::relations::forget(&mut tx, &document.id).await?;
    // No graph shows the files of conversations.
    let is_shown = tables::users::files_of(tx.conn(), &document.user_id).await?.is_none();
    if is_shown && tables::connections::has_default(&mut tx, Purpose::Graph.name()).await? {
        let relating = RelatePayload { document_id: document.id.clone(), revision, from: 0 };
        jobs::enqueue(&mut tx, retried_job(RELATE, relating)).await?;
    }
    jobs::complete(&mut tx, job).await?;
    tx.wake(&documents_topic(&document.user_id));
    tx.commit().await?;
    metrics::counter!("knowledge_documents_indexed_total").increment(1);
    Ok(())
}
