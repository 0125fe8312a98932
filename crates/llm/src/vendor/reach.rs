//! Checks whether vendors can be reached, without sending a key or a question.

use super::{VendorSettings, Vendors, client, exchange::innermost};
use crate::provider_name::{VENDOR_A, VENDOR_B, VENDOR_C};
use reqwest::Client;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

impl Vendors {
    /// Returns for each vendor with a key its address, or why it cannot be reached. Any HTTP answer counts.
    pub async fn reach(&self) -> Vec<(&'static str, Result<String, String>)> {
        let mut found = Vec::new();
        for (name, settings) in [(VENDOR_A, &self.a), (VENDOR_B, &self.b), (VENDOR_C, &self.c)] {
            if let Some(settings) = settings {
                found.push((name, reach(settings).await));
            }
        }
        found
    }
}

async fn reach(settings: &VendorSettings) -> Result<String, String> {
    let url = settings.base_url.join([]);
    let client: Client = client().map_err(|error| innermost(&error))?;
    match client.get(url.clone()).timeout(PATIENCE).send().await {
        Ok(_) => Ok(format!("{url} {}", settings.model)),
        Err(error) => Err(format!("{url}: {}", innermost(&error))),
    }
}
