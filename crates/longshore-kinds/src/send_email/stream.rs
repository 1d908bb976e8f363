//! The connection, watched: what a server says is bounded, and what it says too early is not heard.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that a server may send in one connection, certificates and all. A usual one sends a few thousand.
const MOST: u64 = 1 << 20;
/// The last command in the clear.
const STARTTLS: &[u8] = b"STARTTLS\r\n";

/// A connection to a server that need not be what it seems.
#[derive(Debug)]
pub(super) struct Watched {
    inner: TcpStream,
    heard: u64,
    /// It was told to begin TLS, and has not been spoken to since: what it said.
    answer: Option<Vec<u8>>,
}

impl Watched {
    pub fn new(inner: TcpStream) -> Watched {
        Watched { inner, heard: 0, answer: None }
    }

    /// Words behind the answer to STARTTLS came in the clear, from anybody; heard later, they would pass for words of
    /// the server. (The reader of lines above us may have them by then.)
    fn hear(&mut self, new: &[u8]) -> io::Result<()> {
        self.heard += new.len() as u64;
        if self.heard > MOST {
            return Err(io::Error::other("the server says too much"));
        }
        if let Some(answer) = &mut self.answer {
            answer.extend_from_slice(new);
            if says_more_than_an_answer(answer) {
                return Err(io::Error::other("the server said more before TLS than its answer"));
            }
        }
        Ok(())
    }
}

/// Whether something stands behind the line that ends an answer: `220 go on`, not `220-go`.
fn says_more_than_an_answer(said: &[u8]) -> bool {
    let mut rest = said;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let (line, behind) = rest.split_at(end + 1);
        if line.get(3) != Some(&b'-') {
            return !behind.is_empty();
        }
        rest = behind;
    }
    false
}

impl AsyncTokioStream for Watched {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.inner.peer_addr()
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        Poll::Ready(self.hear(&buffer.filled()[before..]))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, buffer))?;
        self.answer = (buffer == STARTTLS).then(Vec::new);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_behind_the_answer_are_too_many() {
        for fine in ["", "220", "220 go\r", "220 go\r\n", "220-go\r\n220 on\r\n", "220\r\n"] {
            assert!(!says_more_than_an_answer(fine.as_bytes()), "{fine:?}");
        }
        for more in ["220 go\r\n2", "220-go\r\n220 on\r\n250 x\r\n", "220\n\n"] {
            assert!(says_more_than_an_answer(more.as_bytes()), "{more:?}");
        }
    }
}
