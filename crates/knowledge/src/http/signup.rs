//! `POST /api/signup`: an administrator makes an account, with its first files.

use super::App;
use super::caller::Admin;
use super::error::Failure;
use super::form::Form;
use super::ingest::require_encoder;
use crate::accounts::{Accounts, NewUser};
use crate::documents::Metadata;
use crate::ingest::{Duplicates, Submitted};
use crate::summary::summarize;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

pub async fn signup(State(app): State<App>, _: Admin, form: Form) -> Result<Json<Value>, Failure> {
    let new = NewUser {
        username: form.text("username").map(str::to_owned),
        email: form.required("email")?.to_owned(),
        name: form.required("name")?.to_owned(),
        password: form.required("password")?.to_owned(),
        goals: form.text("goals").unwrap_or_default().to_owned(),
        is_admin: form.text("isAdmin").is_some_and(|text| matches!(text, "true" | "1" | "on")),
    };
    let account_failure = |error| Failure::of_account(error, app.clock.now_ms());
    Accounts::check(&new).map_err(account_failure)?;
    if !form.files.is_empty() {
        require_encoder(&app)?;
    }
    let summary = summarize(app.chats.default_model(), app.engine.as_deref(), &new.goals).await;
    let user = app.accounts.create(new, summary).await.map_err(account_failure)?;
    let mut files = Vec::new();
    for upload in form.files {
        let filename = upload.filename.clone();
        // The same file twice is one document, and two entries.
        let submitted = app.ingest.submit(&user, upload, Metadata::new(), Duplicates::Reuse).await;
        let Submitted { document, is_duplicate } = match submitted {
            Ok(submitted) => submitted,
            Err(error) => {
                // All of it or nothing: whoever tries again must not find the address taken.
                app.accounts.remove(&user.id).await.map_err(account_failure)?;
                return Err(error.into());
            }
        };
        let mut file = json!({
            "id": document.id,
            "filename": filename,
            "objectKey": document.object_key,
            "uploadedAt": document.uploaded_at,
        });
        if is_duplicate {
            file["duplicateOf"] = document.id.into();
        }
        files.push(file);
    }
    Ok(Json(json!({
        "success": true,
        "userId": user.id,
        "goalsSummary": user.goals_summary,
        "filesUploaded": files.len(),
        "files": files,
    })))
}
