//! Which users may come in, and with which scope. Pure.

use super::{ProviderUser, SsoSettings};

pub struct Rules {
    admin_groups: Vec<String>,
    admin_domains: Vec<String>,
    guest_domains: Vec<String>,
}

impl Rules {
    pub fn new(settings: &SsoSettings) -> Self {
        Self {
            admin_groups: settings.admin_groups.clone(),
            admin_domains: settings.admin_domains.clone(),
            guest_domains: settings.guest_domains.clone(),
        }
    }

    /// Returns the scope of a user; none if they may not come in.
    pub fn scope(&self, user: &ProviderUser) -> Option<&'static str> {
        let domain = user.email.as_deref().and_then(|email| email.rsplit_once('@')).map(|(_, domain)| domain);
        let is_in = |domains: &[String]| {
            domain.is_some_and(|domain| domains.iter().any(|own| own.eq_ignore_ascii_case(domain)))
        };
        let is_in_group = user.groups.iter().any(|group| self.admin_groups.contains(group));
        if is_in_group || is_in(&self.admin_domains) {
            return Some("admin");
        }
        (self.guest_domains.is_empty() || is_in(&self.guest_domains)).then_some("guest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: [&[&str]; 3], email: Option<&str>, groups: &[&str], expected: Option<&str>) {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let [admin_groups, admin_domains, guest_domains] = rules.map(owned);
        let rules = Rules { admin_groups, admin_domains, guest_domains };
        let email = email.map(str::to_owned);
        let user = ProviderUser { subject: "1".to_owned(), email, groups: owned(groups) };
        assert_eq!(rules.scope(&user), expected, "{user:?}");
    }

    #[test]
    fn without_rules_every_user_is_a_guest() {
        check([&[], &[], &[]], None, &["admins"], Some("guest"));
        check([&[], &[], &[]], Some("a@example.org"), &[], Some("guest"));
    }

    #[test]
    fn any_admin_rule_makes_an_administrator() {
        let rules: [&[&str]; 3] = [&["staff", "admins"], &["example.org"], &["example.com"]];
        check(rules, None, &["x", "admins"], Some("admin"));
        check(rules, Some("a@EXAMPLE.org"), &[], Some("admin"));
        check(rules, Some("a@example.com"), &["Admins"], Some("guest"));
    }

    #[test]
    fn with_guest_domains_the_others_stay_outside() {
        let rules: [&[&str]; 3] = [&["admins"], &[], &["example.com"]];
        for email in [
            None,
            Some("a@example.org"),
            Some("a@sub.example.com"),
            Some("a@notexample.com"),
            Some("example.com"),
            Some("a@example.com@evil.org"),
        ] {
            check(rules, email, &[], None);
        }
        check(rules, Some("\"a@evil.org\"@example.com"), &[], Some("guest"));
    }
}
