//! The settings: their names, help and defaults, read from the commented `defaults.toml`.

use std::sync::LazyLock;

const DEFAULTS: &str = include_str!("../defaults.toml");
/// Not accepted on the command line, which every user of the machine can read.
const SECRETS: [&str; 13] = [
    "aws_secret_access_key",
    "aws_session_token",
    "jwt_secret",
    "portal_jwt_secret",
    "sources_key",
    "admin_password",
    "oidc_client_secret",
    "vendor_a_api_key",
    "vendor_b_api_key",
    "vendor_c_api_key",
    "supervisor_token",
    "crm_token",
    "crm_signing_secret",
];
/// The end of a name that gives a file with a secret, as in `JWT_SECRET_FILE`.
const IN_FILE: &str = "_file";

/// One setting as `defaults.toml` describes it.
pub struct Setting {
    pub name: &'static str,
    pub help: &'static str,
    pub default: &'static str,
}

impl Setting {
    pub fn environment_name(&self) -> String {
        // Without a prefix, these names could belong to any program.
        let prefix = if matches!(self.name, "data_dir" | "models_dir") { "STOA_" } else { "" };
        format!("{prefix}{}", self.name.to_uppercase())
    }

    /// Returns the names of the variables that give it, with that of the file that may hold it.
    pub fn environment_names(&self) -> Vec<String> {
        let name = self.environment_name();
        let file = self.may_be_in_file().then(|| format!("{name}{}", IN_FILE.to_uppercase()));
        [Some(name), file].into_iter().flatten().collect()
    }

    pub fn is_secret(&self) -> bool {
        SECRETS.contains(&self.name)
    }

    /// Returns whether it may be read from a file: secrets, and the database URL, which may hold a password.
    pub fn may_be_in_file(&self) -> bool {
        self.is_secret() || self.name == "database_url"
    }

    /// Returns whether an empty value means something else than the default.
    pub fn may_be_emptied(&self) -> bool {
        self.default.is_empty() || self.name.ends_with("_service_url")
    }
}

/// Returns all settings, read once from the commented file that is also their documentation.
pub fn settings() -> &'static [Setting] {
    static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let mut help = "";
        let mut settings = Vec::new();
        for line in DEFAULTS.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                help = comment;
            } else if let Some((name, value)) = line.split_once(" = ") {
                settings.push(Setting { name, help, default: value.trim_matches('"') });
            }
        }
        settings
    });
    &SETTINGS
}

/// Returns the setting whose file a name such as `jwt_secret_file` gives.
pub fn setting_in_file(name: &str) -> Option<&'static Setting> {
    let name = name.strip_suffix(IN_FILE)?;
    settings().iter().find(|setting| setting.name == name && setting.may_be_in_file())
}
