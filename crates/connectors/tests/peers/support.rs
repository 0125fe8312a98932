//! What all tests need: a sink that keeps everything, and the items of a place.

use connectors::{ConnectError, Connector, Environment, Item, ItemError, Reading, Settings, Sink};

#[derive(Default)]
pub struct Memory(pub Vec<u8>);

impl Sink for Memory {
    fn write(&mut self, piece: &[u8]) -> Result<(), ItemError> {
        self.0.extend_from_slice(piece);
        Ok(())
    }
}

/// An open place, and what has been listed of it.
pub struct Opened {
    pub connector: Box<dyn Connector>,
}

pub async fn open(settings: &Settings, environment: &Environment) -> Result<Opened, ConnectError> {
    open_with(settings, None, environment).await
}

pub async fn open_with(
    settings: &Settings,
    secret: Option<&str>,
    environment: &Environment,
) -> Result<Opened, ConnectError> {
    let connector = connectors::open(settings, secret, "source-1", environment).await?;
    Ok(Opened { connector })
}

impl Opened {
    /// Lists all items without reading them, sorted by path.
    pub async fn list(&mut self) -> Result<Vec<Item>, ConnectError> {
        let mut items = Vec::new();
        while let Some(page) = self.connector.next_items().await? {
            assert!(!page.is_empty() && page.len() <= 1_000, "a page of {}", page.len());
            items.extend(page);
        }
        items.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(items)
    }

    pub async fn paths(&mut self) -> Vec<String> {
        self.list().await.unwrap().into_iter().map(|item| item.path).collect()
    }

    pub async fn read(&mut self, item: &Item, known: &str) -> Result<(Reading, Vec<u8>), ItemError> {
        let mut memory = Memory::default();
        let reading = self.connector.read(item, known, &mut memory).await?;
        Ok((reading, memory.0))
    }

    /// Reads an item that has to be there, and returns its state, its name and its content.
    pub async fn content(&mut self, item: &Item) -> (String, String, Vec<u8>) {
        match self.read(item, "").await {
            Ok((Reading::Read(found), content)) => (found.state, found.filename, content),
            other => panic!("{}: {other:?}", item.path),
        }
    }
}
