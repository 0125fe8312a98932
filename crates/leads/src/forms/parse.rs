//! Forms from the tables `[forms.NAME]` of `stoa.toml`. All faults at once, each by its key.

use super::{Form, Kind};
use base::duration;
use std::collections::BTreeMap;
use toml::{Table, Value};

const KEYS: [&str; 12] = [
    "fields",
    "kinds",
    "required",
    "crm",
    "origins",
    "return_to",
    "min_fill_time",
    "country_code",
    "split_name",
    "consent_text",
    "consent_version",
    "consent_required",
];
const KINDS: [(&str, Kind); 5] = [
    ("text", Kind::Text),
    ("long", Kind::Long),
    ("email", Kind::Email),
    ("phone", Kind::Phone),
    ("name", Kind::Name),
];
const MOST_FIELDS: usize = 100;
/// What the parts of a name are called, where they are sent by themselves.
const NAME_PARTS: [&str; 2] = ["first_name", "last_name"];
/// Paths of the service's own.
const TAKEN: [&str; 1] = ["export"];

/// What a field of this name holds, where nobody says otherwise.
pub fn usual_kind(name: &str) -> Kind {
    match name {
        "email" => Kind::Email,
        "phone" | "tel" | "telephone" | "mobile" => Kind::Phone,
        "name" | "full_name" | "fullname" => Kind::Name,
        "message" | "comment" | "comments" | "notes" => Kind::Long,
        _ => Kind::Text,
    }
}

pub fn forms(table: &Table) -> Result<BTreeMap<String, Form>, Vec<String>> {
    let mut faults = Vec::new();
    let mut forms = BTreeMap::new();
    for (name, value) in table {
        let place = format!("forms.{name}");
        if !is_word(name) || TAKEN.contains(&name.as_str()) {
            faults
                .push(format!("`{place}`: expected a name of 1 to 64 of a-z A-Z 0-9 _ - other than export"));
        }
        match value {
            Value::Table(table) => {
                let mut reader = Reader { place, table, faults: &mut faults };
                forms.insert(name.clone(), reader.form(name));
            }
            _ => faults.push(format!("`{place}`: expected a table, `[forms.{name}]`")),
        }
    }
    if table.is_empty() {
        faults.push("`forms`: expected at least one form, `[forms.NAME]`".to_owned());
    }
    if faults.is_empty() { Ok(forms) } else { Err(faults) }
}

fn is_word(text: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(sign)
}

struct Reader<'a> {
    place: String,
    table: &'a Table,
    faults: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn form(&mut self, name: &str) -> Form {
        for key in self.table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            self.faults.push(format!("unknown key `{}.{key}`: one of {}", self.place, KEYS.join(", ")));
        }
        let fields = self.fields();
        let known = |own: &str| fields.iter().any(|(field, _)| field == own);
        let required = self.texts("required");
        for field in required.iter().filter(|field| !known(field)) {
            self.fault("required", &format!("`{field}` is not among the fields of the form"));
        }
        let crm = self.words("crm");
        for field in crm.keys().filter(|own| !known(own) && !NAME_PARTS.contains(&own.as_str())) {
            self.fault("crm", &format!("`{field}` is not among the fields of the form"));
        }
        let split_name = self.switch("split_name");
        self.check_sent_names(&fields, &crm, split_name);
        Form {
            name: name.to_owned(),
            required,
            crm,
            origins: self.origins(),
            return_to: self.checked("return_to", return_address),
            min_fill_time: self.checked("min_fill_time", duration),
            country_code: self.checked("country_code", country_code),
            split_name,
            consent_text: self.text("consent_text"),
            consent_version: self.text("consent_version"),
            consent_required: self.switch("consent_required"),
            fields,
        }
    }

    /// Of two that the CRM would get under one name, one would be lost.
    fn check_sent_names(
        &mut self,
        fields: &[(String, Kind)],
        crm: &BTreeMap<String, String>,
        split_name: bool,
    ) {
        let names = fields.iter().filter(|(_, kind)| *kind == Kind::Name).count();
        let is_field = |part: &str| fields.iter().any(|(field, _)| field == part);
        let parts = NAME_PARTS
            .into_iter()
            .filter(|part| split_name || (crm.contains_key(*part) && !is_field(part)))
            .flat_map(|part| std::iter::repeat_n((part, format!("the part `{part}` of a name")), names));
        let fields = fields.iter().map(|(field, _)| (field.as_str(), format!("`{field}`")));
        let mut sent: BTreeMap<&str, String> = BTreeMap::new();
        for (own, shown) in fields.chain(parts) {
            let name = crm.get(own).map_or(own, String::as_str);
            if let Some(other) = sent.insert(name, shown.clone()).filter(|_| !name.is_empty()) {
                self.fault("crm", &format!("{other} and {shown} would both be sent as `{name}`"));
            }
        }
    }

    fn fields(&mut self) -> Vec<(String, Kind)> {
        let names = self.texts("fields");
        if names.is_empty() || names.len() > MOST_FIELDS {
            self.fault("fields", &format!("expected 1 to {MOST_FIELDS} names of fields"));
        }
        for name in names.iter().filter(|name| name.starts_with('_') || !is_word(name)) {
            let wanted = "expected 1 to 64 of a-z A-Z 0-9 _ -, not beginning with `_`";
            self.fault("fields", &format!("`{name}` is not a name: {wanted}"));
        }
        let kinds = self.words("kinds");
        for name in kinds.keys().filter(|name| !names.contains(name)) {
            self.fault("kinds", &format!("`{name}` is not among the fields of the form"));
        }
        let mut fields = Vec::new();
        for name in names {
            let kind = match kinds.get(&name) {
                None => usual_kind(&name),
                Some(word) => match KINDS.iter().find(|(own, _)| own == word) {
                    Some((_, kind)) => *kind,
                    None => {
                        let known = KINDS.map(|(own, _)| own).join(", ");
                        self.fault("kinds", &format!("`{word}` is not known: one of {known}"));
                        Kind::Text
                    }
                },
            };
            fields.push((name, kind));
        }
        fields
    }

    fn origins(&mut self) -> Vec<String> {
        let origins: Vec<String> =
            self.texts("origins").iter().map(|origin| origin.trim().to_ascii_lowercase()).collect();
        for origin in origins.iter().filter(|origin| !is_origin(origin)) {
            let wanted = "expected `https://host[:port]`, or `*` for every one";
            self.fault("origins", &format!("`{origin}` is not an origin: {wanted}"));
        }
        origins
    }

    fn fault(&mut self, key: &str, what: &str) {
        self.faults.push(format!("`{}.{key}`: {what}", self.place));
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.table.get(key)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            _ => {
                self.fault(key, "expected a text that is not empty");
                None
            }
        }
    }

    fn checked<T>(&mut self, key: &str, check: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text(key)?;
        check(&text).map_err(|fault| self.fault(key, &fault)).ok()
    }

    fn switch(&mut self, key: &str) -> bool {
        match self.table.get(key) {
            None => false,
            Some(Value::Boolean(switch)) => *switch,
            Some(_) => {
                self.fault(key, "expected true or false");
                false
            }
        }
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.table.get(key) else { return Vec::new() };
        let texts = value.as_array().and_then(|list| {
            list.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        texts.unwrap_or_else(|| {
            self.fault(key, "expected a list of texts");
            Vec::new()
        })
    }

    fn words(&mut self, key: &str) -> BTreeMap<String, String> {
        let Some(value) = self.table.get(key) else { return BTreeMap::new() };
        let word = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let words = value.as_table().and_then(|table| table.iter().map(word).collect::<Option<_>>());
        words.unwrap_or_else(|| {
            self.fault(key, "expected a table of texts");
            BTreeMap::new()
        })
    }
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://"));
    text == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']))
}

/// An address or a path of the same site; it goes into a header as it is.
fn return_address(text: &str) -> Result<String, String> {
    let of_web = text.strip_prefix("https://").or(text.strip_prefix("http://"));
    let is_path = text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/\\");
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if plain && (is_path || of_web.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a return address: expected `https://host/path` or `/path`"))
}

fn country_code(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let sound = (1..=3).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    sound
        .then(|| digits.to_owned())
        .ok_or_else(|| format!("`{text}` is not a country code: such as `49` or `+1`"))
}

#[cfg(test)]
mod tests {
    use super::super::{Forms, Naming};
    use super::*;

    fn parse(text: &str) -> Result<Forms, Vec<String>> {
        Forms::parse(&text.parse::<Table>().unwrap())
    }

    #[test]
    fn every_fault_is_named_by_its_key() {
        let faults = parse(
            "[contact]\nfields = [\"email\", \"_x\"]\nrequired = [\"age\"]\norigins = [\"example.org\"]\n\
             return_to = \"//evil.example\"\nmin_fill_time = \"soon\"\ncountry_code = \"049\"\nsplit_name = 1\n\
             colour = \"red\"\n[contact.kinds]\nemail = \"mail\"\n[contact.crm]\nage = \"age\"\n[export]\nfields = [\"a\"]\n",
        )
        .unwrap_err();
        for expected in [
            "unknown key `forms.contact.colour`: one of fields",
            "`forms.contact.fields`: `_x` is not a name",
            "`forms.contact.required`: `age` is not among the fields",
            "`forms.contact.origins`: `example.org` is not an origin",
            "`forms.contact.return_to`: `//evil.example` is not a return address",
            "`forms.contact.min_fill_time`: `soon`",
            "`forms.contact.country_code`: `049`",
            "`forms.contact.split_name`: expected true or false",
            "`forms.contact.kinds`: `mail` is not known: one of text, long, email, phone, name",
            "`forms.contact.crm`: `age` is not among the fields",
            "`forms.export`: expected a name",
        ] {
            assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected} is not in {faults:#?}");
        }
        assert_eq!(faults.len(), 11, "{faults:#?}");
    }

    #[test]
    fn two_fields_are_never_sent_under_one_name() {
        for (form, said) in [
            (
                "fields = [\"a\", \"b\"]\ncrm = { a = \"x\", b = \"x\" }",
                "`a` and `b` would both be sent as `x`",
            ),
            ("fields = [\"a\", \"b\"]\ncrm = { a = \"b\" }", "`a` and `b` would both be sent as `b`"),
            ("fields = [\"a\", \"a\"]", "`a` and `a` would both be sent as `a`"),
            (
                "fields = [\"name\", \"first_name\"]\nsplit_name = true",
                "`first_name` and the part `first_name` of a name would both be sent as `first_name`",
            ),
            (
                "fields = [\"name\", \"city\"]\ncrm = { last_name = \"city\" }",
                "`city` and the part `last_name` of a name would both be sent as `city`",
            ),
        ] {
            let faults = parse(&format!("[contact]\n{form}\n")).unwrap_err();
            assert_eq!(faults, [format!("`forms.contact.crm`: {said}")], "{form}");
        }
        for form in [
            "fields = [\"a\", \"b\"]\ncrm = { a = \"b\", b = \"a\" }",
            "fields = [\"a\", \"b\"]\ncrm = { a = \"\", b = \"\" }",
            "fields = [\"name\", \"first_name\"]\ncrm = { first_name = \"given\" }",
            "fields = [\"name\", \"full_name\"]",
        ] {
            assert!(parse(&format!("[contact]\n{form}\n")).is_ok(), "{form}");
        }
    }

    #[test]
    fn fields_go_out_under_the_names_of_the_crm() {
        let forms = parse(
            "[contact]\nfields = [\"name\", \"email\", \"size\", \"internal\"]\nsplit_name = true\n\
             [contact.crm]\nsize = \"company_size\"\ninternal = \"\"\nlast_name = \"surname\"\n",
        )
        .unwrap();
        let fields = [("name", "Ada King"), ("email", "a@b.c"), ("size", "7"), ("internal", "x")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let sent = |form: &str, naming| {
            let sent = forms.properties(form, &fields, naming);
            sent.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            sent("contact", Naming::AsTyped),
            "company_size=7 email=a@b.c first_name=Ada name=Ada King surname=King"
        );
        let parts = Naming::Parts { first: "firstname", last: "lastname" };
        assert_eq!(sent("contact", parts), "company_size=7 email=a@b.c firstname=Ada surname=King");
        assert_eq!(sent("gone", parts), "email=a@b.c firstname=Ada internal=x lastname=King size=7");
    }
}
