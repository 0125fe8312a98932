//! The service's own tables, and every statement on them. Decisions are left to the callers.

pub mod account_links;
pub mod chunks;
pub mod connections;
pub mod conversations;
pub mod deep_check;
pub mod documents;
pub mod files;
pub mod messages;
pub mod objects;
pub mod relations;
pub mod sessions;
pub mod snapshots;
pub mod source_items;
pub mod sources;
pub mod spaces;
pub mod texts;
pub mod usage;
pub mod users;

use store::Migration;

pub const SCOPE: &str = "knowledge";

pub const MIGRATIONS: &[Migration] = &[
    Migration::portable(1, "knowledge", include_str!("../migrations/0001_knowledge.sql")),
    Migration::portable(2, "removed users", include_str!("../migrations/0002_removed_users.sql")),
    Migration::portable(3, "record generation", include_str!("../migrations/0003_record_generation.sql")),
    Migration::portable(4, "document pages", include_str!("../migrations/0004_document_pages.sql")),
    Migration::portable(5, "conversations", include_str!("../migrations/0005_conversations.sql")),
    Migration::portable(6, "document texts", include_str!("../migrations/0006_document_texts.sql")),
    Migration::portable(7, "disabled users", include_str!("../migrations/0007_disabled_users.sql")),
    Migration::portable(8, "question documents", include_str!("../migrations/0008_question_documents.sql")),
    Migration::portable(9, "index snapshots", include_str!("../migrations/0009_index_snapshots.sql")),
    Migration::portable(10, "spaces", include_str!("../migrations/0010_spaces.sql")),
    Migration::portable(11, "document files", include_str!("../migrations/0011_document_files.sql")),
    Migration::portable(12, "sources", include_str!("../migrations/0012_sources.sql")),
    Migration::portable(13, "archive members", include_str!("../migrations/0013_archive_members.sql")),
    Migration::portable(14, "sessions", include_str!("../migrations/0014_sessions.sql")),
    Migration::portable(15, "account links", include_str!("../migrations/0015_account_links.sql")),
    Migration::portable(16, "source copies", include_str!("../migrations/0016_source_copies.sql")),
    Migration::portable(17, "message notices", include_str!("../migrations/0017_message_notices.sql")),
    Migration::portable(18, "connections", include_str!("../migrations/0018_connections.sql")),
    Migration::portable(19, "usage", include_str!("../migrations/0019_usage.sql")),
    Migration::portable(20, "conversation files", include_str!("../migrations/0020_conversation_files.sql")),
    Migration::portable(21, "relations", include_str!("../migrations/0021_relations.sql")),
];
