//! `GET /api/projects/{id}/artifacts.zip`: what the agents have written, as files.

use super::App;
use super::caller::Caller;
use super::history::Versions;
use super::projects::find;
use crate::access::Access;
use crate::records::Artifact;
use crate::tables;
use crate::tables::artifacts::Filter;
use crate::workflow::{Output, Workflow};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base::iso8601;
use futures_util::stream::try_unfold;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use kit::error::ApiError;
use kit::request::{PathId, Query};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use store::StoreError;
use utoipa::IntoParams;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{DateTime, ZipWriter};

/// Artifacts whose ids are read at a time.
const PAGE: usize = 200;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ArchiveQuery {
    /// `all` includes artifacts that are superseded; `current` if absent.
    #[param(inline)]
    versions: Option<Versions>,
}

/// Returns the artifacts of a project as a zip of Markdown, JSON and code files.
#[utoipa::path(get, path = "/api/projects/{id}/artifacts.zip",
    params(("id" = String, Path, description = "The project's id."), ArchiveQuery),
    responses(
        (status = 200, description = "A file for each artifact: `PHASE/NN-AGENT.md`, where NN is the agent's place in its \
            phase. With all versions, `PHASE/NN-AGENT.vVERSION.md`.", content((Vec<u8> = "application/zip"))),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn artifacts(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    Query(query): Query<ArchiveQuery>,
) -> Result<Response, ApiError> {
    let project = find(&app, &caller, &id, Access::Read).await?;
    let disposition = format!("attachment; filename=\"{}.zip\"", plain_name(&project.name));
    let buffer = Buffer::default();
    let archive = Archive {
        app,
        project_id: id,
        all_versions: query.versions == Some(Versions::All),
        ids: VecDeque::new(),
        last: None,
        zip: Some(ZipWriter::new_stream(buffer.clone())),
        buffer,
    };
    let pieces = try_unfold(archive, |mut archive| async move {
        let piece =
            archive.next().await.inspect_err(|error| tracing::error!(%error, "an archive breaks off"))?;
        Ok::<_, ArchiveError>(piece.map(|piece| (piece, archive)))
    });
    let headers = [(CONTENT_TYPE, "application/zip".to_owned()), (CONTENT_DISPOSITION, disposition)];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

#[derive(Debug, thiserror::Error)]
enum ArchiveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Zip(#[from] zip::result::ZipError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An archive that is written as the client reads it: one artifact at a time is in memory.
struct Archive {
    app: App,
    project_id: String,
    all_versions: bool,
    /// Artifacts that are written next.
    ids: VecDeque<String>,
    /// The last artifact of the pages so far.
    last: Option<String>,
    /// None after its end was written.
    zip: Option<ZipWriter<StreamWriter<Buffer>>>,
    buffer: Buffer,
}

impl Archive {
    /// Returns the next bytes of the archive; none after the last.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        while let Some(mut zip) = self.zip.take() {
            match self.next_artifact().await? {
                Some(artifact) => {
                    let name = file_name(&self.app.settings.workflow, &artifact, self.all_versions);
                    let time = time(&artifact).unwrap_or_default();
                    zip.start_file(name, SimpleFileOptions::default().last_modified_time(time))?;
                    zip.write_all(artifact.content.as_bytes())?;
                    self.zip = Some(zip);
                }
                None => {
                    zip.finish()?;
                }
            }
            let written = self.buffer.take();
            if !written.is_empty() {
                return Ok(Some(written));
            }
        }
        Ok(None)
    }

    async fn next_artifact(&mut self) -> Result<Option<Artifact>, StoreError> {
        let db = &self.app.db;
        loop {
            while let Some(id) = self.ids.pop_front() {
                // None if the project was deleted meanwhile.
                if let Some(artifact) = tables::artifacts::get(db, &id).await? {
                    return Ok(Some(artifact));
                }
            }
            let filter = Filter { all_versions: self.all_versions, phase: None, after: self.last.as_deref() };
            let page = tables::artifacts::sizes(db, &self.project_id, filter, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(None) };
            self.last = Some(last.clone());
            self.ids.extend(page.into_iter().map(|(id, _)| id));
        }
    }
}

/// What was written to an archive and not sent yet.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the path of an artifact in the archive. An agent that the workflow no longer has is at place 0.
fn file_name(workflow: &Workflow, artifact: &Artifact, with_version: bool) -> String {
    let phase = workflow.phase(&artifact.phase);
    let place = phase.and_then(|phase| phase.position(&artifact.agent)).map_or(0, |place| place + 1);
    let version = if with_version { format!(".v{}", artifact.version) } else { String::new() };
    let ending = match artifact.kind {
        Output::Markdown => "md",
        Output::Json => "json",
        Output::Code => "txt",
    };
    let (phase, agent) = (plain_name(&artifact.phase), plain_name(&artifact.agent));
    format!("{phase}/{place:02}-{agent}{version}.{ending}")
}

/// Returns a name that every file system takes.
fn plain_name(name: &str) -> String {
    let plain = name.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' });
    let plain: String = plain.take(100).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "project".to_owned() } else { plain.to_owned() }
}

/// Returns when the artifact was stored, in UTC. An archive knows no times before 1980.
fn time(artifact: &Artifact) -> Option<DateTime> {
    let text = iso8601(artifact.created_at.0);
    let number = |start: usize, end: usize| text.get(start..end)?.parse::<u16>().ok();
    let small = |start: usize| number(start, start + 2).and_then(|number| u8::try_from(number).ok());
    let (year, month, day) = (number(0, 4)?, small(5)?, small(8)?);
    DateTime::from_date_and_time(year, month, day, small(11)?, small(14)?, small(17)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::fields::Time;

    fn artifact(phase: &str, agent: &str, kind: Output) -> Artifact {
        Artifact {
            id: String::new(),
            project_id: String::new(),
            run_id: String::new(),
            phase: phase.into(),
            agent: agent.into(),
            kind,
            content: String::new(),
            version: 3,
            superseded: false,
            edited_by: None,
            created_at: Time(1_794_709_061_250),
        }
    }

    #[test]
    fn a_file_is_named_by_phase_place_and_agent() {
        let workflow = Workflow::load(None).unwrap();
        let name = |artifact: &Artifact, all| file_name(&workflow, artifact, all);
        let manager = artifact("prd", "product-manager", Output::Markdown);
        assert_eq!(name(&manager, false), "prd/02-product-manager.md");
        assert_eq!(name(&manager, true), "prd/02-product-manager.v3.md");
        assert_eq!(name(&artifact("old", "../x", Output::Code), false), "old/00-x.txt");
        assert_eq!(
            (plain_name("Bienen & Blüten"), plain_name("蜂")),
            ("Bienen---Bl-ten".into(), "project".into())
        );
    }

    #[test]
    fn a_file_has_the_time_of_its_artifact() {
        let time = time(&artifact("prd", "a", Output::Json)).unwrap();
        assert_eq!((time.year(), time.month(), time.day()), (2026, 11, 15));
        assert_eq!((time.hour(), time.minute()), (2, 17));
    }
}
