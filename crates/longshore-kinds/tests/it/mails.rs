//! What a mail server gets, and what becomes of a job when it does not want it.

mod payloads; // what a payload may say, and that nothing of it becomes a header or a command
mod real; // Debian's OpenSMTPD: a mail that arrives twice is told by its Message-ID
mod server; // the scripted server
mod talk; // what servers say, and how it is taken

use std::path::PathBuf;
use std::time::Duration;

use longshore_kinds::{KindError, Mailer, SendEmail, Sent, SmtpConfig, SmtpSecurity};

/// Whom mails are from, unless they say otherwise.
const SHOP: &str = "The Shop <shop@example.com>";
/// The job's id.
const JOB: &str = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
const MESSAGE_ID: &str = "<019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10@example.com>";

/// Certificates that the tests of the command line have, too: of 127.0.0.1 alone.
fn certificate(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../longshore-cli/tests/it/remote").join(name)
}

fn to(recipient: &str) -> SendEmail {
    SendEmail {
        to: vec![format!("{recipient}@example.org")],
        subject: "Your order".to_owned(),
        text: Some("It is on its way.\n.\nBye\n".to_owned()),
        ..SendEmail::default()
    }
}

/// In the clear, for a server on this machine.
fn config(port: u16) -> SmtpConfig {
    SmtpConfig {
        server: format!("127.0.0.1:{port}"),
        security: SmtpSecurity::None,
        from: Some(SmtpConfig::sender(SHOP).expect("an address")),
        timeout: Duration::from_secs(20),
        ..SmtpConfig::default()
    }
}

fn send(config: SmtpConfig, job: &SendEmail) -> Result<Sent, KindError> {
    let mailer = Mailer::new(config).expect("good settings");
    runtime().block_on(mailer.send(job, JOB))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
