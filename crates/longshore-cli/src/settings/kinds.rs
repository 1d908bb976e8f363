//! What built-in kinds may do.

use std::path::PathBuf;

use longshore_kinds::{Allowed, ExecConfig, ImageLimits, KindsConfig};
use serde::{Deserialize, Serialize};

use super::layers::text_or;
use super::listed;

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
}

impl Default for KindsSettings {
    fn default() -> KindsSettings {
        let [exec_programs, exec_variables, http_allow] = Default::default();
        let exec_output_bytes = ExecConfig::default().output_bytes;
        KindsSettings {
            files_root: ".".into(),
            exec_programs,
            exec_variables,
            exec_output_bytes,
            http_allow,
        }
    }
}

impl KindsSettings {
    /// The kinds' own settings, or why they make no sense.
    pub(crate) fn config(&self) -> Result<KindsConfig, String> {
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
        let variables = listed(&self.exec_variables).map(str::to_owned).collect();
        Ok(KindsConfig {
            files_root: self.files_root.clone(),
            image_limits: ImageLimits::default(),
            exec: ExecConfig { programs, variables, output_bytes: self.exec_output_bytes },
            http_allow,
        })
    }
}
