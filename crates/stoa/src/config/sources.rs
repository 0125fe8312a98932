//! Settings of the places that documents come from.

use super::layers::Layers;
use super::secrets;
use std::path::PathBuf;

/// What sources may read, and the keys of their secrets.
#[derive(Default)]
pub struct SourcesConfig {
    /// Folders below which sources may read.
    pub folder_roots: Vec<PathBuf>,
    pub allow_private_addresses: bool,
    /// The first encrypts, all decrypt; empty: the gateway's secrets do.
    pub keys: Vec<String>,
}

impl SourcesConfig {
    pub fn read(layers: &mut Layers) -> Self {
        Self {
            folder_roots: layers.read("folder_roots", folders),
            allow_private_addresses: layers.read("allow_private_addresses", super::true_or_false),
            keys: layers.read("sources_key", secrets::parse),
        }
    }
}

fn folders(text: &str) -> Result<Vec<PathBuf>, String> {
    let folders = text.split(',').map(str::trim).filter(|folder| !folder.is_empty());
    let folders: Vec<PathBuf> = folders.map(PathBuf::from).collect();
    match folders.iter().find(|folder| !folder.is_absolute()) {
        Some(folder) => Err(format!("`{}` is not an absolute path", folder.display())),
        None => Ok(folders),
    }
}
