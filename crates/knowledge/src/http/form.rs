//! A multipart form: its texts, and its files on their way to the object store.

use super::App;
use super::error::Failure;
use crate::ingest::{Spool, Upload, clean_filename};
use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use kit::error::ApiError;
use kit::request::body_error;
use kit::unknown_fields::UnknownFields;
use std::collections::HashMap;

const LONGEST_TEXT: usize = 256 * 1024;
const MOST_PARTS: usize = 1_000;
/// Files of a form, and how many times the limit of one file they may measure together.
const MOST_FILES: usize = 100;
const MOST_FILE_LIMITS: u64 = 3;
const FILES: [&str; 3] = ["file", "files", "files[]"];
/// All others are passed over.
const TEXTS: [&str; 9] =
    ["userId", "metadata", "duplicate", "name", "email", "password", "username", "goals", "isAdmin"];

#[derive(Default)]
pub struct Form {
    texts: HashMap<String, String>,
    pub files: Vec<Upload>,
}

impl FromRequest<App> for Form {
    type Rejection = Failure;

    /// Parts named `file`, `files` and `files[]` are files, whatever they say of themselves.
    async fn from_request(mut request: Request, app: &App) -> Result<Self, Failure> {
        // Files have a limit of their own.
        DefaultBodyLimit::disable().apply(&mut request);
        let unknown = request.extensions().get::<UnknownFields>().cloned();
        let mut multipart = Multipart::from_request(request, app).await.map_err(not_multipart)?;
        let mut form = Self::default();
        let mut parts = 0;
        while let Some(field) = multipart.next_field().await.map_err(broken)? {
            parts += 1;
            if parts > MOST_PARTS {
                return Err(ApiError::invalid("the form has more than 1000 parts").into());
            }
            let name = field.name().unwrap_or_default().to_owned();
            if FILES.contains(&name.as_str()) {
                form.add_file(field, app).await?;
                continue;
            }
            unknown.iter().for_each(|unknown| unknown.form_field(&name));
            if TEXTS.contains(&name.as_str()) {
                form.add_text(name, field).await?;
            }
        }
        Ok(form)
    }
}

impl Form {
    /// None where it is absent or empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name)
            .ok_or_else(|| ApiError::invalid(format!("`{name}` is missing: a form field that is not empty")))
    }

    async fn add_file(&mut self, mut field: Field<'_>, app: &App) -> Result<(), Failure> {
        if self.files.len() >= MOST_FILES {
            return Err(ApiError::invalid("the form has more than 100 files").into());
        }
        let filename = clean_filename(field.file_name().unwrap_or_default());
        let taken: u64 = self.files.iter().map(|upload| upload.spool.size()).sum();
        let limit = app.settings.max_upload_bytes;
        let mut spool = Spool::new(limit.min((limit * MOST_FILE_LIMITS).saturating_sub(taken)));
        while let Some(piece) = field.chunk().await.map_err(broken)? {
            spool.push(&piece, &app.settings.spool_folder)?;
        }
        self.files.push(Upload { filename, spool: spool.finish() });
        Ok(())
    }

    async fn add_text(&mut self, name: String, mut field: Field<'_>) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        while let Some(piece) = field.chunk().await.map_err(broken)? {
            if bytes.len() + piece.len() > LONGEST_TEXT {
                return Err(ApiError::too_large(format!("`{name}` is longer than 256 KiB")).into());
            }
            bytes.extend_from_slice(&piece);
        }
        if bytes.contains(&0) {
            return Err(ApiError::invalid(format!("`{name}` has a NUL character")).into());
        }
        let text =
            String::from_utf8(bytes).map_err(|_| ApiError::invalid(format!("`{name}` is not UTF-8")))?;
        if self.texts.insert(name.clone(), text).is_some() {
            return Err(ApiError::invalid(format!("`{name}` is given twice")).into());
        }
        Ok(())
    }
}

fn not_multipart(_: MultipartRejection) -> Failure {
    ApiError::invalid("the body is not multipart/form-data with a boundary").into()
}

fn broken(error: MultipartError) -> Failure {
    body_error(&error).into()
}
