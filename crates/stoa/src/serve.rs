//! `stoa serve`: opens what is shared, starts each service on its listener, and ends them together.

use crate::banner::{self, Addresses};
use crate::config::{Config, ExtractSettings, Secrets, Targets};
use crate::folder_lock::FolderLock;
use crate::models::Loaded;
use crate::signals::Signals;
use crate::{admin, cli, models, say, workflow};
use base::token::Tokens;
use base::{Clock, Random};
use gateway::{Gateway, GatewaySettings, TargetUrl};
use kit::health::Health;
use kit::log::Log;
use kit::metrics::Metrics;
use kit::ops;
use kit::serve::{Door, Drain, Handler, Serving, Workers, serve};
use knowledge::{Accounts, Extractor, Knowledge, KnowledgeSettings};
use leads::{Leads, LeadsSettings};
use llm::Providers;
use portal::{Peer, Portal};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use store::admins::Admins;
use store::{Blobs, Db};
use supervisor::{KnowledgeSearch, Supervisor, SupervisorSettings, Workflow};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Everything that services share.
struct Process {
    config: Config,
    db: Db,
    blobs: Blobs,
    tokens: Arc<Tokens>,
    admins: Admins,
    clock: Clock,
    random: Random,
    drain: Drain,
    log: Log,
    health: Health,
    services: JoinSet<()>,
    addresses: Addresses,
    /// Services answer once it holds true; until then connections wait.
    answers: watch::Sender<bool>,
}

pub async fn run(config: Config, roles: Vec<String>) -> Result<(), String> {
    let log = Log::start(config.log_format, config.log_level, config.access_log);
    let log = log.map_err(|error| format!("cannot start the log: {error}"))?;
    let metrics = Metrics::install().map_err(|error| format!("cannot start the metrics: {error}"))?;
    raise_file_limit();
    make_data_dir(&config)?;
    let _lock = FolderLock::take(&config.data_dir)?;
    banner::remove_listen_json(&config);
    let mut signals = Signals::listen()?;

    let workflow = workflow::load(&config)?;
    let mut process = tokio::select! {
        opened = Process::open(config, log) => opened?,
        _ = signals.received() => return Ok(()),
    };
    let runs = |name: &str| roles.iter().any(|role| role == name);
    // Before the gateway, which has to know where they are.
    if runs("knowledge") || runs("supervisor") {
        let models = models::load(&process.config).await;
        let state = models.state();
        process.health.add_open("models", move || std::future::ready(state.clone()));
        let providers = models.providers(process.config.vendors.clone())?;
        if runs("knowledge") {
            process.start_knowledge(models, providers.clone()).await?;
        }
        if runs("supervisor") {
            process.start_supervisor(workflow, providers).await?;
        }
    }
    if runs("leads") {
        process.start_leads().await?;
    }
    // After those whose state it tells.
    if runs("portal") {
        process.start_portal().await?;
    }
    if runs("gateway") {
        process.start_gateway().await?;
    }
    process.start_ops(metrics).await?;

    tokio::spawn(crate::housekeeping::keep_house(process.db.clone()));
    // After all addresses are taken, since a start that fails then would lose the password; before anything answers, since
    // the first request may be a sign-in.
    let password = process.first_administrator().await;
    let password = password.map_err(|error| format!("cannot make the first administrator: {error}"))?;
    // A client that finds the file finds all of the banner, a password included.
    let announced = banner::print(&process.config, &process.addresses, password.as_deref())
        .and_then(|()| banner::write_listen_json(&process.config, &process.addresses));
    announced.map_err(|error| format!("cannot announce the addresses: {error}"))?;
    process.answers.send_replace(true);

    let signal = signals.received().await;
    process.stop(signal).await;
    Ok(())
}

impl Process {
    async fn open(config: Config, log: Log) -> Result<Self, String> {
        let (clock, random) = (Clock::system(), Random::system());
        let db =
            Db::open_with(&config.database_url, config.database_connections, clock.clone(), random.clone())
                .await;
        let db = db.map_err(|error| format!("cannot open the database: {error}"))?;
        let blobs = Blobs::open(&config.object_store_url, config.s3.clone()).await;
        let blobs = blobs.map_err(|error| format!("cannot open the object store: {error}"))?;
        let secrets = match &config.jwt_secrets[..] {
            [] => {
                let secrets = Secrets::load_or_create(&config.data_dir, &random);
                secrets.map_err(|error| format!("cannot keep the generated secret: {error}"))?.jwt_secrets
            }
            given => given.to_vec(),
        };
        let tokens = config.tokens(&secrets, &clock);
        let admins = Admins::new(db.clone(), blobs.clone());
        let mut health = Health::default();
        let (asked_db, asked_blobs) = (db.clone(), blobs.clone());
        health.add("database", move || {
            let db = asked_db.clone();
            async move { db.ping().await.map_err(|error| error.to_string()) }
        });
        health.add("objects", move || {
            let blobs = asked_blobs.clone();
            async move { blobs.ping().await.map_err(|error| error.to_string()) }
        });
        Ok(Self {
            config,
            db,
            blobs,
            tokens: Arc::new(tokens),
            admins,
            clock,
            random,
            drain: Drain::default(),
            log,
            health,
            services: JoinSet::new(),
            addresses: Vec::new(),
            answers: watch::Sender::new(false),
        })
    }

    async fn first_administrator(&self) -> Result<Option<String>, String> {
        let (db, admins) = (self.db.clone(), self.admins.clone());
        let accounts = Accounts::open(db, admins, self.clock.clone(), self.random.clone()).await;
        let accounts = accounts.map_err(|error| error.to_string())?;
        admin::ensure_first(&self.config, &self.admins, &accounts, &self.random).await
    }

    async fn start_gateway(&mut self) -> Result<(), String> {
        let config = &self.config;
        let settings = GatewaySettings {
            build_targets: self.targets(&config.build_targets, "supervisor"),
            kv_targets: self.targets(&config.kv_targets, "portal"),
            core_targets: self.targets(&config.core_targets, "knowledge"),
            token_ttl: config.jwt_ttl,
            environment: config.environment,
            guests: config.guests,
            upstream_timeout: config.upstream_timeout,
            trusted_proxies: config.trusted_proxies.clone(),
            cors: config.cors.clone(),
        };
        let gateway = Gateway::new(
            settings,
            self.tokens.clone(),
            self.db.clone(),
            self.admins.clone(),
            self.clock.clone(),
            self.drain.clone(),
        );
        tokio::spawn(gateway.clone().close_old_connections());
        let address = self.config.gateway_listen.clone();
        let workers = Workers::start("gateway").map_err(|error| format!("cannot start threads: {error}"))?;
        self.start("gateway", &address, gateway, Some(workers)).await
    }

    /// Where a route leads: as given, or to the service of this process.
    fn targets(&self, targets: &Targets, service: &str) -> Vec<TargetUrl> {
        match targets {
            Targets::Given(given) => given.clone(),
            Targets::Own => {
                let own = self.addresses.iter().filter(|(name, _)| *name == service);
                own.filter_map(|(_, address)| format!("http://{address}").parse().ok()).collect()
            }
        }
    }

    /// Whom the workers believe for whom a request asks.
    fn door(&self) -> Door {
        Door::new(self.config.trusted_proxies.clone(), self.tokens.clone())
    }

    async fn start_knowledge(&mut self, models: Loaded, providers: Arc<Providers>) -> Result<(), String> {
        let shared = knowledge::Shared {
            db: self.db.clone(),
            blobs: self.blobs.clone(),
            tokens: self.tokens.clone(),
            admins: self.admins.clone(),
            providers,
            engine: models.engine,
            extractor: extractor(&self.config.extract)?,
            clock: self.clock.clone(),
            random: self.random.clone(),
            drain: self.drain.clone(),
        };
        let settings = KnowledgeSettings {
            max_upload_bytes: self.config.max_upload_bytes,
            chat_requests_per_minute: self.config.chat_requests_per_minute,
            chat_model: self.config.chat_model.clone(),
            cookie_secure: self.config.cookie_secure,
            spool_folder: self.config.data_dir.clone(),
            job_lease: self.config.job_lease,
            index: self.config.index.clone(),
        };
        let knowledge = Knowledge::open(shared, settings).await;
        let knowledge = knowledge.map_err(|error| format!("cannot start the knowledge service: {error}"))?;
        self.services.spawn(knowledge.clone().work());
        let address = self.config.knowledge_listen.clone();
        self.start("knowledge", &address, knowledge.handler(self.health.clone(), self.door()), None).await
    }

    async fn start_supervisor(
        &mut self,
        workflow: Workflow,
        providers: Arc<Providers>,
    ) -> Result<(), String> {
        let core = self.targets(&self.config.core_targets, "knowledge");
        let knowledge =
            KnowledgeSearch::new(core.iter().map(TargetUrl::to_string).collect(), self.tokens.clone());
        let shared = supervisor::Shared {
            db: self.db.clone(),
            tokens: self.tokens.clone(),
            admins: self.admins.clone(),
            providers,
            knowledge: knowledge.map_err(|error| format!("agents cannot search: {error}"))?,
            drain: self.drain.clone(),
        };
        let settings = SupervisorSettings {
            workflow,
            default_model: self.config.agents.clone(),
            seed_characters: self.config.seed_characters,
            guests: self.config.guests,
            guest_limits: self.config.guest_limits.clone(),
            token: self.config.supervisor_token.clone(),
            job_lease: self.config.job_lease,
        };
        let supervisor = Supervisor::open(shared, settings).await;
        let supervisor = supervisor.map_err(|error| format!("cannot start the supervisor: {error}"))?;
        self.services.spawn(supervisor.clone().work());
        let address = self.config.supervisor_listen.clone();
        self.start("supervisor", &address, supervisor.handler(self.health.clone(), self.door()), None).await
    }

    async fn start_portal(&mut self) -> Result<(), String> {
        let config = &self.config;
        let portal_tokens = match &config.portal_jwt_secrets[..] {
            [] => self.tokens.clone(),
            secrets => Arc::new(config.tokens(secrets, &self.clock)),
        };
        let peers = [
            ("knowledge", &config.core_targets),
            ("supervisor", &config.build_targets),
            ("leads", &config.leads_targets),
        ];
        let peers = peers.into_iter().flat_map(|(name, targets)| {
            self.targets(targets, name).into_iter().map(move |url| Peer { name, url: url.to_string() })
        });
        let leads = self.targets(&config.leads_targets, "leads");
        let shared = portal::Shared {
            db: self.db.clone(),
            tokens: self.tokens.clone(),
            portal_tokens,
            admins: self.admins.clone(),
            peers: peers.collect(),
            leads: leads.iter().map(TargetUrl::to_string).collect(),
            sso: config.sso.clone(),
            guests: config.guests,
        };
        let portal =
            Portal::open(shared).await.map_err(|error| format!("cannot start the portal: {error}"))?;
        let address = self.config.portal_listen.clone();
        self.start("portal", &address, portal.handler(self.health.clone(), self.door()), None).await
    }

    async fn start_leads(&mut self) -> Result<(), String> {
        let shared = leads::Shared {
            db: self.db.clone(),
            tokens: self.tokens.clone(),
            admins: self.admins.clone(),
            drain: self.drain.clone(),
        };
        let settings = LeadsSettings {
            forms: self.config.forms.clone(),
            crm: self.config.crm.clone(),
            per_minute: self.config.leads_per_minute,
            job_lease: self.config.job_lease,
        };
        let leads = Leads::open(shared, settings).await;
        let leads = leads.map_err(|error| format!("cannot start the lead ingest: {error}"))?;
        self.services.spawn(leads.clone().work());
        let address = self.config.leads_listen.clone();
        self.start("leads", &address, leads.handler(self.health.clone(), self.door()), None).await
    }

    async fn start_ops(&mut self, metrics: Metrics) -> Result<(), String> {
        tokio::spawn(metrics.clone().upkeep());
        let handler = ops::handler(self.health.clone(), metrics);
        let address = self.config.ops_listen.clone();
        self.start("ops", &address, handler, None).await
    }

    async fn start<H: Handler>(
        &mut self,
        name: &'static str,
        address: &str,
        handler: H,
        workers: Option<Workers>,
    ) -> Result<(), String> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("{name} cannot listen on {address}: {error}"))?;
        let bound: SocketAddr = listener.local_addr().map_err(|error| error.to_string())?;
        self.addresses.push((name, bound));
        let serving = Serving::new(
            name,
            self.config.limits.clone(),
            self.drain.clone(),
            self.log.clone(),
            self.clock.clone(),
            self.random.clone(),
            workers,
        );
        let mut answers = self.answers.subscribe();
        self.services.spawn(async move {
            // An error means that the process ends before it has begun.
            if answers.wait_for(|answers| *answers).await.is_ok() {
                serve(listener, handler, serving).await;
            }
        });
        Ok(())
    }

    async fn stop(mut self, signal: &str) {
        tracing::info!(signal, "stopping: no new connections, running requests get 10 s");
        self.drain.start();
        while self.services.join_next().await.is_some() {}
        banner::remove_listen_json(&self.config);
        self.db.close().await;
        tracing::info!("stopped");
        self.log.flush();
    }
}

/// Reads files from strangers in children of this process, which are this program as well.
pub fn extractor(settings: &ExtractSettings) -> Result<Extractor, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
    let (children, limits) = extract::Limits::within(settings.memory, cores);
    let ExtractSettings { characters, pages, cells, .. } = *settings;
    let limits = extract::Limits { characters, pages, cells, ..limits };
    Ok(Extractor::new(program, vec![cli::EXTRACT.into()], children, limits))
}

/// The folder holds secrets: nobody else may look inside.
pub fn make_data_dir(config: &Config) -> Result<(), String> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&config.data_dir);
    made.map_err(|error| format!("cannot make the data folder {}: {error}", config.data_dir.display()))
}

/// Each connection is a file to the system, and its usual limit is too low for us.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if setrlimit(Resource::Nofile, limit).is_err() {
        say("stoa: cannot raise the limit on open files");
    }
}
