//! The content of a message, in chat completions and in responses: a text, or parts that are texts and pictures.

use super::error::OpenAiError;
use super::pictures;
use llm::Picture;
use serde::Deserialize;
use utoipa::ToSchema;

/// A text, or texts and pictures in parts.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an array of parts")]
#[schema(as = MessageContent)]
pub enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize, ToSchema)]
pub struct ContentPart {
    /// `text`, `input_text`, `output_text`, `refusal`, `image_url` or `input_image`.
    #[serde(rename = "type")]
    #[schema(required = true, nullable = false, example = "text")]
    kind: Option<String>,
    text: Option<String>,
    refusal: Option<String>,
    /// A picture, as `data:image/png;base64,…`: PNG, JPEG, WebP or GIF. Addresses of other servers are not fetched.
    #[schema(inline)]
    image_url: Option<ImageAddress>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "is not a string or an object with `url`")]
enum ImageAddress {
    Text(String),
    Object { url: String },
}

/// What a content has.
#[derive(Default)]
pub struct ReadContent {
    pub text: String,
    pub pictures: Vec<Picture>,
    /// The field of the first picture.
    pub first_picture: Option<String>,
}

impl Content {
    /// Reads the content in the field `name`.
    pub fn read(self, name: &str) -> Result<ReadContent, OpenAiError> {
        let parts = match self {
            Self::Text(text) => return Ok(ReadContent { text, ..ReadContent::default() }),
            Self::Parts(parts) => parts,
        };
        let (mut read, mut texts) = (ReadContent::default(), Vec::new());
        for (index, part) in parts.into_iter().enumerate() {
            let field = format!("{name}[{index}]");
            let fault = |what: String| OpenAiError::of_field(field.as_str(), format!("`{field}` {what}"));
            match part.read().map_err(fault)? {
                ReadPart::Text(text) => texts.push(text),
                ReadPart::Picture(picture) => {
                    read.pictures.push(picture);
                    read.first_picture.get_or_insert(field);
                }
            }
        }
        read.text = texts.join("\n");
        Ok(read)
    }
}

enum ReadPart {
    Text(String),
    Picture(Picture),
}

impl ContentPart {
    fn read(self) -> Result<ReadPart, String> {
        let text = match self.kind.as_deref().unwrap_or("nothing") {
            "text" | "input_text" | "output_text" => self.text,
            "refusal" => self.refusal,
            "image_url" | "input_image" => {
                let url = match self.image_url.ok_or_else(|| "has no `image_url`".to_owned())? {
                    ImageAddress::Text(url) | ImageAddress::Object { url } => url,
                };
                return pictures::read(&url).map(ReadPart::Picture);
            }
            other => return Err(format!("is of type `{other}`: only texts and pictures are read")),
        };
        text.map(ReadPart::Text).ok_or_else(|| "has no text".to_owned())
    }
}
