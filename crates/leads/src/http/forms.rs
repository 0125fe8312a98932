//! `GET /api/leads/forms`: the forms of the settings, so that a page can show the HTML to paste into a site.

use super::App;
use super::caller::Admin;
use crate::field_kind::FieldKind;
use crate::forms::{DEFAULT, Form};
use crate::intake::{CONSENT, HONEYPOT, STARTED};
use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use http::header;
use kit::headers::{forwarded_prefix, is_forwarded_https, text};
use serde::Serialize;
use utoipa::ToSchema;

/// The forms, by their names.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FormList {
    forms: Vec<FormView>,
    /// Whether leads are sent on to a CRM. If not, they wait.
    #[schema(example = true)]
    has_crm: bool,
}

/// A form of the settings.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Form)]
struct FormView {
    #[schema(example = "contact")]
    name: String,
    /// In the order of the settings.
    fields: Vec<FieldView>,
    /// The origins whose pages may post, beside that of this service; `*` means all.
    origins: Vec<String>,
    /// The page that a browser is sent to after it has posted.
    #[schema(example = "https://shop.example.org/thanks")]
    return_to: Option<String>,
    /// The address to post to, as this request has reached the service.
    #[schema(example = "https://stoa.example.org/kv/api/leads/contact")]
    action: String,
    /// The field that people must leave empty. It may be absent from a page.
    #[schema(example = "_gotcha")]
    honeypot: &'static str,
    /// The field with the time in milliseconds at which the page was shown, if the form needs it.
    #[schema(example = "_started")]
    started: Option<&'static str>,
    /// What the person agrees to, if the form asks for it.
    consent: Option<ConsentView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FormField)]
struct FieldView {
    #[schema(example = "email")]
    name: String,
    #[schema(example = true)]
    required: bool,
    kind: FieldKind,
}

/// What a form asks people to agree to.
#[derive(Serialize, ToSchema)]
#[schema(as = FormConsent)]
struct ConsentView {
    /// The field of the checkbox.
    #[schema(example = "_consent")]
    field: &'static str,
    #[schema(example = "You may call me.")]
    text: Option<String>,
    #[schema(example = "2026-11")]
    version: Option<String>,
    #[schema(example = true)]
    required: bool,
}

impl FormView {
    fn new(form: &Form, base: &str) -> Self {
        let fields = form.fields.iter().map(|(name, kind)| FieldView {
            name: name.clone(),
            required: form.required.contains(name),
            kind: *kind,
        });
        let asks = form.consent_required || form.consent_text.is_some() || form.consent_version.is_some();
        let consent = asks.then(|| ConsentView {
            field: CONSENT,
            text: form.consent_text.clone(),
            version: form.consent_version.clone(),
            required: form.consent_required,
        });
        let path = if form.name == DEFAULT { String::new() } else { format!("/{}", form.name) };
        Self {
            name: form.name.clone(),
            fields: fields.collect(),
            origins: form.origins.clone(),
            return_to: form.return_to.clone(),
            action: format!("{base}/api/leads{path}"),
            honeypot: HONEYPOT,
            started: form.min_fill_time.map(|_| STARTED),
            consent,
        }
    }
}

/// Lists the forms of the settings.
#[utoipa::path(get, path = "/api/leads/forms", responses((status = 200, body = FormList)))]
pub async fn list(State(app): State<App>, _: Admin, headers: HeaderMap) -> Json<FormList> {
    let base = base(&headers);
    let forms = app.settings.forms.all().map(|form| FormView::new(form, &base));
    Json(FormList { forms: forms.collect(), has_crm: app.settings.crm.is_some() })
}

/// Returns the address under which the caller sees the service, without a last `/`.
fn base(headers: &HeaderMap) -> String {
    let scheme = if is_forwarded_https(headers) { "https" } else { "http" };
    let host = text(headers, "x-forwarded-host").or_else(|| text(headers, header::HOST)).unwrap_or_default();
    format!("{scheme}://{host}{}", forwarded_prefix(headers).unwrap_or_default())
}
