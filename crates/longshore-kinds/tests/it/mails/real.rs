//! Debian's OpenSMTPD: a mail that arrives twice is told by its Message-ID.
//!
//! In the clear: with Debian 12's OpenSSL it cannot sign a handshake (any client is told "internal error").

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use longshore_kinds::{Attachment, SendEmail};

use super::{MESSAGE_ID, config, send, to};

/// Its program, where Debian puts it, off the path of most people.
const PROGRAM: &str = "/usr/sbin/smtpd";

/// A server with a namespace of its own for its queue and its socket, whose places are compiled in.
struct Real {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Real {
    /// `None`, and a line that says so, where it is missing or we are not root, whom it wants.
    fn start() -> Option<Real> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !Path::new(PROGRAM).exists() {
            assert!(
                !is_root || std::env::var("CI").is_err(),
                "smtpd is missing: run scripts/setup-tests"
            );
            println!("left out: OpenSMTPD (as root, run scripts/setup-tests)");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
        let port = port.expect("a free port").port();
        let at = folder.path().display().to_string();
        fs::create_dir(folder.path().join("mail")).expect("a folder");
        // It delivers as nobody.
        for open in [folder.path(), &folder.path().join("mail")] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o777)).expect("ours");
        }
        let config = format!(
            "listen on 127.0.0.1 port {port}\n\
             action keep maildir \"{at}/mail\" virtual {{ \"@\" = nobody }}\n\
             match from any for domain \"example.org\" action keep\n"
        );
        fs::write(folder.path().join("smtpd.conf"), config).expect("a file");
        let script = format!(
            "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/spool && \
             mkdir -m 711 /var/spool/smtpd && exec {PROGRAM} -d -f {at}/smtpd.conf"
        );
        let log = fs::File::create(folder.path().join("log")).expect("a file");
        let child = Command::new("unshare")
            // Its children end with it.
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                &script,
            ])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("one more handle"))
            .stderr(log)
            .spawn()
            .expect("unshare runs");
        let real = Real { child, folder, port };
        real.until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(real)
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let from = Instant::now();
        while !holds() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(from.elapsed() < Duration::from_secs(30), "in vain: {what}: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn arrived(&self) -> Vec<PathBuf> {
        let Ok(folder) = fs::read_dir(self.folder.path().join("mail/new")) else {
            return Vec::new();
        };
        folder.map(|file| file.expect("it is there").path()).collect()
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A way to the server that breaks when the server has all of a mail, and says so.
fn breaking_way(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it listens").port();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut server = TcpStream::connect(("127.0.0.1", to)).expect("it listens");
        let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let has_all = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_all);
        std::thread::spawn(move || {
            let (mut buffer, mut sent) = ([0; 4_096], Vec::new());
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                sent.extend_from_slice(&buffer[..read]);
                ended.store(sent.ends_with(b"\r\n.\r\n"), Ordering::SeqCst);
                into.write_all(&buffer[..read]).expect("it reads");
            }
        });
        let mut buffer = [0; 4_096];
        while let Ok(read @ 1..) = server.read(&mut buffer) {
            if has_all.load(Ordering::SeqCst) {
                break;
            }
            client.write_all(&buffer[..read]).expect("it reads");
        }
        let _ = client.shutdown(Shutdown::Both);
    });
    port
}

#[test]
fn a_real_server_gets_the_mail_and_a_second_copy_is_told_by_its_id() {
    let Some(real) = Real::start() else { return };
    let job = SendEmail {
        attachments: vec![Attachment {
            name: "invoice.pdf".to_owned(),
            content_type: "application/pdf".to_owned(),
            content: "JVBERi0xLjQK".to_owned(),
        }],
        ..to("anna")
    };
    let broken = send(config(breaking_way(real.port)), &job).expect_err("it broke");
    assert!(!broken.is_permanent(), "{broken}");
    let sent = send(config(real.port), &job).expect("it is taken");
    assert!(sent.response.starts_with("250 ") && sent.message_id == MESSAGE_ID, "{sent:?}");
    real.until("both copies arrive", || real.arrived().len() == 2);
    for copy in real.arrived() {
        let text = fs::read_to_string(copy).expect("a mail");
        assert!(text.contains(&format!("Message-ID: {MESSAGE_ID}")), "{text}");
        assert!(
            text.contains("filename=\"invoice.pdf\"") && text.contains("JVBERi0xLjQK"),
            "{text}"
        );
        assert!(text.contains("It is on its way.\n.\nBye"), "{text}");
    }
}
