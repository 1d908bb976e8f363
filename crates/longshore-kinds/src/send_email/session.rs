//! The conversation with the server.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::response::Response;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::compose::Letter;
use super::mailer::{Mailer, SmtpSecurity};
use super::stream::Watched;
use crate::error::{KindError, shown_up_to};

/// So much longer than a word of the server the mail itself may take.
const MAIL_TIMES: u32 = 10;
/// How long a server is waited for that is told goodbye.
const GOODBYE: Duration = Duration::from_millis(300);
/// Of what a server says so many bytes are kept.
const MOST_WORDS: usize = 500;
/// So many refused recipients are named.
const MOST_NAMED: usize = 5;
/// Codes that say something of how we came, not of this mail: sign in first, no such password, TLS first.
const OURS: [&str; 4] = ["530", "534", "535", "538"];

/// Hands a mail over; answers what the server said to it.
pub(super) async fn deliver(mailer: &Mailer, letter: &Letter) -> Result<String, KindError> {
    let mut talk = Talk { connection: open(mailer).await?, mailer };
    let taken = talk.hand_over(letter).await;
    // It has the mail, or will not take it: that it hears of our leaving changes nothing.
    let _ = timeout(GOODBYE, talk.connection.quit()).await;
    taken
}

/// Connects, hides the connection from listeners and signs in. Whatever the server says to that speaks of the operator's
/// settings, so it is never the end of a job.
async fn open(mailer: &Mailer) -> Result<AsyncSmtpConnection, KindError> {
    let Mailer { config, host, port, hello, tls, .. } = mailer;
    let server = (host.as_str(), *port);
    let connection = match (config.security, tls) {
        (SmtpSecurity::Tls, Some(tls)) => {
            let connecting = AsyncSmtpConnection::connect_tokio1(
                server,
                Some(config.timeout),
                hello,
                Some(tls.clone()),
                None,
            );
            mailer.step("connect", connecting).await?
        }
        (_, tls) => {
            let connected = mailer.patient("connect", TcpStream::connect(server)).await?;
            let stream = connected.map_err(|error| mailer.fault("connect", error.to_string()))?;
            let is_here = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
            if tls.is_none() && !config.user.is_empty() && !is_here {
                let problem = "the way is open to listeners, and a password would be shown";
                return Err(mailer.fault("sign in", problem.to_owned()));
            }
            let stream = Box::new(Watched::new(stream));
            let greeting = AsyncSmtpConnection::connect_with_transport(stream, hello);
            let mut connection = mailer.step("be greeted", greeting).await?;
            if let Some(tls) = tls {
                if !connection.can_starttls() {
                    let problem = "the server offers no STARTTLS, and nothing is sent in the clear";
                    return Err(mailer.fault("begin TLS", problem.to_owned()));
                }
                mailer.step("begin TLS", connection.starttls(tls.clone(), hello)).await?;
            }
            connection
        }
    };
    sign_in(mailer, connection).await
}

async fn sign_in(
    mailer: &Mailer,
    mut connection: AsyncSmtpConnection,
) -> Result<AsyncSmtpConnection, KindError> {
    let config = &mailer.config;
    if !config.user.is_empty() {
        let who = Credentials::new(config.user.clone(), config.password.reveal().to_owned());
        mailer.step("sign in", connection.auth(DEFAULT_MECHANISMS, &who)).await?;
    }
    Ok(connection)
}

impl Mailer {
    /// Waits for one step, and no longer than the server may be silent.
    async fn patient<T>(
        &self,
        doing: &'static str,
        step: impl Future<Output = T>,
    ) -> Result<T, KindError> {
        self.within(self.config.timeout, doing, step).await
    }

    async fn within<T>(
        &self,
        span: Duration,
        doing: &'static str,
        step: impl Future<Output = T>,
    ) -> Result<T, KindError> {
        timeout(span, step)
            .await
            .map_err(|_| self.fault(doing, format!("the server did not answer within {span:?}")))
    }

    /// One step of the opening.
    async fn step<T>(
        &self,
        doing: &'static str,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, KindError> {
        self.patient(doing, step).await?.map_err(|error| self.fault(doing, self.words(&error)))
    }

    /// Something that may be better the next time.
    fn fault(&self, doing: &'static str, problem: String) -> KindError {
        KindError::Mail { doing, problem, permanent: false }
    }

    /// What the server said, or what became of the connection; a password that it repeats is not repeated here.
    fn words(&self, error: &Error) -> String {
        let source = error.source().map(ToString::to_string).unwrap_or_default();
        let words = match error.status() {
            Some(code) => format!("{code} {source}"),
            None if source.is_empty() => error.to_string(),
            None => source,
        };
        shown_up_to(&self.masker.text(words.trim()), MOST_WORDS)
    }
}

/// A connection on which mails may be handed over.
struct Talk<'a> {
    connection: AsyncSmtpConnection,
    mailer: &'a Mailer,
}

impl Talk<'_> {
    async fn hand_over(&mut self, letter: &Letter) -> Result<String, KindError> {
        let parameters = self.parameters(letter)?;
        let from = Mail::new(letter.envelope.from().cloned(), parameters);
        self.command("name the sender", from).await?;
        self.name_recipients(letter).await?;
        self.command("begin the mail", Data).await?;
        let span = self.mailer.config.timeout * MAIL_TIMES;
        let sending = self.connection.message(&letter.bytes);
        let doing = "hand over the mail";
        let answer = self.mailer.within(span, doing, sending).await?;
        let response = answer.map_err(|error| self.refused(doing, &error))?;
        Ok(self.said(&response))
    }

    /// What the server must know of the mail beforehand.
    fn parameters(&self, letter: &Letter) -> Result<Vec<MailParameter>, KindError> {
        let info = self.connection.server_info();
        let mut parameters = Vec::new();
        let envelope = &letter.envelope;
        let is_ascii = |address: &lettre::Address| AsRef::<str>::as_ref(address).is_ascii();
        if !envelope.from().into_iter().chain(envelope.to()).all(is_ascii) {
            if !info.supports_feature(Extension::SmtpUtfEight) {
                let problem = "an address has letters beyond ASCII, and the server takes none";
                return Err(self.for_good("name the sender", problem));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !letter.bytes.is_ascii() {
            if !info.supports_feature(Extension::EightBitMime) {
                let problem = "a header has letters beyond ASCII, and the server takes none";
                return Err(self.for_good("name the sender", problem));
            }
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        Ok(parameters)
    }

    /// All of them, or the mail goes to nobody: with some left out, a retry would reach the others twice, and a job that
    /// succeeded would have left people out. Each is asked about, so that the error names all that are refused.
    async fn name_recipients(&mut self, letter: &Letter) -> Result<(), KindError> {
        let doing = "name the recipients";
        let mut refused: Vec<String> = Vec::new();
        let (mut count, mut permanent) = (0, false);
        for (address, (field, nth)) in letter.envelope.to().iter().zip(&letter.named) {
            let command = self.connection.command(Rcpt::new(address.clone(), Vec::new()));
            let Err(error) = self.mailer.patient(doing, command).await? else { continue };
            if error.status().is_none() {
                return Err(self.refused(doing, &error)); // the connection is gone
            }
            count += 1;
            permanent |= is_permanent(&error);
            if refused.len() < MOST_NAMED {
                refused.push(format!("`{field}[{nth}]`: {}", self.mailer.words(&error)));
            }
        }
        if count == 0 {
            return Ok(());
        }
        let of = letter.named.len();
        let words = refused.join("; ");
        let problem = format!("{count} of {of} refused, so nobody gets it: {words}");
        Err(KindError::Mail { doing, problem, permanent })
    }

    async fn command(
        &mut self,
        doing: &'static str,
        command: impl std::fmt::Display,
    ) -> Result<Response, KindError> {
        let answer = self.mailer.patient(doing, self.connection.command(command)).await?;
        answer.map_err(|error| self.refused(doing, &error))
    }

    fn refused(&self, doing: &'static str, error: &Error) -> KindError {
        let problem = self.mailer.words(error);
        KindError::Mail { doing, problem, permanent: is_permanent(error) }
    }

    fn for_good(&self, doing: &'static str, problem: &str) -> KindError {
        KindError::Mail { doing, problem: problem.to_owned(), permanent: true }
    }

    fn said(&self, response: &Response) -> String {
        let words: Vec<&str> = response.message().collect();
        let whole = format!("{} {}", response.code(), words.join(" "));
        shown_up_to(&self.mailer.masker.text(whole.trim()), MOST_WORDS)
    }
}

/// Whether the server says that it will never take this mail.
fn is_permanent(error: &Error) -> bool {
    let code = error.status().map(|code| code.to_string());
    error.is_permanent() && code.is_some_and(|code| !OURS.contains(&code.as_str()))
}
