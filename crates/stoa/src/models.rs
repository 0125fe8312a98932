//! The embedded models: which files they have, where the files belong, and which are missing. `pull` downloads them.

pub mod pull;
mod python;
mod sources;

use crate::config::Config;
use anyhow::ensure;
use aws_lc_rs::digest;
use inference::decoder::Decoder;
use inference::encoder::Encoder;
use inference::reader::Reader;
use inference::{Engine, Kernel, ModelError, Models};
use knowledge::{ModelPurpose, Usage};
use llm::{Edge, Providers, Vendors};
use sources::{DECODER, ENCODER, Model, ModelFile};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::{JoinError, spawn_blocking};

/// The reader is a part of the program (`models/reader`).
static READER: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/reader/reader.safetensors"));
/// The folder of packed weights, in the models folder.
const PACKED: &str = "packed";

/// Returns the missing files. Compares only sizes: a pulled file is whole or not there, and a file that was placed by hand
/// is verified by `stoa models pull`.
fn missing(config: &Config) -> Vec<&'static ModelFile> {
    let folder = &config.models_dir;
    let sized =
        |file: &ModelFile| folder.join(file.path).metadata().is_ok_and(|found| found.len() == file.size);
    needed(config).filter(|file| !sized(file)).collect()
}

fn needed(config: &Config) -> impl Iterator<Item = &'static ModelFile> {
    let decoder = config.edge_ai_model.is_none().then_some(&DECODER);
    [Some(&ENCODER), decoder].into_iter().flatten().flat_map(Model::needed)
}

/// Returns the files that the embedded models need, present or not.
pub fn files(config: &Config) -> Vec<knowledge::ModelFile> {
    let of_model = |model: &'static Model, purpose| {
        model.needed().map(move |file| knowledge::ModelFile {
            name: model.name.to_owned(),
            purpose,
            path: config.models_dir.join(file.path),
            expected_size: Some(file.size),
        })
    };
    let mut files: Vec<knowledge::ModelFile> = of_model(&ENCODER, ModelPurpose::Search).collect();
    match &config.edge_ai_model {
        None => files.extend(of_model(&DECODER, ModelPurpose::Chat)),
        Some(path) => files.push(knowledge::ModelFile {
            name: path.file_stem().map(|name| name.display().to_string()).unwrap_or_default(),
            purpose: ModelPurpose::Chat,
            path: path.clone(),
            expected_size: None,
        }),
    }
    files
}

/// Describes the models in one line, for the banner and for `stoa check`: where they are, or what is missing.
pub fn state(config: &Config) -> Result<String, String> {
    let shown = config.models_dir.display();
    let names: Vec<&str> = missing(config).iter().map(|file| file.path).collect();
    if names.is_empty() {
        let other = config.edge_ai_model.as_ref().map(|file| format!(", {}", file.display()));
        return Ok(format!("{shown}{}", other.unwrap_or_default()));
    }
    let what = if names.len() < needed(config).count() {
        format!("{} missing", names.join(", "))
    } else {
        "missing".to_owned()
    };
    Err(format!("{what} in {shown}: run `stoa models pull`"))
}

/// Describes the models like [`state`], after opening the files: a file may be of a kind that this program cannot run.
pub async fn check(config: &Config) -> Result<String, String> {
    let state = state(config)?;
    let Opened { encoder, reader, decoder } = Opened::read(config).await;
    let faults = [fault("embedding", encoder), fault("reading", reader), fault("language", decoder)];
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    if faults.is_empty() { Ok(state) } else { Err(faults.join("\n")) }
}

/// The models that could be loaded at the start. A missing or broken one is logged, and the services run without it.
pub struct Loaded {
    pub engine: Option<Arc<Engine>>,
    /// The language model's name, from its file.
    pub decoder_name: String,
}

pub async fn load(config: &Config) -> Loaded {
    let name = decoder_file(config).file_stem().map(|name| name.display().to_string());
    let opened = Opened::read(config).await;
    let models = Models {
        encoder: usable("embedding", opened.encoder),
        reader: usable("reading", opened.reader),
        decoder: usable("language", opened.decoder),
        threads: threads(),
    };
    let any = models.encoder.is_some() || models.reader.is_some() || models.decoder.is_some();
    let engine = any.then(|| Arc::new(Engine::start(models)));
    Loaded { engine, decoder_name: name.unwrap_or_default() }
}

/// Packs the weights of all models, so that a start need not.
async fn pack(config: &Config) {
    // What cannot be packed is reported at the start.
    Opened::read(config).await;
}

type Opening<T> = Result<Result<T, ModelError>, JoinError>;

struct Opened {
    encoder: Opening<Encoder>,
    reader: Opening<Reader>,
    decoder: Opening<Decoder>,
}

impl Opened {
    /// Opens all models at the same time.
    async fn read(config: &Config) -> Self {
        let kernel = Kernel::best();
        let folder = |model: &Model| config.models_dir.join(model.name);
        let (encoder, decoder) = (folder(&ENCODER), decoder_file(config));
        let packed = || config.models_dir.join(PACKED);
        let (first, second) = (packed(), packed());
        let encoder = spawn_blocking(move || Encoder::load_packed(&encoder, kernel, &first));
        let reader = spawn_blocking(move || Reader::from_bytes(READER, kernel));
        let decoder = spawn_blocking(move || Decoder::load_packed(&decoder, kernel, threads(), &second));
        Self { encoder: encoder.await, reader: reader.await, decoder: decoder.await }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get())
}

impl Loaded {
    /// Returns which models are missing, if any.
    pub fn state(&self) -> Result<(), String> {
        let engine = self.engine.as_deref();
        let missing = [
            (engine.is_some_and(|engine| engine.encoder().is_some()), "embedding"),
            (engine.is_some_and(|engine| engine.reader().is_some()), "reading"),
            (engine.is_some_and(|engine| engine.decoder().is_some()), "language"),
        ];
        let missing: Vec<&str> =
            missing.into_iter().filter(|(loaded, _)| !loaded).map(|(_, name)| name).collect();
        let missing = match missing.as_slice() {
            [] => return Ok(()),
            [one] => format!("the {one} model is missing"),
            [several @ .., last] => {
                format!("the {} and the {last} model are missing", several.join(", the "))
            }
        };
        Err(format!("{missing}: run `stoa models pull` and start again"))
    }

    /// Returns the providers, whose calls `usage` keeps account of.
    pub fn providers(&self, vendors: Vendors, usage: Usage) -> Result<Arc<Providers>, llm::NoClient> {
        let edge = Edge::new(self.engine.clone(), self.decoder_name.clone());
        Providers::new(edge, vendors, Some(Arc::new(usage))).map(Arc::new)
    }
}

fn decoder_file(config: &Config) -> PathBuf {
    config.edge_ai_model.clone().unwrap_or_else(|| config.models_dir.join(DECODER.files[0].path))
}

fn fault<T>(which: &str, opened: Opening<T>) -> Option<String> {
    let error = match opened {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Some(format!("the {which} model cannot be used: {error}"))
}

fn usable<T>(which: &str, loading: Opening<T>) -> Option<T> {
    match loading {
        Ok(Ok(model)) => Some(model),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the {which} model cannot be used");
            None
        }
        Err(error) => {
            tracing::error!(%error, "the {which} model cannot be loaded");
            None
        }
    }
}

impl ModelFile {
    /// Checks the size and the SHA-256 of the file at `path`.
    fn verify(&self, path: &Path) -> anyhow::Result<()> {
        let size = path.metadata()?.len();
        ensure!(size == self.size, "it has {size} bytes instead of {}", self.size);
        let sum = sha256(path)?;
        ensure!(sum == self.sha256, "its SHA-256 is {sum} instead of {}", self.sha256);
        Ok(())
    }
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = digest::Context::new(&digest::SHA256);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(base::hex(context.finish().as_ref())),
            read => context.update(&buffer[..read]),
        }
    }
}
