//! `kinds.smtp_…`: who takes the mails of `send_email` jobs.

use std::path::Path;

use longshore_kinds::{Mailer, Secret, SmtpConfig};

use super::KindsSettings;
use crate::settings::{TokenText, listed};

impl KindsSettings {
    /// `None` without a server.
    pub(super) fn mailer(&self) -> Result<Option<Mailer>, String> {
        let server = self.smtp_server.trim();
        if server.is_empty() {
            return Ok(None);
        }
        let setting = |name: &str, why: String| format!("kinds.{name}: {why}");
        let from = match self.smtp_from.trim() {
            "" => None,
            text => Some(SmtpConfig::sender(text).map_err(|why| setting("smtp_from", why))?),
        };
        let security =
            self.smtp_security.trim().parse().map_err(|why| setting("smtp_security", why))?;
        let ca_file = Some(self.smtp_ca_file.clone()).filter(|file| !file.as_os_str().is_empty());
        let password = ("smtp_password", &self.smtp_password, self.smtp_password_file.as_path());
        let config = SmtpConfig {
            server: server.to_owned(),
            security,
            ca_file,
            user: self.smtp_user.trim().to_owned(),
            password: secret(password)?,
            from,
            senders: listed(&self.smtp_senders).map(str::to_owned).collect(),
            recipients: self.smtp_recipients,
            bytes: self.smtp_bytes,
            timeout: self.smtp_timeout.0,
        };
        Mailer::new(config).map(Some).map_err(|why| format!("kinds.{why}"))
    }
}

/// The secret of a setting, or what the first line of the file beside it says.
pub(super) fn secret((name, given, file): (&str, &TokenText, &Path)) -> Result<Secret, String> {
    if file.as_os_str().is_empty() {
        return Ok(given.reveal().into());
    }
    if !given.reveal().is_empty() {
        return Err(format!("kinds.{name} and kinds.{name}_file are both set; which one counts?"));
    }
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("kinds.{name}_file is {}: {error}", file.display()))?;
    Ok(text.lines().next().unwrap_or_default().into())
}
