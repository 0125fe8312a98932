//! The services, each opened with what the process shares and the settings that are its own.

use super::Process;
use crate::config::Targets;
use crate::extractor::extractor;
use crate::models::{self, Loaded};
use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use gateway::{Gateway, GatewaySettings, TargetUrl};
use kit::metrics::Metrics;
use kit::ops;
use kit::serve::{Door, Handler, Workers};
use knowledge::{
    Connections, Environment, GatewayTokenSettings, Knowledge, KnowledgeSettings, SecretKeys, SourceSettings,
};
use leads::{Leads, LeadsSettings};
use llm::Providers;
use portal::{Peer, Portal};
use std::sync::Arc;
use supervisor::{KnowledgeClient, Supervisor, SupervisorSettings, Workflow};

/// A service that is ready to be started.
pub struct Service<H> {
    pub name: &'static str,
    pub address: String,
    pub handler: H,
    /// Runs beside the listener until the process stops.
    pub work: Option<BoxFuture<'static, ()>>,
    /// Threads of its own for its connections.
    pub workers: Option<Workers>,
}

impl<H: Handler> Service<H> {
    fn new(name: &'static str, address: &str, handler: H) -> Self {
        Self { name, address: address.to_owned(), handler, work: None, workers: None }
    }
}

pub fn gateway(process: &Process) -> Result<Service<impl Handler>> {
    let config = &process.config;
    let settings = GatewaySettings {
        build_targets: targets(process, &config.build_targets, "supervisor"),
        kv_targets: targets(process, &config.kv_targets, "portal"),
        core_targets: targets(process, &config.core_targets, "knowledge"),
        token_ttl: config.jwt_ttl,
        environment: config.environment,
        guests: config.guests,
        upstream_timeout: config.upstream_timeout,
        trusted_proxies: config.trusted_proxies.clone(),
        cors: config.cors.clone(),
    };
    let gateway = Gateway::new(
        settings,
        process.tokens.clone(),
        process.db.clone(),
        process.admins.clone(),
        process.clock.clone(),
        process.drain.clone(),
    );
    tokio::spawn(gateway.clone().close_old_connections());
    let workers = Workers::start("gateway").context("cannot start threads")?;
    Ok(Service { workers: Some(workers), ..Service::new("gateway", &config.gateway_listen, gateway) })
}

pub async fn knowledge(
    process: &Process,
    loaded: Loaded,
    providers: Arc<Providers>,
    connections: Connections,
) -> Result<(Service<impl Handler>, Knowledge)> {
    let config = &process.config;
    let shared = knowledge::Shared {
        db: process.db.clone(),
        blobs: process.blobs.clone(),
        tokens: process.tokens.clone(),
        admins: process.admins.clone(),
        providers,
        connections,
        usage: process.usage.clone(),
        engine: loaded.engine,
        extractor: extractor(&config.extract)?,
        sources: sources(process),
        clock: process.clock.clone(),
        random: process.random.clone(),
        drain: process.drain.clone(),
    };
    let settings = KnowledgeSettings {
        max_upload_bytes: config.max_upload_bytes,
        chat_requests_per_minute: config.chat_requests_per_minute,
        chat_model: config.chat_model.clone(),
        cookie_secure: config.cookie_secure,
        gateway_tokens: GatewayTokenSettings { ttl: config.jwt_ttl, environment: config.environment },
        sso_creates_users: config.sso_creates_users,
        users_create_spaces: config.users_create_spaces,
        quotas: config.quotas,
        spool_folder: config.data_dir.clone(),
        job_lease: config.job_lease,
        index: config.index.clone(),
        models: models::files(config),
    };
    let knowledge = Knowledge::open(shared, settings).await.context("cannot start the knowledge service")?;
    let handler = knowledge.handler(process.health.clone(), door(process));
    let work = Some(Box::pin(knowledge.clone().work()) as BoxFuture<'static, ()>);
    Ok((Service { work, ..Service::new("knowledge", &config.knowledge_listen, handler) }, knowledge))
}

/// Returns the connections to models. They are kept as long as the process runs.
pub fn connections(process: &Process, providers: Arc<Providers>) -> Connections {
    let keys = Arc::new(SecretKeys::new(&process.config.sources.keys));
    Connections::new(process.db.clone(), process.clock.clone(), process.random.clone(), keys, providers)
}

fn sources(process: &Process) -> SourceSettings {
    let config = &process.config;
    SourceSettings {
        environment: Environment {
            folder_roots: config.sources.folder_roots.clone(),
            allow_private_addresses: config.sources.allow_private_addresses,
            listeners: process.listeners.clone(),
            work_folder: config.data_dir.join("sources"),
            copy_room: None,
        },
        keys: SecretKeys::new(&config.sources.keys),
        largest_item: config.max_upload_bytes,
        spool_folder: config.data_dir.clone(),
    }
}

pub async fn supervisor(
    process: &Process,
    workflow: Workflow,
    providers: Arc<Providers>,
) -> Result<Service<impl Handler>> {
    let config = &process.config;
    let core = urls(&targets(process, &config.core_targets, "knowledge"));
    let knowledge = KnowledgeClient::new(core, process.tokens.clone()).context("agents cannot search")?;
    let shared = supervisor::Shared {
        db: process.db.clone(),
        tokens: process.tokens.clone(),
        admins: process.admins.clone(),
        providers,
        knowledge,
        drain: process.drain.clone(),
    };
    let settings = SupervisorSettings {
        workflow: Arc::new(workflow),
        default_model: config.agents.clone(),
        seed_characters: config.seed_characters,
        guests: config.guests,
        guest_limits: Arc::new(config.guest_limits.clone()),
        token: config.supervisor_token.clone(),
        job_lease: config.job_lease,
    };
    let supervisor = Supervisor::open(shared, settings).await.context("cannot start the supervisor")?;
    let handler = supervisor.handler(process.health.clone(), door(process));
    let work = Some(Box::pin(supervisor.work()) as BoxFuture<'static, ()>);
    Ok(Service { work, ..Service::new("supervisor", &config.supervisor_listen, handler) })
}

pub async fn portal(process: &Process) -> Result<Service<impl Handler>> {
    let config = &process.config;
    let portal_tokens = match &config.portal_jwt_secrets[..] {
        [] => process.tokens.clone(),
        secrets => Arc::new(config.tokens(secrets, &process.clock)),
    };
    let leads = urls(&targets(process, &config.leads_targets, "leads"));
    let services = [
        ("knowledge", &config.core_targets),
        ("supervisor", &config.build_targets),
        ("leads", &config.leads_targets),
    ];
    let peers = services.into_iter().flat_map(|(name, given)| {
        targets(process, given, name).into_iter().map(move |url| Peer { name, url: url.to_string() })
    });
    let shared = portal::Shared {
        db: process.db.clone(),
        tokens: process.tokens.clone(),
        portal_tokens,
        admins: process.admins.clone(),
        peers: peers.collect(),
        leads,
        sso: config.sso.clone(),
        guests: config.guests,
        token_ttl: config.jwt_ttl,
    };
    let portal = Portal::open(shared).await.context("cannot start the portal")?;
    let handler = portal.handler(process.health.clone(), door(process));
    Ok(Service::new("portal", &config.portal_listen, handler))
}

pub async fn leads(process: &Process) -> Result<Service<impl Handler>> {
    let config = &process.config;
    let shared = leads::Shared {
        db: process.db.clone(),
        tokens: process.tokens.clone(),
        admins: process.admins.clone(),
        drain: process.drain.clone(),
    };
    let settings = LeadsSettings {
        forms: config.forms.clone(),
        crm: config.crm.clone(),
        per_minute: config.leads_per_minute,
        job_lease: config.job_lease,
    };
    let leads = Leads::open(shared, settings).await.context("cannot start the lead ingest")?;
    let handler = leads.handler(process.health.clone(), door(process));
    let work = Some(Box::pin(leads.work()) as BoxFuture<'static, ()>);
    Ok(Service { work, ..Service::new("leads", &config.leads_listen, handler) })
}

/// The listener for operators: health and metrics.
pub fn operations(process: &Process, metrics: Metrics) -> Service<impl Handler> {
    tokio::spawn(metrics.clone().upkeep());
    let handler = ops::handler(process.health.clone(), metrics);
    Service::new("ops", &process.config.ops_listen, handler)
}

/// Returns where a route leads: the given targets, or the service of this process.
fn targets(process: &Process, targets: &Targets, service: &str) -> Vec<TargetUrl> {
    match targets {
        Targets::Given(given) => given.clone(),
        Targets::Own => {
            let own = process.addresses.iter().filter(|(name, _)| *name == service);
            own.filter_map(|(_, address)| format!("http://{address}").parse().ok()).collect()
        }
    }
}

fn urls(targets: &[TargetUrl]) -> Vec<String> {
    targets.iter().map(TargetUrl::to_string).collect()
}

/// Decides which proxies a service trusts about the client of a request.
fn door(process: &Process) -> Door {
    Door::new(process.config.trusted_proxies.clone(), process.tokens.clone())
}
