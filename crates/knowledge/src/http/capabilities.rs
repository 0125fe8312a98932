//! `GET /api/capabilities`: what can be added here, so that a page can say so before a file is sent.

use super::App;
use super::caller::Caller;
use axum::Json;
use axum::extract::State;
use extract::NeedsProgram;
use kit::error::ApiError;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The most bytes of a file.
    #[schema(example = 104857600)]
    max_upload_bytes: u64,
    /// Files that cannot be read, because a program is not installed on the server.
    unreadable: Vec<Unreadable>,
}

#[derive(Serialize, ToSchema)]
pub struct Unreadable {
    files: FileGroup,
    /// The packages of Debian that an administrator installs; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = packages_example)]
    packages: Option<Vec<&'static str>>,
}

/// Files that need the same programs.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileGroup {
    /// Pictures, and PDF files whose pages are pictures.
    Scans,
    /// DOC, XLS and PPT.
    OldOffice,
}

impl From<NeedsProgram> for FileGroup {
    fn from(group: NeedsProgram) -> Self {
        match group {
            NeedsProgram::Scans => Self::Scans,
            NeedsProgram::OldOffice => Self::OldOffice,
        }
    }
}

/// Returns how large files may be, and which kinds cannot be read on this server.
#[utoipa::path(get, path = "/api/capabilities", responses((status = 200, body = Capabilities)))]
pub async fn get(State(app): State<App>, Caller(user): Caller) -> Result<Json<Capabilities>, ApiError> {
    // The disk is asked, which may take a moment.
    let looking =
        tokio::task::spawn_blocking(|| NeedsProgram::ALL.map(|group| (group, group.missing_packages())));
    let missing = looking.await.map_err(ApiError::internal)?.into_iter();
    let unreadable = missing.filter(|(_, packages)| !packages.is_empty()).map(|(group, packages)| {
        Unreadable { files: group.into(), packages: user.is_admin.then_some(packages) }
    });
    let max_upload_bytes = app.settings.max_upload_bytes;
    Ok(Json(Capabilities { max_upload_bytes, unreadable: unreadable.collect() }))
}

fn packages_example() -> [&'static str; 2] {
    ["tesseract-ocr", "poppler-utils"]
}
