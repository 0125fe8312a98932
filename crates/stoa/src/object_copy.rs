//! Copies the objects that a database names from one store to another, each verified by its SHA-256.

use anyhow::{Context, Result, bail};
use futures_util::{StreamExt, TryStreamExt, stream};
use store::{Blobs, NamedObject, ObjectSum, admins};

/// Objects that are copied at the same time.
pub const AT_ONCE: usize = 8;
/// Faults that are listed; the others are counted.
const LISTED: usize = 10;
const LONGEST_RECORD: u64 = 1 << 20;

/// What was copied, and what could not be.
#[derive(Default)]
pub struct Copied {
    pub count: u64,
    pub bytes: u64,
    faults: Vec<String>,
    more_faults: usize,
}

/// Copies objects. The key in the target is the prefix and the key.
pub struct Copier<'a> {
    pub from: &'a Blobs,
    pub to: &'a Blobs,
    pub prefix: &'static str,
}

impl Copier<'_> {
    /// Copies objects and reads them back. Returns their keys and sums. What is missing in the source, or is not as its
    /// row says, is a fault.
    pub async fn copy(
        &self,
        objects: Vec<NamedObject>,
        copied: &mut Copied,
    ) -> Result<Vec<(String, ObjectSum)>> {
        let sums = stream::iter(objects).map(|object| async move {
            let to_key = format!("{}{}", self.prefix, object.key);
            let sum = self.from.copy(&object.key, self.to, &to_key).await;
            let sum = sum.with_context(|| format!("cannot copy the object of {object}"))?;
            Ok::<_, anyhow::Error>((object, sum))
        });
        let sums: Vec<(NamedObject, Option<ObjectSum>)> =
            sums.buffer_unordered(AT_ONCE).try_collect().await?;
        let mut kept = Vec::with_capacity(sums.len());
        for (object, sum) in sums {
            if let Some(fault) = knowledge::fault(&object, sum.as_ref()).filter(|_| !object.is_rebuildable) {
                copied.fault(fault);
            }
            if let Some(sum) = sum {
                copied.add(&sum);
                kept.push((object.key, sum));
            }
        }
        Ok(kept)
    }
}

impl Copied {
    pub fn add(&mut self, sum: &ObjectSum) {
        self.count += 1;
        self.bytes += sum.size;
    }

    pub fn fault(&mut self, fault: String) {
        if self.faults.len() < LISTED {
            self.faults.push(fault);
        } else {
            self.more_faults += 1;
        }
    }

    pub fn is_whole(&self) -> bool {
        self.faults.is_empty()
    }

    /// Fails if there was a fault, unless faults are to be skipped. Returns the faults as lines.
    pub fn judge(&self, skip_missing: bool) -> Result<Vec<String>> {
        let mut lines = self.faults.clone();
        if self.more_faults > 0 {
            lines.push(format!("and {} more", self.more_faults));
        }
        if !lines.is_empty() && !skip_missing {
            bail!(
                "objects are missing or damaged in the source:\n  {}\nrepair them (`stoa check --deep` lists them), or go \
                 on without them with --skip-missing",
                lines.join("\n  ")
            );
        }
        Ok(lines)
    }
}

/// Reads the records of all administrators: keys and contents.
pub async fn administrators(blobs: &Blobs) -> Result<Vec<(String, bytes::Bytes)>> {
    let mut records = Vec::new();
    for key in admins::record_keys(blobs).await? {
        if let Some(record) = blobs.get(&key, LONGEST_RECORD).await? {
            records.push((key, record));
        }
    }
    Ok(records)
}

/// Writes a number of bytes for people: `34.2 MB`.
pub fn readable(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
