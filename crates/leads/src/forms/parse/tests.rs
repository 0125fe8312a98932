//! Forms, right and wrong.

use super::super::{Forms, Naming};

fn parse(text: &str) -> Result<Forms, Vec<String>> {
    let message = |fault: super::FormFault| fault.message;
    let forms = Forms::parse(text);
    Ok(forms.map_err(|faults| faults.into_iter().map(message).collect::<Vec<_>>())?.unwrap())
}

#[test]
fn every_fault_is_named_by_its_key() {
    let faults = parse(
        "[forms.contact]\nfields = [\"email\", \"_x\"]\nrequired = [\"age\"]\norigins = [\"example.org\"]\n\
         return_to = \"//evil.example\"\nmin_fill_time = \"soon\"\ncountry_code = \"049\"\nsplit_name = 1\n\
         colour = \"red\"\n[forms.contact.kinds]\nemail = \"mail\"\n[forms.contact.crm]\nage = \"age\"\n[forms.export]\nfields = [\"a\"]\n",
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
fn faults_come_in_the_order_of_their_lines() {
    let text =
        "\n[forms.a]\nsplit_name = 1\nrequired = [\"x\"]\nfields = [\"b\"]\n[forms.b]\n[forms]\nc = 3\n";
    let faults = Forms::parse(text).unwrap_err();
    let shown: Vec<String> = faults.iter().map(|fault| format!("{} {}", fault.line, fault.message)).collect();
    assert_eq!(
        shown,
        [
            "3 `forms.a.split_name`: expected true or false",
            "4 `forms.a.required`: `x` is not among the fields of the form",
            "6 `forms.b.fields`: expected 1 to 100 names of fields",
            "8 `forms.c`: expected a table, `[forms.c]`",
        ]
    );
    assert_eq!(Forms::parse("log_level = \"info\"\n"), Ok(None));
    assert_eq!(Forms::parse("[forms]\n").unwrap_err()[0].line, 1);
}

#[test]
fn two_fields_are_never_sent_under_one_name() {
    for (form, said) in [
        ("fields = [\"a\", \"b\"]\ncrm = { a = \"x\", b = \"x\" }", "`a` and `b` would both be sent as `x`"),
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
        let faults = parse(&format!("[forms.contact]\n{form}\n")).unwrap_err();
        assert_eq!(faults, [format!("`forms.contact.crm`: {said}")], "{form}");
    }
    for form in [
        "fields = [\"a\", \"b\"]\ncrm = { a = \"b\", b = \"a\" }",
        "fields = [\"a\", \"b\"]\ncrm = { a = \"\", b = \"\" }",
        "fields = [\"name\", \"first_name\"]\ncrm = { first_name = \"given\" }",
        "fields = [\"name\", \"full_name\"]",
    ] {
        assert!(parse(&format!("[forms.contact]\n{form}\n")).is_ok(), "{form}");
    }
}

#[test]
fn fields_go_out_under_the_names_of_the_crm() {
    let forms = parse(
        "[forms.contact]\nfields = [\"name\", \"email\", \"size\", \"internal\"]\nsplit_name = true\n\
         [forms.contact.crm]\nsize = \"company_size\"\ninternal = \"\"\nlast_name = \"surname\"\n",
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

#[test]
fn broken_settings_are_refused_or_read() {
    let text = "[forms.contact]\nfields = [\"email\", \"age\"]\nrequired = [\"email\"]\norigins = [\"https://example.org\"]\n\
        return_to = \"/thanks\"\nmin_fill_time = \"2s\"\ncountry_code = \"49\"\nsplit_name = true\n\
        [forms.contact.kinds]\nemail = \"email\"\n[forms.contact.crm]\nage = \"age\"\n";
    let mut read = 0;
    mutations::mutations(text.as_bytes(), 2_000, |bytes| {
        read += usize::from(Forms::parse(&String::from_utf8_lossy(&bytes)).is_ok());
    });
    assert!(read > 20, "{read} were readable: the mutations are no test");
}
