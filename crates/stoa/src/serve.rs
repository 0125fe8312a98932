//! `stoa serve`: opens what the services share, starts each on its listener, and stops them together.

mod services;

use crate::banner::{self, Addresses};
use crate::config::{Config, Secrets};
use crate::figures::{self, ServiceFigures};
use crate::folder_lock::FolderLock;
use crate::signals::Signals;
use crate::storage::{make_data_dir, open_database, open_objects, refuse_unfinished_move};
use crate::{admin, models, restore, say, workflow};
use anyhow::{Context, Result};
use base::token::Tokens;
use base::{Clock, Random};
use kit::health::Health;
use kit::log::Log;
use kit::metrics::Metrics;
use kit::serve::{Drain, Handler, Serving};
use knowledge::{Accounts, Knowledge, Listeners, Usage};
use services::Service;
use std::sync::Arc;
use std::time::Duration;
use store::admins::Admins;
use store::{Blobs, Db};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long the end of the process waits for the database to take the last calls of models.
const USAGE_WAIT: Duration = Duration::from_secs(3);

/// Everything that the services share.
pub struct Process {
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
    /// The same, for those that ask addresses which users name.
    listeners: Listeners,
    figures: ServiceFigures,
    /// Of models, by the services that ask them.
    usage: Usage,
    knowledge: Option<Knowledge>,
    /// The services answer and work once it holds true; until then connections wait.
    answers: watch::Sender<bool>,
}

pub async fn run(config: Config, roles: Vec<String>) -> Result<()> {
    let log =
        Log::start(config.log_format, config.log_level, config.access_log).context("cannot start the log")?;
    let metrics = Metrics::install().context("cannot start the metrics")?;
    raise_file_limit();
    make_data_dir(&config)?;
    let _lock = FolderLock::take(&config.data_dir)?;
    restore::refuse_unfinished(&config)?;
    banner::remove_listen_json(&config);
    let mut signals = Signals::listen()?;

    let workflow = workflow::load(&config)?;
    let mut process = tokio::select! {
        opened = Process::open(config, log) => opened?,
        _ = signals.received() => return Ok(()),
    };
    let runs = |name: &str| roles.iter().any(|role| role == name);
    // A service comes after those whose addresses it needs: the portal shows the others, the gateway forwards to them.
    if runs("knowledge") || runs("supervisor") {
        let models = models::load(&process.config).await;
        let state = models.state();
        process.health.add_open("models", move || std::future::ready(state.clone()));
        let providers = models.providers(process.config.vendors.clone(), process.usage.clone())?;
        // Agents need them too, where no knowledge service has made them yet.
        process.db.migrate(knowledge::SCHEMA.scope, knowledge::SCHEMA.migrations).await?;
        let connections = services::connections(&process, providers.clone());
        connections.load().await?;
        if runs("knowledge") {
            let connections = connections.clone();
            let (service, knowledge) =
                services::knowledge(&process, models, providers.clone(), connections).await?;
            process.start(service).await?;
            process.knowledge = Some(knowledge);
        }
        if runs("supervisor") {
            process.start(services::supervisor(&process, workflow, providers).await?).await?;
        }
        tokio::spawn(connections.keep());
        tokio::spawn(process.usage.clone().keep());
    }
    if runs("leads") {
        process.start(services::leads(&process).await?).await?;
    }
    if runs("portal") {
        process.start(services::portal(&process).await?).await?;
    }
    if runs("gateway") {
        process.start(services::gateway(&process)?).await?;
    }
    process.start(services::operations(&process, metrics)).await?;

    tokio::spawn(crate::housekeeping::run(process.db.clone()));
    let told = figures::Told {
        services: process.figures.clone(),
        addresses: process.addresses.iter().map(|(_, address)| *address).collect(),
        knowledge: process.knowledge.clone(),
    };
    let figures = figures::run(process.db.clone(), told, process.listeners.clone(), process.drain.clone());
    process.services.spawn(figures);
    // After all addresses are bound, since the password would be lost if the start failed then; before the services
    // answer, since the first request may be a sign-in.
    let password = process.first_administrator().await.context("cannot create the first administrator")?;
    // The banner first: a client that finds the file finds the whole banner, a password included.
    banner::print(&process.config, &process.addresses, password.as_deref())
        .and_then(|()| banner::write_listen_json(&process.config, &process.addresses))
        .context("cannot announce the addresses")?;
    process.answers.send_replace(true);

    let signal = signals.received().await;
    process.stop(signal).await;
    Ok(())
}

impl Process {
    async fn open(mut config: Config, log: Log) -> Result<Self> {
        let (clock, random) = (Clock::system(), Random::system());
        let db = open_database(&config, clock.clone(), random.clone())
            .await
            .context("cannot open the database")?;
        refuse_unfinished_move(&db).await?;
        let blobs = open_objects(&config).await.context("cannot open the object store")?;
        let secrets = match &config.jwt_secrets[..] {
            [] => {
                let secrets = Secrets::load_or_create(&config.data_dir, &random);
                secrets.context("cannot keep the generated secret")?.jwt_secrets
            }
            given => given.to_vec(),
        };
        let tokens = config.tokens(&secrets, &clock);
        if config.sources.keys.is_empty() {
            config.sources.keys = secrets;
        }
        let admins = Admins::new(db.clone(), blobs.clone());
        let mut health = Health::default();
        let (checked_db, checked_blobs) = (db.clone(), blobs.clone());
        health.add("database", move || {
            let db = checked_db.clone();
            async move { db.ping().await.map_err(|error| error.to_string()) }
        });
        health.add("objects", move || {
            let blobs = checked_blobs.clone();
            async move { blobs.ping().await.map_err(|error| error.to_string()) }
        });
        let usage = Usage::new(db.clone(), clock.clone(), random.clone());
        Ok(Self {
            config,
            db,
            usage,
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
            listeners: Listeners::default(),
            figures: Vec::new(),
            knowledge: None,
            answers: watch::Sender::new(false),
        })
    }

    async fn first_administrator(&self) -> Result<Option<String>> {
        let (db, admins) = (self.db.clone(), self.admins.clone());
        let accounts = Accounts::open(db, admins, self.clock.clone(), self.random.clone()).await?;
        admin::ensure_first(&self.config, &self.admins, &accounts, &self.random).await
    }

    /// Starts a service: binds its address, and runs its listener and its work until the process stops.
    async fn start<H: Handler>(&mut self, service: Service<H>) -> Result<()> {
        let Service { name, address, handler, work, workers } = service;
        let listener = TcpListener::bind(&address).await;
        let listener = listener.with_context(|| format!("{name} cannot listen on {address}"))?;
        let bound = listener.local_addr()?;
        self.addresses.push((name, bound));
        self.listeners.add(bound);
        let serving = Serving::new(
            name,
            self.config.limits.clone(),
            self.drain.clone(),
            self.log.clone(),
            self.clock.clone(),
            self.random.clone(),
            workers,
        );
        self.figures.push((name, serving.metrics.figures.clone()));
        self.spawn(async move { handler.serve(listener, serving).await });
        if let Some(work) = work {
            // Not before all listeners are known, which sources must not ask.
            self.spawn(work);
        }
        Ok(())
    }

    /// Runs a part of a service from the moment when the process answers.
    fn spawn(&mut self, part: impl Future<Output = ()> + Send + 'static) {
        let mut answers = self.answers.subscribe();
        self.services.spawn(async move {
            // An error means that the process ends before it has begun to answer.
            if answers.wait_for(|answers| *answers).await.is_ok() {
                part.await;
            }
        });
    }

    async fn stop(mut self, signal: &str) {
        tracing::info!(signal, "stopping: no new connections, running requests get 10 s");
        self.drain.start();
        while self.services.join_next().await.is_some() {}
        // The calls of the last answers, which no task writes any more.
        match tokio::time::timeout(USAGE_WAIT, self.usage.write()).await {
            Ok(Ok(())) => {}
            failed => tracing::error!(?failed, "the use of models in the last moments is lost"),
        }
        banner::remove_listen_json(&self.config);
        self.db.close().await;
        tracing::info!("stopped");
        self.log.flush();
    }
}

/// Raises the limit on open files to what the system allows: each connection is one, and the usual limit is too low.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if setrlimit(Resource::Nofile, limit).is_err() {
        say("stoa: cannot raise the limit on open files");
    }
}
