//! Asks a server which models it has.

use super::refusal::Refusal;
use super::{ServedModel, Server};
use crate::{Cause, ChatError};
use base::innermost;
use reqwest::Response;
use std::time::Duration;
use tokio::time::timeout;

/// OpenRouter's list has half of it.
const MAX_LIST_BYTES: usize = 2 << 20;
const MAX_MODELS: usize = 2000;
/// A server that takes longer than this for a list is not there.
const LIST_WAIT: Duration = Duration::from_secs(10);

impl Server {
    /// Returns the models of the server in its order.
    pub async fn models(&self) -> Result<Vec<ServedModel>, ChatError> {
        let patience = self.timeout.min(LIST_WAIT);
        let listed = timeout(patience, self.listed(patience)).await;
        listed.unwrap_or(Err(Cause::Silent(patience))).map_err(|cause| self.error("", cause))
    }

    async fn listed(&self, patience: Duration) -> Result<Vec<ServedModel>, Cause> {
        let url = self.protocol.models_url(&self.connection.base_url);
        let response = self.client.get(url).headers(self.headers()).send().await;
        let response = response.map_err(|error| Cause::Unreachable(innermost(&error)))?;
        if !response.status().is_success() {
            return Err(Refusal::read(response, patience).await.cause());
        }
        let body = read(response).await?;
        let list = serde_json::from_slice(&body).ok().and_then(|list| self.protocol.models(&list));
        let mut models = list.ok_or_else(|| Cause::Broken("it sent no list of models".to_owned()))?;
        models.retain(|model| crate::is_model_name(&model.name));
        models.truncate(MAX_MODELS);
        Ok(models)
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, Cause> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| Cause::Broken(innermost(&error)))? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_LIST_BYTES {
            return Err(Cause::Broken("its list of models has no end".to_owned()));
        }
    }
    Ok(body)
}
