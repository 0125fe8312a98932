//! The settings, checked as a whole. Only this module reads environment variables.

mod crm;
mod default_model;
mod documents;
mod layers;
mod memory;
mod parse;
mod secrets;
mod settings;
mod sources;
mod sso;
mod typos;

pub use documents::ExtractSettings;
pub use layers::has_password;
pub use secrets::Secrets;
pub use settings::settings;

use base::duration;
use gateway::{Cors, TargetUrl};
use kit::guests::Guests;
use kit::headers::CookieSecure;
use kit::log::LogFormat;
use kit::serve::{Limits, TrustedProxies};
use knowledge::{IndexSettings, Quotas};
use layers::Layers;
use leads::{CrmSettings, Forms};
use llm::{ApiKey, DefaultModel, VendorSettings, Vendors};
use parse::{folder, list, listen_address, one_of};
use portal::SsoSettings;
use sources::SourcesConfig;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use store::admins::is_username;
use store::{FEWEST_POSTGRES_CONNECTIONS, S3Settings};
use supervisor::GuestLimits;

/// All settings.
pub struct Config {
    pub data_dir: PathBuf,
    pub models_dir: PathBuf,
    /// The file of a language model to use instead of the pulled one.
    pub edge_ai_model: Option<PathBuf>,
    pub database_url: String,
    pub database_connections: u32,
    pub object_store_url: String,
    pub s3: S3Settings,
    pub gateway_listen: String,
    pub knowledge_listen: String,
    pub supervisor_listen: String,
    pub portal_listen: String,
    pub leads_listen: String,
    pub ops_listen: String,
    pub build_targets: Targets,
    pub kv_targets: Targets,
    pub core_targets: Targets,
    pub leads_targets: Targets,
    /// The first signs, all verify. If empty, a secret is generated.
    pub jwt_secrets: Vec<String>,
    /// What the portal verifies tokens with. If empty, the gateway's secrets.
    pub portal_jwt_secrets: Vec<String>,
    pub jwt_issuer: String,
    pub jwt_audience: String,
    pub jwt_ttl: Duration,
    pub environment: &'static str,
    pub admin_username: String,
    pub admin_password: Option<String>,
    pub cookie_secure: CookieSecure,
    /// Single sign-on to the portal, beside the gateway's login.
    pub sso: Option<SsoSettings>,
    /// Whether users of single sign-on who have no account get one.
    pub sso_creates_users: bool,
    /// Whether users who are not administrators may make spaces.
    pub users_create_spaces: bool,
    pub quotas: Quotas,
    pub sources: SourcesConfig,
    pub max_upload_bytes: u64,
    pub extract: ExtractSettings,
    pub chat_requests_per_minute: u32,
    pub index: IndexSettings,
    pub vendors: Vendors,
    pub chat_model: DefaultModel,
    pub guests: Guests,
    pub guest_limits: GuestLimits,
    /// The model of agents for which neither the run nor the workflow names one.
    pub agents: DefaultModel,
    pub seed_characters: usize,
    pub supervisor_token: Option<String>,
    /// The file of the workflow. If absent, the built-in one.
    pub workflow: Option<PathBuf>,
    pub job_lease: Duration,
    pub forms: Forms,
    /// Where leads are sent. If absent, they wait in the outbox.
    pub crm: Option<CrmSettings>,
    pub leads_per_minute: u32,
    pub cors: Cors,
    pub trusted_proxies: TrustedProxies,
    pub limits: Limits,
    pub upstream_timeout: Duration,
    pub log_level: &'static str,
    pub log_format: LogFormat,
    pub access_log: bool,
    /// What may be a mistake, to be printed at the start.
    pub warnings: Vec<String>,
}

/// The targets of a route of the gateway.
#[derive(Clone, Default)]
pub enum Targets {
    /// The service of this process, if it runs.
    #[default]
    Own,
    Given(Vec<TargetUrl>),
}

impl Targets {
    pub fn given(&self) -> &[TargetUrl] {
        match self {
            Self::Own => &[],
            Self::Given(targets) => targets,
        }
    }
}

/// All faults. Each names its setting and says what would be accepted.
#[derive(Debug)]
pub struct Faults(pub Vec<String>);

impl Config {
    /// Loads the settings. `file` is the one named by a flag; `flags` are settings from the command line.
    pub fn load(file: Option<PathBuf>, flags: BTreeMap<String, String>) -> Result<Self, Faults> {
        Self::from_layers(Layers::gather(file, flags))
    }

    fn from_layers(mut layers: Layers) -> Result<Self, Faults> {
        let data_dir = layers.read("data_dir", folder);
        let in_data_dir = |scheme: &str, name: &str| format!("{scheme}://{}", data_dir.join(name).display());
        let cookie_secure = layers.read("cookie_secure", cookie_secure);
        let trusted_proxies: TrustedProxies = layers.read("trusted_proxies", |text| text.parse());
        let environment = layers.read("environment", |text| one_of(text, &["staging", "production"]));
        let vendors = Vendors {
            a: vendor(&mut layers, "a"),
            b: vendor(&mut layers, "b"),
            c: vendor(&mut layers, "c"),
            timeout: layers.read("vendor_timeout", duration),
        };
        let config = Self {
            models_dir: layers.read("models_dir", folder),
            edge_ai_model: layers.read("edge_ai_model", optional_file),
            database_url: layers.read_or("database_url", in_data_dir("sqlite", "stoa.db"), database_url),
            database_connections: layers.read("database_connections", database_connections),
            object_store_url: layers.read_or(
                "object_store_url",
                in_data_dir("file", "objects"),
                object_store,
            ),
            s3: S3Settings {
                endpoint: layers.optional("aws_endpoint_url"),
                region: layers.optional("aws_region"),
                access_key_id: layers.optional("aws_access_key_id"),
                secret_access_key: layers.optional("aws_secret_access_key"),
                session_token: layers.optional("aws_session_token"),
                allow_http: layers.text("aws_endpoint_url").starts_with("http://"),
            },
            gateway_listen: layers.read("gateway_listen", listen_address),
            knowledge_listen: layers.read("knowledge_listen", listen_address),
            supervisor_listen: layers.read("supervisor_listen", listen_address),
            portal_listen: layers.read("portal_listen", listen_address),
            leads_listen: layers.read("leads_listen", listen_address),
            ops_listen: layers.read("ops_listen", listen_address),
            build_targets: layers.read("build_service_url", targets),
            kv_targets: layers.read("kv_service_url", targets),
            core_targets: layers.read("core_service_url", targets),
            leads_targets: layers.read("leads_service_url", targets),
            jwt_secrets: layers.read("jwt_secret", secrets::parse),
            portal_jwt_secrets: layers.read("portal_jwt_secret", secrets::parse),
            jwt_issuer: layers.read("jwt_issuer", not_empty),
            jwt_audience: layers.read("jwt_audience", not_empty),
            jwt_ttl: layers.read("jwt_ttl", at_least_a_second),
            environment,
            admin_username: layers.read("admin_username", username),
            admin_password: layers.optional("admin_password"),
            cookie_secure,
            sso: sso::sso(&mut layers, cookie_secure, environment),
            max_upload_bytes: layers.read("max_upload_mib", mebibytes),
            extract: ExtractSettings::read(&mut layers),
            chat_requests_per_minute: layers.read("chat_requests_per_minute", requests),
            index: IndexSettings {
                memory: layers.read("index_memory", memory::limit),
                idle: layers.read("index_idle", duration),
                patience: layers.read("index_timeout", duration),
            },
            guests: layers.read("guests", |text| text.parse()),
            guest_limits: GuestLimits {
                projects_per_address: layers.read("guest_projects_per_address", allowance),
                projects: layers.read("guest_projects", allowance),
                runs_per_address: layers.read("guest_runs_per_address", allowance),
                runs: layers.read("guest_runs", allowance),
                starts_per_address: layers.read("guest_starts_per_address", allowance),
                starts: layers.read("guest_starts", allowance),
                mib_per_address: layers.read("guest_mib_per_address", allowance),
                mib: layers.read("guest_mib", allowance),
                seed_characters: layers.read("guest_seed_characters", characters),
            },
            agents: default_model::default_model(&mut layers, "agent", &vendors),
            seed_characters: layers.read("seed_characters", characters),
            chat_model: default_model::default_model(&mut layers, "chat", &vendors),
            vendors,
            supervisor_token: layers.optional("supervisor_token"),
            workflow: layers.read("workflow", optional_file),
            job_lease: layers.read("job_lease", lease),
            forms: layers.forms(),
            crm: crm::crm(&mut layers),
            leads_per_minute: layers.read("leads_per_minute", requests),
            cors: layers.read("cors_origins", |text| text.parse()),
            limits: Limits {
                header_timeout: layers.read("header_timeout", duration),
                idle_timeout: layers.read("idle_timeout", duration),
                body_timeout: layers.read("body_timeout", duration),
                write_timeout: layers.read("write_timeout", duration),
                max_connections: layers.read("max_connections", connections),
                max_connections_per_address: layers.read("max_connections_per_address", connections),
                uncounted: trusted_proxies.clone(),
                ..Limits::default()
            },
            trusted_proxies,
            upstream_timeout: layers.read("upstream_timeout", duration),
            log_level: layers
                .read("log_level", |text| one_of(text, &["error", "warn", "info", "debug", "trace"])),
            log_format: layers.read("log_format", log_format),
            sso_creates_users: layers.read("sso_create_users", true_or_false),
            users_create_spaces: layers.read("users_create_spaces", true_or_false),
            sources: SourcesConfig::read(&mut layers),
            quotas: documents::quotas(&mut layers),
            access_log: layers.read("access_log", |text| one_of(text, &["on", "off"])) == "on",
            warnings: layers.take_warnings(),
            data_dir,
        };
        layers.finish(config)
    }
}

fn true_or_false(text: &str) -> Result<bool, String> {
    one_of(text, &["true", "false"]).map(|text| text == "true")
}

fn optional_file(text: &str) -> Result<Option<PathBuf>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let file = folder(text)?;
    if file.is_file() { Ok(Some(file)) } else { Err(format!("there is no file `{text}`")) }
}

fn targets(text: &str) -> Result<Targets, String> {
    if text == "auto" { Ok(Targets::Own) } else { list(text).map(Targets::Given) }
}

/// Returns a vendor's settings if its key is set. Faults in the others are reported in any case.
fn vendor(layers: &mut Layers, which: &str) -> Option<VendorSettings> {
    let api_key = layers.read(&format!("vendor_{which}_api_key"), api_key);
    let base_url = layers.read(&format!("vendor_{which}_base_url"), |text| text.parse().map(Some));
    let model = layers.read(&format!("vendor_{which}_model"), not_empty);
    let window = layers.read(&format!("vendor_{which}_window"), window);
    Some(VendorSettings { api_key: api_key?, base_url: base_url?, model, window })
}

fn window(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1024..=100_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number of tokens: expected 1024 or more"))
}

fn api_key(text: &str) -> Result<Option<ApiKey>, String> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn cookie_secure(text: &str) -> Result<CookieSecure, String> {
    Ok(match one_of(text, &["auto", "on", "off"])? {
        "on" => CookieSecure::Always,
        "off" => CookieSecure::Never,
        _ => CookieSecure::Auto,
    })
}

fn mebibytes(text: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| (1..=100_000).contains(number));
    let wrong = || format!("`{text}` is not a size in MiB: expected 1 to 100000");
    number.map(|number| number << 20).ok_or_else(wrong)
}

fn limit(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number: expected 1 to 1000000000"))
}

fn requests(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number of requests: expected 1 to 1000000"))
}

/// Parses a number of which 0 means none.
fn allowance(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number <= 1_000_000);
    number.ok_or_else(|| format!("`{text}` is not a number: expected 0 to 1000000"))
}

/// Parses a number of characters. More would not fit into the body of a request.
fn characters(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number of characters: expected 1 to 1000000"))
}

fn database_url(text: &str) -> Result<String, String> {
    let known = ["sqlite://", "postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    // The message does not repeat the text, which may hold a password.
    known.then(|| text.to_owned()).ok_or("expected `sqlite://PATH` or `postgres://…`".to_owned())
}

fn database_connections(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (FEWEST_POSTGRES_CONNECTIONS..=1000).contains(number));
    number.ok_or_else(|| {
        format!("`{text}` is not a number of connections: expected {FEWEST_POSTGRES_CONNECTIONS} to 1000")
    })
}

fn object_store(text: &str) -> Result<String, String> {
    let known =
        ["file://", "s3://"].iter().any(|scheme| text.len() > scheme.len() && text.starts_with(scheme));
    known.then(|| text.to_owned()).ok_or_else(|| {
        format!("`{text}` is not an object store: expected `file://PATH` or `s3://BUCKET/PREFIX`")
    })
}

fn username(text: &str) -> Result<String, String> {
    is_username(text)
        .then(|| text.to_owned())
        .ok_or_else(|| format!("`{text}` is not a username: expected 1 to 64 of A-Z a-z 0-9 . _ @ -"))
}

fn not_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("expected a text that is not empty".to_owned()) } else { Ok(text.to_owned()) }
}

fn at_least_a_second(text: &str) -> Result<Duration, String> {
    let long_enough = |ttl: &Duration| *ttl >= Duration::from_secs(1);
    duration(text).ok().filter(long_enough).ok_or(format!("`{text}` is no time of at least 1s: such as `1h`"))
}

/// Parses a lease. With a shorter one, a process on a machine that pauses would count as dead.
fn lease(text: &str) -> Result<Duration, String> {
    let sensible = |lease: &Duration| (Duration::from_millis(500)..=Duration::from_secs(600)).contains(lease);
    duration(text).ok().filter(sensible).ok_or(format!("`{text}` is no time from 500ms to 10m: such as `6s`"))
}

fn connections(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number of connections: expected 1 to 1000000"))
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    Ok(if one_of(text, &["text", "json"])? == "json" { LogFormat::Json } else { LogFormat::Text })
}
