//! What tests speak to: a receiver that says what it was told, and a network where names lead anywhere.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Http, Network, Soon};

/// A client that may speak to this machine.
pub(crate) fn open() -> Http {
    Http::new(vec!["127.0.0.0/8".parse().expect("a network")])
}

/// Answers each connection with the next of its texts, and keeps what was sent.
pub(crate) struct Receiver {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    pub async fn of<A: AsRef<[u8]>>(answers: &[A]) -> Receiver {
        let answers: Vec<Vec<u8>> = answers.iter().map(|one| one.as_ref().to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&heard);
        tokio::spawn(async move {
            for answer in answers.iter().cycle() {
                let (mut stream, _) = listener.accept().await.expect("a caller");
                let said = read(&mut stream).await.unwrap_or_default();
                keep.lock().unwrap().push(said);
                let _ = stream.write_all(answer).await;
            }
        });
        Receiver { address, heard }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// A head, and the body that it announces.
async fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut all = Vec::new();
    loop {
        let mut buffer = [0; 4_096];
        let count = stream.read(&mut buffer).await?;
        all.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&all).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
        if body.len() >= length || count == 0 {
            return Ok(text);
        }
    }
}

/// A network where names lead to what a test says, time after time, and everybody is the receiver: no packet
/// leaves the machine.
pub(crate) struct Made {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    receiver: SocketAddr,
    reached: Mutex<Vec<IpAddr>>,
}

impl Made {
    pub fn of(answers: &[&[&str]], receiver: SocketAddr) -> Arc<Made> {
        let parse = |one: &&[&str]| one.iter().map(|text| text.parse().unwrap()).collect();
        let answers = Mutex::new(answers.iter().map(parse).collect());
        Arc::new(Made { answers, receiver, reached: Mutex::default() })
    }

    pub fn reached(&self) -> Vec<String> {
        self.reached.lock().unwrap().iter().map(IpAddr::to_string).collect()
    }
}

impl Network for Made {
    fn look_up(&self, _: String) -> Soon<Vec<IpAddr>> {
        let found = self.answers.lock().unwrap().pop_front();
        Box::pin(async { found.ok_or(io::ErrorKind::NotFound.into()) })
    }

    fn connect(&self, to: SocketAddr) -> Soon<TcpStream> {
        self.reached.lock().unwrap().push(to.ip());
        Box::pin(TcpStream::connect(self.receiver))
    }
}
