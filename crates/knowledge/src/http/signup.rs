//! `POST /api/signup`: an administrator makes an account, with its first files.

use super::App;
use super::caller::Admin;
use super::form::{File, Form, FormTexts};
use super::ingest::require_encoder;
use crate::accounts::{Accounts, NewUser};
use crate::ingest::{DocumentOwner, Duplicates, NewFile, Submitted};
use crate::summary::summarize;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignupForm {
    #[schema(min_length = 1, max_length = 254, example = "Ada Solberg")]
    name: String,
    #[schema(min_length = 3, max_length = 254, example = "ada@example.org")]
    email: String,
    #[schema(min_length = 8, max_length = 1024, example = "correct horse")]
    password: String,
    /// The email address if absent.
    #[schema(min_length = 1, max_length = 254, example = "ada")]
    username: Option<String>,
    #[schema(max_length = 262144, example = "Keep the pumps running.")]
    goals: Option<String>,
    /// `true`, `1` or `on` makes an administrator.
    #[serde(default, deserialize_with = "is_on")]
    #[schema(value_type = String, example = "false")]
    is_admin: bool,
    #[serde(default, rename = "files[]")]
    #[schema(value_type = Vec<File>)]
    #[expect(dead_code, reason = "only described: files are read apart")]
    files: Vec<File>,
}

impl FormTexts for SignupForm {
    const NAMES: &'static [&'static str] = &["name", "email", "password", "username", "goals", "isAdmin"];
}

fn is_on<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(matches!(String::deserialize(deserializer)?.as_str(), "true" | "1" | "on"))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedUp {
    success: bool,
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    user_id: String,
    #[schema(example = "Keep the pumps running.")]
    goals_summary: String,
    #[schema(example = 1)]
    files_uploaded: usize,
    files: Vec<UploadedFile>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadedFile {
    /// The id of its document.
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    #[schema(example = "pump.pdf")]
    filename: String,
    #[schema(
        example = "users/5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f/documents/0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a-pump.pdf"
    )]
    object_key: String,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    uploaded_at: i64,
    /// The document that had the same content already; only for a duplicate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duplicate_of: Option<String>,
}

/// Makes an account, with its first files; for administrators.
#[utoipa::path(post, path = "/api/signup",
    request_body(content = SignupForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The account is made, and its files will be indexed.", body = SignedUp),
        (status = 404, description = "`NOT_FOUND`: the user was removed meanwhile."),
    ))]
pub async fn signup(
    State(app): State<App>,
    Admin(admin): Admin,
    form: Form<SignupForm>,
) -> Result<Json<SignedUp>, ApiError> {
    let Form { texts, files: uploads } = form;
    let new = NewUser {
        username: texts.username,
        email: texts.email,
        name: texts.name,
        password: texts.password,
        goals: texts.goals.unwrap_or_default(),
        is_admin: texts.is_admin,
    };
    Accounts::check(&new)?;
    if !uploads.is_empty() {
        require_encoder(&app)?;
    }
    let summary = summarize(&app.chats.default_model(), app.engine.as_deref(), &admin.id, &new.goals).await;
    let user = app.accounts.create(new, summary).await?;
    let mut files = Vec::new();
    for upload in uploads {
        let filename = upload.filename.clone();
        // The same file twice is one document, and two entries.
        let submitted = app
            .ingest
            .submit(NewFile {
                duplicates: Duplicates::Reuse,
                ..NewFile::new(DocumentOwner::user(&user), upload)
            })
            .await;
        let Submitted { document, is_duplicate } = match submitted {
            Ok(submitted) => submitted,
            Err(error) => {
                // All of it or nothing: a second attempt must not find the address taken.
                app.accounts.remove(&user.id).await?;
                return Err(error.into());
            }
        };
        files.push(UploadedFile {
            duplicate_of: is_duplicate.then(|| document.id.clone()),
            id: document.id,
            filename,
            object_key: document.object_key,
            uploaded_at: document.uploaded_at,
        });
    }
    Ok(Json(SignedUp {
        success: true,
        user_id: user.id,
        goals_summary: user.goals_summary,
        files_uploaded: files.len(),
        files,
    }))
}
