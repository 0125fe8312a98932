//! Large bodies: streamed in both directions with memory flat.

use bytes::Bytes;
use e2e::{Stoa, Upstream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_stream::StreamExt;

/// Held by what needs the machine for itself: large transfers, and what measures short times.
pub static QUIET: Mutex<()> = Mutex::const_new(());

const GIB: u64 = 1 << 30;
const MEMORY_LIMIT_MIB: f64 = 64.0;

/// The most that the process had, from now until it is asked.
struct Memory {
    stop: Arc<AtomicBool>,
    sampling: std::thread::JoinHandle<f64>,
}

impl Memory {
    fn sample(stoa: Arc<Stoa>) -> Self {
        let stop: Arc<AtomicBool> = Arc::default();
        let stopped = stop.clone();
        let sampling = std::thread::spawn(move || {
            let mut most: f64 = 0.0;
            while !stopped.load(Ordering::Relaxed) {
                most = most.max(stoa.memory());
                std::thread::sleep(Duration::from_millis(10));
            }
            most
        });
        Self { stop, sampling }
    }

    fn most(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        self.sampling.join().unwrap()
    }
}

async fn start() -> (Upstream, Arc<Stoa>) {
    let upstream = Upstream::start().await;
    let stoa = Arc::new(Stoa::start().before(&upstream.url()).serve());
    (upstream, stoa)
}

/// 1 GiB in pieces of 64 KiB, each the same.
fn gibibyte() -> reqwest::Body {
    let piece = Bytes::from(vec![b'x'; 64 * 1024]);
    let pieces = std::iter::repeat_n(piece, (GIB >> 16) as usize).map(Ok::<_, std::io::Error>);
    reqwest::Body::wrap_stream(tokio_stream::iter(pieces))
}

async fn upload(length_is_told: bool) {
    let _quiet = QUIET.lock().await;
    let (_upstream, stoa) = start().await;
    let memory = Memory::sample(stoa.clone());
    let mut request = reqwest::Client::new().post(stoa.url("/kv/count")).body(gibibyte());
    if length_is_told {
        request = request.header("content-length", GIB);
    }
    let counted = request.send().await.unwrap().text().await.unwrap();
    assert_eq!(counted, GIB.to_string());
    let most = memory.most();
    assert!(most < MEMORY_LIMIT_MIB, "{most} MiB");
}

#[tokio::test]
async fn an_upload_of_1_gib_passes_with_memory_flat() {
    upload(true).await;
}

#[tokio::test]
async fn a_chunked_upload_of_1_gib_passes_with_memory_flat() {
    upload(false).await;
}

#[tokio::test]
async fn a_download_of_1_gib_passes_with_memory_flat() {
    let _quiet = QUIET.lock().await;
    let (_upstream, stoa) = start().await;
    let memory = Memory::sample(stoa.clone());
    let response = reqwest::get(stoa.url(&format!("/kv/bytes?n={GIB}"))).await.unwrap();
    assert_eq!(response.content_length(), Some(GIB));
    let (mut pieces, mut read) = (response.bytes_stream(), 0);
    while let Some(piece) = pieces.next().await {
        read += piece.unwrap().len() as u64;
    }
    assert_eq!(read, GIB);
    let most = memory.most();
    assert!(most < MEMORY_LIMIT_MIB, "{most} MiB");
}

#[tokio::test]
async fn a_download_that_the_client_does_not_read_waits_at_its_target() {
    let (_upstream, stoa) = start().await;
    let response = reqwest::get(stoa.url(&format!("/kv/bytes?n={GIB}"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let memory = stoa.memory();
    assert!(memory < MEMORY_LIMIT_MIB, "{memory} MiB");
    drop(response);
}
