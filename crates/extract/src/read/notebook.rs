//! Jupyter notebooks: text cells as Markdown, code cells and their text outputs as code. Pictures and other outputs
//! that are not text are left out.

use serde_json::Value;

use super::{markdown, plain};
use crate::ExtractError;
use crate::document::Builder;

/// Returns whether the start of a JSON file looks like a notebook.
pub(crate) fn looks_like(head: &str) -> bool {
    head.starts_with('{') && head.contains("\"cell_type\"") && head.contains("\"source\"")
}

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let Ok(notebook) = serde_json::from_str::<Value>(text) else {
        return Err(ExtractError::damaged(builder.kind(), "it is not JSON"));
    };
    let language = language(&notebook);
    for cell in cells(&notebook) {
        // Before 2015, the code of a cell was called its input.
        let source = joined(cell.get("source").or_else(|| cell.get("input")));
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("markdown") => markdown::read(&source, builder)?,
            Some("code") => code(cell, &source, &language, builder)?,
            Some("heading") => {
                let level = cell.get("level").and_then(Value::as_u64).unwrap_or(1);
                builder.heading(level.clamp(1, 6) as u8, &source)?;
            }
            _ => plain::read(&source, builder)?,
        }
    }
    Ok(())
}

fn language(notebook: &Value) -> String {
    let metadata = notebook.get("metadata");
    let named = metadata.and_then(|metadata| {
        let name = |part: &str, key: &str| metadata.get(part)?.get(key)?.as_str();
        name("language_info", "name").or_else(|| name("kernelspec", "language"))
    });
    named.unwrap_or("python").to_owned()
}

/// Returns the cells in order. Old notebooks have them in worksheets.
fn cells(notebook: &Value) -> Vec<&Value> {
    let sheets = notebook.get("worksheets").and_then(Value::as_array).into_iter().flatten();
    std::iter::once(notebook).chain(sheets).filter_map(own).flatten().collect()
}

fn own(value: &Value) -> Option<&Vec<Value>> {
    value.get("cells").and_then(Value::as_array)
}

fn code(cell: &Value, source: &str, language: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    // "%%bash" and the like name the language of a cell.
    let magic = source.strip_prefix("%%").and_then(|rest| rest.split_whitespace().next());
    let language =
        magic.filter(|magic| ["bash", "sh", "sql", "html", "javascript"].contains(magic)).unwrap_or(language);
    builder.code(language, source)?;
    for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
        builder.code("", &shown(output))?;
    }
    Ok(())
}

/// Returns the text that an output shows, or nothing.
fn shown(output: &Value) -> String {
    let text = match output.get("output_type").and_then(Value::as_str) {
        Some("error" | "pyerr") => {
            let part = |key: &str| output.get(key).and_then(Value::as_str).unwrap_or_default();
            format!("{}: {}", part("ename"), part("evalue"))
        }
        Some("stream") => joined(output.get("text")),
        _ => joined(output.get("data").unwrap_or(output).get("text/plain").or_else(|| output.get("text"))),
    };
    let text = without_escapes(&text);
    if is_placeholder(&text) { String::new() } else { text }
}

/// Recognises what a notebook writes for an object without text, such as `<Figure size 640x480 with 1 Axes>`.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let is_object = text.starts_with('<') && text.ends_with('>') && !text.contains('\n');
    let is_address = text.contains(" at 0x") && text.lines().count() <= 3;
    let is_data = text.len() > 200 && !text.contains(char::is_whitespace);
    is_object || is_address || is_data
}

/// Removes the sequences that colour text in a terminal.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |end| end + 1);
        plain.push_str(&part[end..]);
    }
    plain
}

/// Texts are strings, or lists of lines.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};

    #[test]
    fn cells_and_text_outputs_are_kept_and_pictures_are_not() {
        let notebook = format!(
            r##"{{"cells": [
              {{"cell_type": "markdown", "source": ["# Pumps\n", "\n", "They ![x](data:image/png;base64,AAAA) turn."]}},
              {{"cell_type": "code", "source": "print(1)\nplot()", "outputs": [
                {{"output_type": "stream", "text": ["1\n", "\u001b[31mred\u001b[0m\n"]}},
                {{"output_type": "display_data", "data": {{"image/png": "{0}", "text/plain": "<Figure size 1x1>"}}}},
                {{"output_type": "execute_result", "data": {{"text/html": "<b>2</b>", "text/plain": ["2"]}}}},
                {{"output_type": "error", "ename": "ValueError", "evalue": "no oil", "traceback": ["x"]}}]}},
              {{"cell_type": "raw", "source": "Plain."}}],
             "metadata": {{"kernelspec": {{"language": "julia"}}}}, "nbformat": 4}}"##,
            "iVBORw0KGgo".repeat(1000)
        );
        let mut builder = Builder::new(Kind::Notebook, &Limits::default());
        read(&notebook, &mut builder).unwrap();
        let document = builder.finish().unwrap();
        let found: Vec<(String, &str)> =
            document.blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
        let expected = [
            "They x turn.",
            "```julia\nprint(1)\nplot()\n```",
            "```\n1\nred\n```",
            "```\n2\n```",
            "```\nValueError: no oil\n```",
            "Plain.",
        ];
        assert_eq!(found, expected.map(|text| ("Pumps".to_owned(), text)));
        assert_eq!(document.title.as_deref(), Some("Pumps"));
    }

    #[test]
    fn old_notebooks_have_worksheets() {
        let notebook = r#"{"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Oil"},
            {"cell_type": "code", "input": "a", "outputs": [{"output_type": "pyout", "text": "7", "png": "AAAA"}]}]}]}"#;
        let mut builder = Builder::new(Kind::Notebook, &Limits::default());
        read(notebook, &mut builder).unwrap();
        assert_eq!(builder.finish().unwrap().text(), "```python\na\n```\n\n```\n7\n```");
    }
}
