//! robots.txt, as RFC 9309 says: the rules for our agent, or those for all.

use std::time::Duration;

/// The name that robots.txt calls us by.
const AGENT: &str = "stoabot";
/// The most of a robots.txt that counts. RFC 9309 asks for at least 500 KiB.
pub(super) const MOST_BYTES: usize = 512 * 1024;
/// Each link of a page is compared with all of them.
const MOST_RULES: usize = 1_000;
const LONGEST_DELAY: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// From `Crawl-delay`.
    pub delay: Duration,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: String,
    allows: bool,
}

/// To whom the lines that follow apply.
#[derive(Clone, Copy, Default)]
struct Group {
    names_us: bool,
    names_all: bool,
    /// Whether a rule has followed the names: the next name begins another group.
    has_rules: bool,
}

impl Rules {
    pub fn parse(text: &str) -> Rules {
        let (mut ours, mut for_all) = (Rules::default(), Rules::default());
        let mut names_us = false;
        let mut group = Group::default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                if group.has_rules {
                    group = Group::default();
                }
                // `StoaBot/1.0` names us as well.
                let name = value.split('/').next().unwrap_or_default().trim();
                group.names_us |= name.eq_ignore_ascii_case(AGENT);
                group.names_all |= name == "*";
                names_us |= group.names_us;
                continue;
            }
            group.has_rules |= matches!(key.as_str(), "allow" | "disallow" | "crawl-delay");
            if group.names_us {
                ours.add(&key, value);
            }
            if group.names_all {
                for_all.add(&key, value);
            }
        }
        if names_us { ours } else { for_all }
    }

    fn add(&mut self, key: &str, value: &str) {
        match key {
            "allow" | "disallow" if !value.is_empty() && self.rules.len() < MOST_RULES => {
                self.rules.push(Rule { pattern: normalized(value), allows: key == "allow" });
            }
            "crawl-delay" => {
                let seconds: f64 = value.parse().unwrap_or_default();
                let delay = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                self.delay = self.delay.max(delay.min(LONGEST_DELAY));
            }
            _ => {}
        }
    }

    pub fn bytes(&self) -> usize {
        self.rules.iter().map(|rule| rule.pattern.len() + size_of::<Rule>()).sum()
    }

    /// Returns whether a path, with its query, may be read: the longest rule that matches decides.
    pub fn allow(&self, path: &str) -> bool {
        let path = normalized(path);
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, &path));
        matching.max_by_key(|rule| (rule.pattern.len(), rule.allows)).is_none_or(|rule| rule.allows)
    }
}

/// Returns whether a path begins as the pattern says. `*` stands for anything, and `$` at the end for the path's end.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !is_whole || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if is_whole && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Writes a path as an address has it, so that `ü`, `%c3%bc` and `%C3%BC` are the same.
fn normalized(path: &str) -> String {
    let mut normalized = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'!'..=b'~' => normalized.push(char::from(byte)),
            other => normalized.push_str(&format!("%{other:02X}")),
        }
    }
    let mut after_percent = 0;
    let upper = normalized.chars().map(|c| {
        after_percent = if c == '%' { 2 } else { i32::max(after_percent - 1, -1) };
        if after_percent >= 0 { c.to_ascii_uppercase() } else { c }
    });
    upper.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed<'a>(robots: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let rules = Rules::parse(robots);
        paths.iter().copied().filter(|path| rules.allow(path)).collect()
    }

    #[test]
    fn the_longest_rule_decides_and_allow_wins_a_tie() {
        let robots = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /x\nDisallow: /x\n";
        assert_eq!(allowed(robots, &["/", "/a", "/ab", "/a/b", "/a/b/c", "/x"]), ["/", "/a/b", "/x"]);
    }

    #[test]
    fn a_group_for_us_replaces_the_one_for_all() {
        let robots = "User-agent: *\nDisallow: /\n\nuser-agent: Other\nUSER-AGENT: stoabot # us\ndisallow: /private\n\
                      User-agent: x\nDisallow: /x\nUser-agent: StoaBot/2\nDisallow: /more\n";
        assert_eq!(allowed(robots, &["/", "/private", "/x", "/more"]), ["/", "/x"]);
        assert_eq!(allowed("User-agent: StoaBot\nUser-agent: *\nDisallow: /\n", &["/"]), [""; 0]);
        assert_eq!(allowed("User-agent: *\nDisallow: /\nUser-agent: stoabot\nDisallow:\n", &["/a"]), ["/a"]);
        assert_eq!(allowed("User-agent: StoaBotanist\nDisallow: /\n", &["/a"]), ["/a"]);
    }

    #[test]
    fn stars_and_the_end_are_understood() {
        let robots =
            "User-agent: *\nDisallow: /*.pdf$\nDisallow: /*?print=\nDisallow: /tmp*/x\nDisallow: /end$\n";
        let paths = ["/a.pdf", "/a.pdf?b", "/b?print=1", "/tmp1/x/y", "/tmp/y", "/end", "/ending", "/pdf"];
        assert_eq!(allowed(robots, &paths), ["/a.pdf?b", "/tmp/y", "/ending", "/pdf"]);
        assert_eq!(
            allowed("User-agent: *\nDisallow: /*a*b$", &["/ab", "/aab", "/b", "/axbx"]),
            ["/b", "/axbx"]
        );
    }

    #[test]
    fn encoded_and_plain_letters_are_the_same() {
        let robots = "User-agent: *\nDisallow: /straße\nDisallow: /%c3%bc\n";
        assert_eq!(allowed(robots, &["/stra%C3%9Fe", "/%C3%BC", "/stra"]), ["/stra"]);
    }

    #[test]
    fn the_delay_is_bounded() {
        let delay = |value: &str| Rules::parse(&format!("User-agent: *\nCrawl-delay: {value}\n")).delay;
        assert_eq!(
            ["2.5", "600", "x", "-1", "NaN"].map(delay),
            [Duration::from_millis(2_500), LONGEST_DELAY, Duration::ZERO, Duration::ZERO, Duration::ZERO]
        );
    }
}
