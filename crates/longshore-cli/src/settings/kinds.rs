//! What built-in kinds may do.

mod mail; // `kinds.smtp_…`: who takes the mails

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use longshore_kinds::{
    Allowed, Endpoint, EndpointConfig, ExecConfig, ImageLimits, KindsConfig, PoolConfig, Secret,
    SmtpConfig,
};
use serde::{Deserialize, Serialize};

use longshore_server::wire::Span;

use super::layers::text_or;
use super::{TokenText, listed};
use mail::secret;

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
    /// Where `http_request` and `webhook_delivery` may go beyond the public internet: networks, addresses and names with
    /// or without a port, separated by commas. Default: empty, nowhere.
    pub http_allow: String,
    /// Where a model writes summaries, as far as before `/chat/completions`: `https://api.example.org/v1`. Default: empty,
    /// nowhere.
    pub summary_url: String,
    /// What it is shown; or the file that holds it.
    pub summary_key: TokenText,
    /// A file whose first line is the key. Default: empty, none.
    pub summary_key_file: PathBuf,
    /// The model's name there.
    pub summary_model: String,
    /// How long its answer may take. Default 60 s.
    pub summary_timeout: Span,
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
        let [exec_programs, exec_variables, http_allow] = Default::default();
        let [smtp_server, smtp_user, smtp_from, smtp_senders] = Default::default();
        let [summary_url, summary_model] = Default::default();
        let [smtp_ca_file, smtp_password_file, summary_key_file] = Default::default();
        KindsSettings {
            files_root: ".".into(),
            exec_programs,
            exec_variables,
            exec_output_bytes: ExecConfig::default().output_bytes,
            http_allow,
            summary_url,
            summary_key: TokenText::default(),
            summary_key_file,
            summary_model,
            summary_timeout: Span(Duration::from_secs(60)),
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
        let http_allow = listed(&self.http_allow)
            .map(|text| text.parse::<Allowed>().map_err(|why| format!("kinds.http_allow: {why}")))
            .collect::<Result<_, _>>()?;
        let mailer = self.mailer()?;
        secrets.extend(mailer.iter().map(|mailer| mailer.password().clone()));
        let summaries = self.summaries()?;
        secrets.extend(summaries.iter().map(|endpoint| endpoint.key().clone()));
        let variables = listed(&self.exec_variables).map(str::to_owned).collect();
        Ok(KindsConfig {
            files_root: self.files_root.clone(),
            image_limits: ImageLimits::default(),
            http_allow,
            exec: ExecConfig { programs, variables, output_bytes: self.exec_output_bytes, secrets },
            summaries,
            pools: self.pools()?,
            mailer,
        })
    }

    /// `None` without an address.
    fn summaries(&self) -> Result<Option<Endpoint>, String> {
        let url = self.summary_url.trim();
        if url.is_empty() {
            return Ok(None);
        }
        let key = ("summary_key", &self.summary_key, self.summary_key_file.as_path());
        let config = EndpointConfig {
            url: url.to_owned(),
            key: secret(key)?,
            model: self.summary_model.trim().to_owned(),
            timeout: self.summary_timeout.0,
        };
        Endpoint::new(config).map(Some).map_err(|why| format!("kinds.{why}"))
    }

    fn pools(&self) -> Result<BTreeMap<String, PoolConfig>, String> {
        for (name, pool) in &self.pools {
            pool.check().map_err(|why| format!("kinds.pools.{name}.{why}"))?;
        }
        Ok(self.pools.clone())
    }
}
