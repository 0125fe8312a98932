//! What a person says about a place, and what the installation allows.

use crate::Listeners;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use utoipa::ToSchema;

/// A place, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Settings {
    /// A folder of the server, below one of FOLDER_ROOTS.
    Folder {
        #[schema(example = "/srv/documents/manuals")]
        path: String,
    },
    /// An S3 bucket, or what is below a prefix of it. Its secret is the secret access key.
    #[serde(rename_all = "camelCase")]
    S3 {
        #[schema(example = "manuals")]
        bucket: String,
        #[serde(default)]
        #[schema(example = "pumps/")]
        prefix: String,
        /// Empty for Amazon's own.
        #[serde(default)]
        #[schema(example = "https://s3.example.org")]
        endpoint: String,
        #[serde(default)]
        #[schema(example = "us-east-1")]
        region: String,
        /// Empty for a bucket that everyone may read.
        #[serde(default)]
        access_key_id: String,
    },
    /// Web pages.
    Web {
        #[serde(default)]
        mode: WebMode,
        /// The pages, the sitemaps, or the prefixes that the crawls begin with.
        addresses: Vec<String>,
        /// How many links a crawl follows from its first page; 3 if absent.
        #[serde(default = "default_depth")]
        depth: u32,
        /// The most pages; 1000 if absent.
        #[serde(default = "default_pages")]
        pages: u32,
        /// Milliseconds between two requests to one host; 1000 if absent. A longer `Crawl-delay` of robots.txt counts.
        #[serde(default = "default_delay")]
        delay: u32,
    },
    /// The text files of a Git repository. Its secret is a password or token, or a private SSH key.
    Git {
        #[schema(example = "https://git.example.org/handbook.git")]
        url: String,
        /// Empty for the one that the repository calls its own.
        #[serde(default)]
        #[schema(example = "main")]
        branch: String,
        /// Only what is below this folder of it.
        #[serde(default)]
        #[schema(example = "docs")]
        folder: String,
        /// For https.
        #[serde(default)]
        username: String,
    },
    /// A folder of a mailbox. Its secret is the password.
    Imap {
        #[schema(example = "imap.example.org")]
        host: String,
        /// 993 if absent.
        #[serde(default = "default_port")]
        port: u16,
        #[schema(example = "ada@example.org")]
        username: String,
        #[serde(default = "default_mailbox")]
        mailbox: String,
        /// Whether the connection is encrypted from its beginning; true if absent. Without it, the password is sent in
        /// plain text, so only addresses of this machine are accepted.
        #[serde(default = "default_tls")]
        tls: bool,
    },
}

impl Settings {
    /// Returns whether the place may look empty while it is away: a folder whose disk is not mounted, a site that sends all
    /// requests to a page for signing in.
    pub fn may_look_empty(&self) -> bool {
        match self {
            Self::Folder { .. } | Self::Web { .. } => true,
            Self::S3 { .. } | Self::Git { .. } | Self::Imap { .. } => false,
        }
    }

    /// Returns the same without what says where it is: paths, servers and names.
    #[must_use]
    pub fn without_place(self) -> Self {
        let none = String::new;
        match self {
            Self::Folder { .. } => Self::Folder { path: none() },
            Self::S3 { .. } => Self::S3 {
                bucket: none(),
                prefix: none(),
                endpoint: none(),
                region: none(),
                access_key_id: none(),
            },
            Self::Web { mode, depth, pages, delay, .. } => {
                Self::Web { mode, addresses: Vec::new(), depth, pages, delay }
            }
            Self::Git { .. } => Self::Git { url: none(), branch: none(), folder: none(), username: none() },
            Self::Imap { port, tls, .. } => {
                Self::Imap { host: none(), port, username: none(), mailbox: none(), tls }
            }
        }
    }
}

/// How web pages are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebMode {
    /// The addresses are pages.
    #[default]
    Pages,
    /// The addresses are sitemaps.
    Sitemap,
    /// Links are followed from the addresses to pages below them.
    Crawl,
}

/// What the installation allows.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Folders below which a source may read files and repositories of the server.
    pub folder_roots: Vec<PathBuf>,
    /// Whether addresses of private and link-local networks and of this machine may be asked.
    pub allow_private_addresses: bool,
    /// Never asked, whatever else is allowed.
    pub listeners: Listeners,
    /// For copies of Git repositories; one subfolder for each source.
    pub work_folder: PathBuf,
    /// The most bytes of a copy, if that is less than any may have.
    pub copy_room: Option<u64>,
}

fn default_depth() -> u32 {
    3
}

fn default_pages() -> u32 {
    1_000
}

fn default_delay() -> u32 {
    1_000
}

fn default_port() -> u16 {
    993
}

fn default_mailbox() -> String {
    "INBOX".to_owned()
}

fn default_tls() -> bool {
    true
}
