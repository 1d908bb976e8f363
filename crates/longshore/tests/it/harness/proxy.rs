//! A door to a server that can be shut, held or made to swallow: what networks do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What happens to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They pass.
    Open,
    /// Connections are cut, new ones too.
    Shut,
    /// Connections stay and nothing comes through them, not even later.
    Swallows,
}

/// A way to a server, in this process.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    way: watch::Sender<Way>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    connects: AtomicUsize,
    /// The reply to the next statement with this text in it is lost.
    lose_reply_to: Mutex<Option<&'static str>>,
    lost_replies: AtomicUsize,
}

impl Proxy {
    pub async fn to(server: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let (way, seen) = watch::channel(Way::Open);
        let shared = Arc::new(Shared::default());
        tokio::spawn(accept(listener, server, seen, Arc::clone(&shared)));
        Proxy { address, way, shared }
    }

    pub fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// How many connections were tried so far.
    pub fn connects(&self) -> usize {
        self.shared.connects.load(Ordering::SeqCst)
    }

    /// The next statement that says `text` is carried out, and nobody hears of it: its connection
    /// is cut in place of the reply.
    pub fn lose_reply_to(&self, text: &'static str) {
        *self.shared.lose_reply_to.lock().expect("nobody panics here") = Some(text);
    }

    pub fn lost_replies(&self) -> usize {
        self.shared.lost_replies.load(Ordering::SeqCst)
    }
}

async fn accept(
    listener: TcpListener,
    server: String,
    way: watch::Receiver<Way>,
    shared: Arc<Shared>,
) {
    while let Ok((client, _)) = listener.accept().await {
        shared.connects.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(client, server.clone(), way.clone(), Arc::clone(&shared)));
    }
}

async fn serve(
    client: TcpStream,
    server: String,
    mut way: watch::Receiver<Way>,
    shared: Arc<Shared>,
) {
    if *way.borrow_and_update() == Way::Shut {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let lose = Arc::new(AtomicBool::new(false));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let there = requests(from_client, to_server, way.clone(), Arc::clone(&shared), lose.clone());
    let back = replies(from_server, to_client, way.clone(), shared, lose);
    tokio::select! {
        () = there => {}
        () = back => {}
        _ = way.wait_for(|way| *way == Way::Shut) => {}
    }
}

/// Waits for ever once this connection has met a time of swallowing.
async fn pass(way: &mut watch::Receiver<Way>) {
    if *way.borrow_and_update() == Way::Swallows {
        std::future::pending::<()>().await;
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut way: watch::Receiver<Way>,
    shared: Arc<Shared>,
    lose: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 1 << 16];
    // A statement is prepared in one message and carried out by the next.
    let mut prepared = false;
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        pass(&mut way).await;
        if prepared {
            prepared = false;
            lose.store(true, Ordering::SeqCst);
        } else {
            let mut wanted = shared.lose_reply_to.lock().expect("nobody panics here");
            prepared = wanted.is_some_and(|text| {
                buffer[..count].windows(text.len()).any(|window| window == text.as_bytes())
            });
            if prepared {
                *wanted = None;
            }
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

async fn replies(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut way: watch::Receiver<Way>,
    shared: Arc<Shared>,
    lose: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        pass(&mut way).await;
        if lose.load(Ordering::SeqCst) {
            shared.lost_replies.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
