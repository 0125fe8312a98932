//! Names in the environment that are almost those of settings. Pure.

use super::layers::{Setting, settings};
use words::edit_distance;

/// Names of other programs that we share: theirs are not mistakes.
const SHARED: &str = "AWS_";
const OURS: &str = "STOA_";

/// What to say of a variable that is no setting but looks like one.
pub fn warning(name: &str) -> Option<String> {
    let known: Vec<String> = settings().iter().flat_map(Setting::environment_names).collect();
    if name.starts_with(SHARED) || known.iter().any(|own| own == name) {
        return None;
    }
    let bare = name.strip_prefix(OURS);
    let meant = known.iter().find(|own| bare == Some(own) || is_close(own, name));
    match meant {
        Some(meant) => Some(format!("{name} in the environment is no setting: did you mean {meant}?")),
        None => {
            bare.map(|_| format!("{name} in the environment is no setting: `stoa serve --help` lists them"))
        }
    }
}

/// One slip of the finger, or two in a long name; never in the first letter, and not in short names, which others use.
fn is_close(own: &str, name: &str) -> bool {
    let slips = own.len() / 8;
    own.len().abs_diff(name.len()) <= slips
        && own.as_bytes().first() == name.as_bytes().first()
        && edit_distance(own, name) <= slips
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_close_to_a_setting_is_named_with_it() {
        for (name, meant) in [
            ("GATEWAY_LISTN", "GATEWAY_LISTEN"),
            ("GATEWAY_LISTNE", "GATEWAY_LISTEN"),
            ("JWT_SECRETS", "JWT_SECRET"),
            ("JWT_SECRET_FIL", "JWT_SECRET_FILE"),
            ("CHAT_REQUESTS_PER_MINUT", "CHAT_REQUESTS_PER_MINUTE"),
            ("STOA_GATEWAY_LISTEN", "GATEWAY_LISTEN"),
            ("STOA_DATADIR", "STOA_DATA_DIR"),
        ] {
            let warning = warning(name).unwrap_or_else(|| panic!("{name}"));
            assert!(
                warning.starts_with(name) && warning.ends_with(&format!("did you mean {meant}?")),
                "{warning}"
            );
        }
        assert!(warning("STOA_COLOUR").unwrap().contains("`stoa serve --help`"));
    }

    #[test]
    fn names_of_other_programs_are_left_alone() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "CRM_URI",
            "FILE_TIMEOUT",
            "BUSY_TIMEOUT",
            "AWS_REGIONS",
            "AWS_PROFILE",
            "GATEWAY_LISTEN",
            "JWT_SECRET_FILE",
            "STOA_DATA_DIR",
            "DATABASE_URL",
            "WORKFLOW",
            "HTTPS_PROXY",
            "NO_PROXY",
            "",
        ] {
            assert_eq!(warning(name), None, "{name}");
        }
    }
}
