//! The server: where it is and how it is spoken to.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use lettre::Address;
use lettre::message::Mailbox;
use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::extension::ClientId;

use super::{SendEmail, Sent, compose, session};
use crate::error::KindError;
use crate::secret::{Masker, Secret};

/// How a connection is kept from listeners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// It begins in the clear and must become TLS before anything is said (port 587). There is no way back.
    #[default]
    StartTls,
    /// TLS from the start (port 465).
    Tls,
    /// In the clear. With a password only to this machine itself.
    None,
}

impl FromStr for SmtpSecurity {
    type Err = String;

    fn from_str(text: &str) -> Result<SmtpSecurity, String> {
        match text {
            "starttls" => Ok(SmtpSecurity::StartTls),
            "tls" => Ok(SmtpSecurity::Tls),
            "none" => Ok(SmtpSecurity::None),
            _ => Err("it is one of starttls, tls and none".to_owned()),
        }
    }
}

/// What `send_email` jobs may do, and through whom.
#[derive(Clone, Debug)]
pub struct SmtpConfig {
    /// The server: `mail.example.org:587`.
    pub server: String,
    /// Default STARTTLS.
    pub security: SmtpSecurity,
    /// A file of PEM certificates: the authorities that the server's may be from, in place of Mozilla's, which are compiled
    /// in. Default: none.
    pub ca_file: Option<PathBuf>,
    /// Who signs in. Default: empty, nobody.
    pub user: String,
    /// With which password.
    pub password: Secret,
    /// Who is said to have written a mail that names nobody. Default: none; then each must.
    pub from: Option<Mailbox>,
    /// Who else may be said to have: whole addresses, and `@example.org` for all of a domain. Default: nobody.
    pub senders: Vec<String>,
    /// The most recipients of one mail. Default 50.
    pub recipients: usize,
    /// The most bytes of one mail as it is sent; attachments take a third more than they have. Default 10 MiB.
    pub bytes: u64,
    /// How long the server may be silent at each step. It may take ten times that over the mail itself. Default 30 s.
    pub timeout: Duration,
}

impl Default for SmtpConfig {
    fn default() -> SmtpConfig {
        SmtpConfig {
            server: String::new(),
            security: SmtpSecurity::default(),
            ca_file: None,
            user: String::new(),
            password: Secret::default(),
            from: None,
            senders: Vec::new(),
            recipients: 50,
            bytes: 10 << 20,
            timeout: Duration::from_secs(30),
        }
    }
}

impl SmtpConfig {
    /// Whether somebody of this address may be said to have written a mail.
    pub(super) fn allows(&self, address: &Address) -> bool {
        let is_default = self.from.as_ref().is_some_and(|from| same(&from.email, address));
        let domain = |entry: &str| {
            entry.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(address.domain()))
        };
        let whole = |entry: &str| entry.parse().is_ok_and(|allowed| same(&allowed, address));
        is_default || self.senders.iter().any(|entry| domain(entry) || whole(entry))
    }

    /// What a text names as its sender.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub fn sender(text: &str) -> Result<Mailbox, String> {
        text.parse().map_err(|_| format!("`{text}` is no address"))
    }
}

fn same(a: &Address, b: &Address) -> bool {
    a.user() == b.user() && a.domain().eq_ignore_ascii_case(b.domain())
}

/// Hands mails to one server, each on a connection of its own: one that was left in the middle of a mail, as a cancel
/// does it, takes what comes next for more of it.
#[derive(Clone)]
pub struct Mailer {
    pub(super) config: SmtpConfig,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) hello: ClientId,
    /// `None` without TLS.
    pub(super) tls: Option<TlsParameters>,
    pub(super) masker: Masker,
}

impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mailer").field(&self.config).finish()
    }
}

impl Mailer {
    /// Looks whether the settings make sense; speaks to nobody.
    ///
    /// # Errors
    /// A sentence that begins with the name of the setting, without `kinds.`.
    pub fn new(config: SmtpConfig) -> Result<Mailer, String> {
        let (host, port) = host_and_port(&config.server)?;
        if config.user.is_empty() != config.password.is_empty() {
            return Err("smtp_user and smtp_password belong together; one of them is empty".into());
        }
        if config.security == SmtpSecurity::None
            && !config.user.is_empty()
            && !may_be_this_machine(&host)
        {
            return Err(format!(
                "smtp_security = \"none\" would show the password to whoever listens on the way to {host}; \
                 use starttls or tls"
            ));
        }
        for entry in &config.senders {
            let domain = entry.strip_prefix('@').is_some_and(|name| !name.is_empty());
            if !domain && entry.parse::<Address>().is_err() {
                return Err(format!(
                    "smtp_senders has `{entry}`; write addresses, or `@example.org` for all of a domain"
                ));
            }
        }
        let tls = match config.security {
            SmtpSecurity::None => None,
            SmtpSecurity::StartTls | SmtpSecurity::Tls => {
                Some(tls(&host, config.ca_file.as_deref())?)
            }
        };
        let hello = match &config.from {
            Some(from) if from.email.domain().is_ascii() => {
                ClientId::Domain(from.email.domain().to_owned())
            }
            _ => ClientId::default(),
        };
        let masker = Masker::new([config.password.reveal()]);
        Ok(Mailer { config, host, port, hello, tls, masker })
    }

    /// What it signs in with; empty without.
    pub fn password(&self) -> &Secret {
        &self.config.password
    }

    /// Does the work of one `send_email` job of this id. Dropped, it leaves the connection, and the server forgets what it
    /// has of the mail.
    ///
    /// # Errors
    /// See [`KindError`]. After [`KindError::Mail`] the server may have the mail all the same if the connection broke while it
    /// answered; the next attempt has the same `Message-ID`.
    pub async fn send(&self, job: &SendEmail, id: &str) -> Result<Sent, KindError> {
        let letter = compose::letter(job, &self.config, id)?;
        let response = session::deliver(self, &letter).await?;
        Ok(Sent { message_id: letter.message_id, response })
    }
}

fn host_and_port(server: &str) -> Result<(String, u16), String> {
    let wrong = || format!("smtp_server is `{server}`; write `mail.example.org:587`");
    let (host, port) = server.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_name =
        |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let fits = !host.is_empty() && (is_name(host) || host.parse::<IpAddr>().is_ok());
    if fits { Ok((host.to_owned(), port)) } else { Err(wrong()) }
}

/// As far as its name tells; the connection tells for sure.
fn may_be_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// With a file: the authorities in it and no others. Without: Mozilla's.
fn tls(host: &str, ca_file: Option<&Path>) -> Result<TlsParameters, String> {
    let mut builder = TlsParameters::builder(host.to_owned());
    match ca_file {
        None => builder = builder.certificate_store(CertificateStore::WebpkiRoots),
        Some(file) => {
            let wrong = |why: String| format!("smtp_ca_file is {}: {why}", file.display());
            let pem = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
            if !pem.windows(27).any(|part| part == b"-----BEGIN CERTIFICATE-----") {
                return Err(wrong("there is no certificate in it; it is to be PEM".to_owned()));
            }
            let authority =
                Certificate::from_pem(&pem).map_err(|error| wrong(error.to_string()))?;
            builder =
                builder.certificate_store(CertificateStore::None).add_root_certificate(authority);
        }
    }
    builder.build().map_err(|error| format!("smtp_server: no TLS to {host}: {error}"))
}
