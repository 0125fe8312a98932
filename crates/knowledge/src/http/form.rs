//! A multipart form: its texts, and its files on their way to the object store.

use super::App;
use crate::ingest::{Spool, Upload, clean_filename};
use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use kit::error::ApiError;
use kit::request::{body_error, from_fields};
use kit::unknown_fields::UnknownFields;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

const LONGEST_TEXT: usize = 256 * 1024;
const MOST_PARTS: usize = 1_000;
/// Files of a form, and how many times the limit of one file they may measure together.
const MOST_FILES: usize = 100;
const MOST_FILE_LIMITS: u64 = 3;
const FILES: [&str; 3] = ["file", "files", "files[]"];

/// The texts of a form. Parts with other names are not read.
pub trait FormTexts: DeserializeOwned {
    const NAMES: &'static [&'static str];
}

/// A form. A text that is empty counts as absent.
pub struct Form<T> {
    pub texts: T,
    pub files: Vec<Upload>,
}

/// A file, in the document of the interface. A form has its files in [`Form::files`].
#[derive(Default, Deserialize)]
pub struct File;

impl PartialSchema for File {
    fn schema() -> RefOr<Schema> {
        let file = ObjectBuilder::new().schema_type(Type::String);
        file.format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).into()
    }
}

impl ToSchema for File {}

impl<T: FormTexts> FromRequest<App> for Form<T> {
    type Rejection = ApiError;

    /// Takes parts named `file`, `files` and `files[]` for files, also if they have no filename.
    async fn from_request(mut request: Request, app: &App) -> Result<Self, ApiError> {
        // Files have a limit of their own.
        DefaultBodyLimit::disable().apply(&mut request);
        let unknown = request.extensions().get::<UnknownFields>().cloned();
        let mut multipart = Multipart::from_request(request, app).await.map_err(not_multipart)?;
        let (mut texts, mut files) = (Map::new(), Vec::new());
        let mut parts = 0;
        while let Some(field) = multipart.next_field().await.map_err(broken)? {
            parts += 1;
            if parts > MOST_PARTS {
                return Err(ApiError::invalid("the form has more than 1000 parts"));
            }
            let name = field.name().unwrap_or_default().to_owned();
            if FILES.contains(&name.as_str()) {
                files.push(read_file(field, &files, app).await?);
                continue;
            }
            unknown.iter().for_each(|unknown| unknown.form_field(&name));
            if T::NAMES.contains(&name.as_str()) {
                let text = read_text(&name, field).await?;
                if texts.insert(name.clone(), Value::String(text)).is_some() {
                    return Err(ApiError::invalid(format!("`{name}` is given twice")));
                }
            }
        }
        texts.retain(|_, text| text != "");
        Ok(Self { texts: from_fields(Value::Object(texts))?, files })
    }
}

async fn read_file(mut field: Field<'_>, before: &[Upload], app: &App) -> Result<Upload, ApiError> {
    if before.len() >= MOST_FILES {
        return Err(ApiError::invalid("the form has more than 100 files"));
    }
    let filename = clean_filename(field.file_name().unwrap_or_default());
    let taken: u64 = before.iter().map(|upload| upload.spool.size()).sum();
    let limit = app.settings.max_upload_bytes;
    let mut spool = Spool::new(limit.min((limit * MOST_FILE_LIMITS).saturating_sub(taken)));
    while let Some(piece) = field.chunk().await.map_err(broken)? {
        spool.push(&piece, &app.settings.spool_folder)?;
    }
    Ok(Upload { filename, spool: spool.finish() })
}

async fn read_text(name: &str, mut field: Field<'_>) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(broken)? {
        if bytes.len() + piece.len() > LONGEST_TEXT {
            return Err(ApiError::too_large(format!("`{name}` is longer than 256 KiB")));
        }
        bytes.extend_from_slice(&piece);
    }
    if bytes.contains(&0) {
        return Err(ApiError::invalid(format!("`{name}` has a NUL character")));
    }
    String::from_utf8(bytes).map_err(|_| ApiError::invalid(format!("`{name}` is not UTF-8")))
}

fn not_multipart(_: MultipartRejection) -> ApiError {
    ApiError::invalid("the body is not multipart/form-data with a boundary")
}

fn broken(error: MultipartError) -> ApiError {
    body_error(&error)
}
