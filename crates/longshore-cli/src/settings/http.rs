//! Whether and how the API is served.

use std::net::SocketAddr;

use longshore_server::{Access, Rate, Role, ServerConfig};
use serde::{Deserialize, Serialize};

use super::layers::text_or;
use super::listed;
use crate::exit::Failure;

/// Whether and how the API is served.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HttpSettings {
    /// The address to listen on, such as `127.0.0.1:7878`. Default: empty, no API.
    pub listen: String,
    /// What whoever reaches a loopback address may do without credentials: `viewer`, `operator` or `admin`.
    /// Default: empty, nothing.
    pub anonymous: String,
    /// How many requests a token may make a second, over time. Default 100.
    #[serde(deserialize_with = "text_or")]
    pub rate: u32,
    /// And how many at once, after a pause. Default 200.
    #[serde(deserialize_with = "text_or")]
    pub burst: u32,
    /// Names by which this server may be called, separated by commas; a loopback address always has
    /// `localhost` and its own. Default: empty, any on other addresses.
    pub hosts: String,
    /// Whether `/metrics` is shown to whoever reaches the address, without credentials. Default: no.
    #[serde(deserialize_with = "text_or")]
    pub metrics_open: bool,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        let Rate { per_second: rate, burst } = Rate::default();
        let [listen, anonymous, hosts] = Default::default();
        HttpSettings { listen, anonymous, rate, burst, hosts, metrics_open: false }
    }
}

impl HttpSettings {
    /// Where to listen, if anywhere.
    pub(crate) fn address(&self) -> Result<Option<SocketAddr>, Failure> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let address = self.listen.parse().map_err(|_| {
            let listen = &self.listen;
            Failure::usage(format!(
                "http.listen is `{listen}`; write an address and a port, such as 127.0.0.1:7878"
            ))
        })?;
        Ok(Some(address))
    }

    /// The server's settings for this address. Nobody listens to the world without asking who comes.
    pub(crate) fn config(&self, address: SocketAddr) -> Result<ServerConfig, Failure> {
        let loopback = address.ip().is_loopback();
        let access = match Role::ALL.iter().find(|role| role.as_str() == self.anonymous) {
            None if self.anonymous.is_empty() => Access::Closed,
            None => {
                let given = &self.anonymous;
                let words =
                    format!("http.anonymous is `{given}`; it may be viewer, operator or admin");
                return Err(Failure::usage(words));
            }
            Some(_) if !loopback => {
                let words =
                    "http.anonymous is for loopback addresses alone: others are reached by anybody";
                return Err(Failure::usage(words));
            }
            Some(role) => Access::Open(*role),
        };
        let mut hosts: Vec<String> = listed(&self.hosts).map(str::to_lowercase).collect();
        if loopback {
            hosts.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
            hosts.push(address.ip().to_string());
        }
        let hosts = (!hosts.is_empty()).then_some(hosts);
        if self.rate == 0 || self.burst == 0 {
            return Err(Failure::usage(
                "http.rate and http.burst are at least 1: with 0 nobody could ask for anything",
            ));
        }
        let rate = Rate { per_second: self.rate, burst: self.burst };
        let metrics_open = self.metrics_open;
        Ok(ServerConfig { access, rate, hosts, metrics_open, ..ServerConfig::default() })
    }
}
