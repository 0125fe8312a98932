//! An S3 server in the test's own runtime: `s3s-fs` over a temporary folder, with signatures checked.

#![expect(clippy::expect_used, reason = "test support: a test that cannot start its server stops")]

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s::{Body, HttpResponse};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub struct S3 {
    pub endpoint: String,
    pub bucket: String,
    pub access_key_id: String,
    pub secret_access_key: String,
    folder: TempDir,
    accepting: JoinHandle<()>,
    health: Arc<AtomicU8>,
}

/// How the server answers.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Health {
    Well,
    /// With status 500.
    Failing,
    /// After two seconds.
    Slow,
}

impl S3 {
    pub async fn start() -> S3 {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bucket = "stoa-test".to_owned();
        std::fs::create_dir(folder.path().join(&bucket)).expect("a folder for the bucket");
        let (access_key_id, secret_access_key) = ("test-key".to_owned(), "test-secret".to_owned());

        let files = s3s_fs::FileSystem::new(folder.path()).expect("an S3 store on the folder");
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(access_key_id.clone(), secret_access_key.clone()));
        let service = service.build();

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let health = Arc::new(AtomicU8::new(Health::Well as u8));
        let state = health.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, state) = (service.clone(), state.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (service, health) = (service.clone(), state.load(Relaxed));
                    async move {
                        if health == Health::Failing as u8 {
                            let mut failed = HttpResponse::new(Body::empty());
                            *failed.status_mut() = "500".parse().expect("a status");
                            return Ok(failed);
                        }
                        if health == Health::Slow as u8 {
                            tokio::time::sleep(Duration::from_secs(2)).await;
                        }
                        Service::call(&service, request).await
                    }
                });
                tokio::spawn(async move {
                    let server = Builder::new(TokioExecutor::new());
                    // A client that disconnects is no failure of the server.
                    let _ = server.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        let endpoint = format!("http://{address}");
        S3 { endpoint, bucket, access_key_id, secret_access_key, folder, accepting, health }
    }

    pub fn set_health(&self, health: Health) {
        self.health.store(health as u8, Relaxed);
    }

    /// The folder of the objects and of the parts of unfinished uploads.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
