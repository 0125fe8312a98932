//! Turns a conversation into a decoder's prompt, with the template in the model's file. Both are untrusted: the
//! template must not run forever, and the messages must not contain control tokens that only the template may write.

use minijinja::{Environment, Error, ErrorKind, context};
use serde::Serialize;

use crate::ModelError;
use crate::gguf::Gguf;
use crate::tokenizer::TextTokenizer;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system`, `user` or `assistant` for most templates.
    pub role: String,
    pub content: String,
}

/// The template refused the messages, for instance because their roles do not alternate.
#[derive(Debug, thiserror::Error)]
#[error("the model's chat template does not take these messages: {0}")]
pub struct TemplateError(String);

/// A compiled template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

const NAME: &str = "chat";
const MAX_SOURCE: usize = 256 << 10;
/// About a second's worth. Templates in use take some hundred steps per message.
const MAX_STEPS: u64 = 4_000_000;
const MAX_RECURSION: usize = 64;

const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
    {{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const ZEPHYR: &str = "{% for message in messages %}<|{{ message.role }}|>\n\
    {{ message.content }}{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}";

impl ChatTemplate {
    /// A file without a template is read as ChatML if it has ChatML's tokens, else as Zephyr's plain format, which
    /// TinyLlama uses.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, ModelError> {
        let tokens = gguf.required_strings("tokenizer.ggml.tokens")?;
        let text = |key| -> Result<String, ModelError> {
            let id = gguf.u32(key)?;
            Ok(id.and_then(|id| tokens.get(id as usize)).map_or(String::new(), |token| (*token).to_owned()))
        };
        let source = match gguf.string("tokenizer.chat_template")? {
            Some(source) => source,
            None if tokens.contains(&"<|im_start|>") => CHATML,
            None => ZEPHYR,
        };
        Ok(Self {
            environment: environment(source)?,
            bos: text("tokenizer.ggml.bos_token_id")?,
            eos: text("tokenizer.ggml.eos_token_id")?,
        })
    }

    /// Returns the prompt's tokens. With `add_generation_prompt` the prompt ends where the assistant's answer begins.
    pub fn chat_tokens(
        &self,
        tokenizer: &TextTokenizer,
        messages: &[Message],
        add_generation_prompt: bool,
    ) -> Result<Vec<u32>, TemplateError> {
        let guarded: Vec<Message> = messages
            .iter()
            .map(|message| Message {
                role: tokenizer.guarded(&message.role),
                content: tokenizer.guarded(&message.content),
            })
            .collect();
        let prompt = self.render(&guarded, add_generation_prompt)?;
        let mut tokens = tokenizer.encode(&prompt, true);
        if let Some(bos) = tokenizer.bos()
            && tokens.first() != Some(&bos)
        {
            tokens.insert(0, bos);
        }
        Ok(tokens)
    }

    fn render(&self, messages: &[Message], add_generation_prompt: bool) -> Result<String, TemplateError> {
        let rendered = self.environment.get_template(NAME).and_then(|template| {
            template.render(context! {
                messages,
                add_generation_prompt,
                bos_token => self.bos,
                eos_token => self.eos,
                tools => (),
                documents => (),
            })
        });
        rendered.map_err(|error| TemplateError(error.detail().map_or(error.to_string(), str::to_owned)))
    }
}

/// Sets up what authors of templates expect: Python's string methods, and trimmed white space.
fn environment(source: &str) -> Result<Environment<'static>, ModelError> {
    if source.len() > MAX_SOURCE {
        return Err(ModelError::unsupported(format!(
            "a chat template of {} bytes: at most {MAX_SOURCE} are read",
            source.len()
        )));
    }
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_recursion_limit(MAX_RECURSION);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment
        .add_template_owned(NAME, source.to_owned())
        .map_err(|error| ModelError::unsupported(format!("the chat template cannot be read: {error}")))?;
    Ok(environment)
}
