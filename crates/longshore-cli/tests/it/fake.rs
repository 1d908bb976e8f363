//! Servers that are none of ours, or stand between: each answers as a test wants it to.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a connection is done with, by its number from 0.
type Treat = dyn Fn(usize, TcpStream) + Send + Sync;

/// Listens on an address of its own until the test ends.
pub struct Fake {
    pub address: SocketAddr,
    /// All that it was sent, connection by connection.
    heard: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn with(treat: Box<Treat>) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let treat: Arc<Treat> = treat.into();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                let treat = Arc::clone(&treat);
                std::thread::spawn(move || treat(number, stream));
            }
        });
        Fake { address, heard: Arc::default() }
    }

    /// Answers each request with these bytes, and hangs up.
    pub fn that_says(answer: impl Into<String>) -> Fake {
        let answer = answer.into();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let notes = Arc::clone(&heard);
        let fake = Fake::with(Box::new(move |_, mut stream| {
            notes.lock().expect("nobody panics here").push(request(&mut stream));
            let _ = stream.write_all(answer.as_bytes());
        }));
        Fake { heard, ..fake }
    }

    /// Takes requests and says nothing.
    pub fn that_is_silent() -> Fake {
        Fake::with(Box::new(|_, mut stream| {
            request(&mut stream);
            std::thread::sleep(std::time::Duration::from_secs(60));
        }))
    }

    /// Stands before a server: `answer` says for each request, by its number, what is made of the server's answer.
    /// `None` for a request that is not passed on.
    pub fn before(
        server: SocketAddr,
        answer: impl Fn(usize, Passed) -> Vec<u8> + Send + Sync + 'static,
    ) -> Fake {
        Fake::with(Box::new(move |number, mut stream| {
            let asked = request(&mut stream);
            let passed = Passed { server, asked };
            let _ = stream.write_all(&answer(number, passed));
        }))
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("nobody panics here").clone()
    }
}

/// A request on its way.
pub struct Passed {
    server: SocketAddr,
    pub asked: String,
}

impl Passed {
    /// What the server says to it.
    pub fn on(self) -> Vec<u8> {
        let mut server = TcpStream::connect(self.server).expect("it listens");
        let asked = self.asked.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        server.write_all(asked.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).expect("it answers");
        answer
    }
}

/// A whole answer.
pub fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Reads one request, its body too.
pub fn request(stream: &mut impl Read) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece).unwrap_or(0);
        text.extend_from_slice(&piece[..read]);
        let so_far = String::from_utf8_lossy(&text);
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1).unwrap_or("0");
            let length: usize =
                length.lines().next().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return so_far.into_owned();
            }
        }
        if read == 0 {
            return so_far.into_owned();
        }
    }
}
