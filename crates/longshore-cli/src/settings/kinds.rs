//! What built-in kinds may do.

mod mail; // `kinds.smtp_…`: who takes the mails

use std::collections::BTreeMap;
use std::path::PathBuf;

use longshore_kinds::{ExecConfig, ImageLimits, KindsConfig, PoolConfig, Secret, SmtpConfig};
use serde::{Deserialize, Serialize};

use longshore_server::wire::Span;

use super::layers::text_or;
use super::{TokenText, listed};

/// What built-in kinds may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KindsSettings {
    /// The folder whose files jobs may read and write. Default: the working folder.
    pub files_root: PathBuf,
    /// Programs that `exec` jobs may run, by their absolute paths, separated by commas. Default: empty, none.
    pub exec_programs: String,
    /// Names of variables that `exec` jobs may set, separated by commas. Default: empty, none.
    pub exec_variables: String,
    /// Bytes that are kept of what an `exec` job's program writes last, for each of its two outputs. Default 64 KiB.
    #[serde(deserialize_with = "text_or")]
    pub exec_output_bytes: usize,
    /// Programs that are kept running for `process_pool` jobs, by the names that these ask for. Default: none; then such jobs
    /// wait.
    pub pools: BTreeMap<String, PoolConfig>,
    /// The server that takes mails of `send_email` jobs: `mail.example.org:587`. Default: empty, none; then such jobs wait.
    pub smtp_server: String,
    /// `starttls` (it must become TLS), `tls` (from the start) or `none`. Default starttls.
    pub smtp_security: String,
    /// A file of PEM certificates: the authorities that its certificate may be from. Default: empty, Mozilla's list.
    pub smtp_ca_file: PathBuf,
    /// Who signs in there. Default: empty, nobody.
    pub smtp_user: String,
    /// With which password; or the file that holds it.
    pub smtp_password: TokenText,
    /// A file whose first line is the password. Default: empty, none.
    pub smtp_password_file: PathBuf,
    /// Who wrote a mail that does not say so. Default: empty; then each mail must.
    pub smtp_from: String,
    /// Who else may be said to have written one: addresses, or `@example.org`, separated by commas. Default: empty, nobody.
    pub smtp_senders: String,
    /// The most recipients of one mail. Default 50.
    #[serde(deserialize_with = "text_or")]
    pub smtp_recipients: usize,
    /// The most bytes of one mail as it is sent. Default 10 MiB.
    #[serde(deserialize_with = "text_or")]
    pub smtp_bytes: u64,
    /// How long the server may be silent at each step. Default 30 s.
    pub smtp_timeout: Span,
}

impl Default for KindsSettings {
    fn default() -> KindsSettings {
        let smtp = SmtpConfig::default();
        let [exec_programs, exec_variables] = Default::default();
        let [smtp_server, smtp_user, smtp_from, smtp_senders] = Default::default();
        let [smtp_ca_file, smtp_password_file] = Default::default();
        KindsSettings {
            files_root: ".".into(),
            exec_programs,
            exec_variables,
            exec_output_bytes: ExecConfig::default().output_bytes,
            pools: BTreeMap::new(),
            smtp_server,
            smtp_security: "starttls".to_owned(),
            smtp_ca_file,
            smtp_user,
            smtp_password: TokenText::default(),
            smtp_password_file,
            smtp_from,
            smtp_senders,
            smtp_recipients: smtp.recipients,
            smtp_bytes: smtp.bytes,
            smtp_timeout: Span(smtp.timeout),
        }
    }
}

impl KindsSettings {
    /// The kinds' own settings, or why they make no sense. `secrets`: those of other settings.
    pub(crate) fn config(&self, mut secrets: Vec<Secret>) -> Result<KindsConfig, String> {
        let programs: Vec<PathBuf> = listed(&self.exec_programs).map(PathBuf::from).collect();
        if let Some(program) = programs.iter().find(|program| !program.is_absolute()) {
            let program = program.display();
            return Err(format!(
                "kinds.exec_programs has `{program}`; write the whole path, such as /usr/bin/convert"
            ));
        }
        let mailer = self.mailer()?;
        secrets.extend(mailer.iter().map(|mailer| mailer.password().clone()));
        let variables = listed(&self.exec_variables).map(str::to_owned).collect();
        Ok(KindsConfig {
            files_root: self.files_root.clone(),
            image_limits: ImageLimits::default(),
            exec: ExecConfig { programs, variables, output_bytes: self.exec_output_bytes, secrets },
            pools: self.pools()?,
            mailer,
        })
    }

    fn pools(&self) -> Result<BTreeMap<String, PoolConfig>, String> {
        for (name, pool) in &self.pools {
            pool.check().map_err(|why| format!("kinds.pools.{name}.{why}"))?;
        }
        Ok(self.pools.clone())
    }
}
