//! The manifest of a backup: what is in it, with checksums. It is written last: without it, a backup is not whole.

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{Blobs, ObjectSum};

/// The names of the parts of a backup.
pub const MANIFEST: &str = "manifest.json";
pub const DATABASE: &str = "stoa.db";
pub const SECRETS: &str = "secrets.toml";
pub const OBJECT_LIST: &str = "objects.jsonl";
/// The key of an object in a backup is this and its own key.
pub const OBJECTS: &str = "objects/";

/// The form of backups that this program writes and reads.
const FORMAT: u32 = 1;
const LONGEST: u64 = 1 << 20;

/// `manifest.json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: u32,
    /// The version of the program that wrote it.
    pub program: String,
    pub created_at: String,
    pub database: DatabaseCopy,
    pub objects: Objects,
    /// The file `secrets.toml`, if the data folder has one.
    pub secrets: Option<ObjectSum>,
    /// SHA-256 of this manifest with an empty checksum.
    pub checksum: String,
}

/// What the backup has of the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "engine")]
pub enum DatabaseCopy {
    /// The file `stoa.db`.
    Sqlite { file: ObjectSum },
    /// A dump of this snapshot that `pg_dump` has written: the file `stoa.pgdump`, unless it is elsewhere.
    Postgres { snapshot: String, dump: Option<ObjectSum> },
}

/// The objects of the backup, which `objects.jsonl` lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objects {
    pub count: u64,
    pub bytes: u64,
    pub list: ObjectSum,
}

/// A line of `objects.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedObject {
    pub key: String,
    #[serde(flatten)]
    pub sum: ObjectSum,
}

impl Manifest {
    pub fn new(
        created_at: String,
        database: DatabaseCopy,
        objects: Objects,
        secrets: Option<ObjectSum>,
    ) -> Self {
        let program = env!("CARGO_PKG_VERSION").to_owned();
        let checksum = String::new();
        let manifest = Self { format: FORMAT, program, created_at, database, objects, secrets, checksum };
        Self { checksum: manifest.checksum(), ..manifest }
    }

    fn checksum(&self) -> String {
        let without = Self { checksum: String::new(), ..self.clone() };
        ObjectSum::of(&serde_json::to_vec(&without).unwrap_or_default()).sha256
    }

    /// Reads the manifest of a backup. Fails if the backup is not whole, or of a later program, or was changed.
    pub async fn read(backup: &Blobs, name: &str) -> Result<Self> {
        let Some(text) =
            backup.get(MANIFEST, LONGEST).await.with_context(|| format!("cannot read {name}"))?
        else {
            bail!("{name} is no whole backup: it has no {MANIFEST}, which is written last");
        };
        let damaged = || format!("{MANIFEST} of {name} was changed after the backup");
        let form: Form = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(
            form.format == FORMAT,
            "{name} is a backup of format {}, and this program reads format {FORMAT}: use the program that wrote it",
            form.format
        );
        let manifest: Self = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(manifest.checksum == manifest.checksum(), damaged());
        Ok(manifest)
    }

    pub async fn write(&self, backup: &Blobs) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        Ok(backup.put(MANIFEST, Bytes::from(text)).await?)
    }
}

/// What manifests of all formats have.
#[derive(Deserialize)]
struct Form {
    format: u32,
}
