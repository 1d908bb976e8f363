//! Where a request may go: not to this machine, nor to the networks around it, unless the operator said so.
//!
//! Asked of the address that is connected to, for every connection: a name may lead elsewhere a moment later, and an
//! address may be written in many ways.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::LazyLock;

use ipnet::IpNet;

/// What is not the public internet: the IANA registries of special-purpose addresses (RFC 6890), and multicast.
const SPECIAL: [(&str, &str); 31] = [
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "reserved"),
    ("192.52.193.0/24", "reserved"),
    ("192.88.99.0/24", "reserved"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "reserved"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/96", "this machine"),
    ("64:ff9b:1::/48", "private"),
    ("100::/64", "discard"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "reserved"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "reserved"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
];

static NETWORKS: LazyLock<Vec<(IpNet, &'static str)>> = LazyLock::new(|| {
    let parse = |(text, rule): &(&str, &'static str)| (text.parse().expect("a network"), *rule);
    SPECIAL.iter().map(parse).collect()
});

/// The rule by which an address is refused; `None` on the public internet.
pub(super) fn refused(address: IpAddr) -> Option<&'static str> {
    let address = match address {
        IpAddr::V6(v6) => embedded(v6).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    NETWORKS.iter().find(|(network, _)| network.contains(&address)).map(|(_, rule)| *rule)
}

/// The IPv4 address that is really spoken to: mapped (`::ffff:a.b.c.d`), or behind a translator (`64:ff9b::a.b.c.d`).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let translated = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    let last = || Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    address.to_ipv4_mapped().or_else(|| translated.then(last))
}

/// What the operator allows beyond the public internet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Addresses of this network, on any port.
    Network(IpNet),
    /// Whatever address this name has, on this port or on any.
    Host(String, Option<u16>),
}

/// `10.1.0.0/16`, `10.1.2.3`, `hooks.internal`, `localhost:8080`.
impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowed, String> {
        if let Ok(network) = text.parse() {
            return Ok(Allowed::Network(network));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Allowed::Network(address.into()));
        }
        let (host, port) = match text.rsplit_once(':') {
            None => (text, None),
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong(text))?)),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if host.is_empty() || !host.chars().all(plain) {
            return Err(wrong(text));
        }
        Ok(Allowed::Host(host.to_ascii_lowercase(), port))
    }
}

fn wrong(text: &str) -> String {
    format!("`{text}` is no network (10.1.0.0/16), no address and no name with or without a port")
}

/// Whether a connection to this host at this address may be made; if not, by which rule.
pub(super) fn check(
    allowed: &[Allowed],
    host: &str,
    address: SocketAddr,
) -> Result<(), &'static str> {
    let Some(rule) = refused(address.ip()) else { return Ok(()) };
    let permits = |one: &Allowed| match one {
        Allowed::Network(network) => network.contains(&address.ip()),
        Allowed::Host(name, port) => {
            host.eq_ignore_ascii_case(name) && port.is_none_or(|port| port == address.port())
        }
    };
    if allowed.iter().any(permits) { Ok(()) } else { Err(rule) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_open() {
        for (address, rule) in [
            ("127.0.0.1", Some("loopback")),
            ("127.9.9.9", Some("loopback")),
            ("0.0.0.0", Some("this network")),
            ("10.0.0.1", Some("private")),
            ("172.16.0.1", Some("private")),
            ("172.31.255.255", Some("private")),
            ("192.168.1.1", Some("private")),
            ("169.254.169.254", Some("link-local")),
            ("100.64.0.1", Some("shared")),
            ("198.19.0.1", Some("benchmarking")),
            ("224.0.0.1", Some("multicast")),
            ("255.255.255.255", Some("reserved")),
            ("::", Some("this machine")),
            ("::1", Some("this machine")),
            ("::7f00:1", Some("this machine")),
            ("::ffff:127.0.0.1", Some("loopback")),
            ("::ffff:10.0.0.1", Some("private")),
            ("64:ff9b::7f00:1", Some("loopback")),
            ("64:ff9b::a9fe:a9fe", Some("link-local")),
            ("2002:7f00:1::", Some("6to4")),
            ("fd00::1", Some("unique local")),
            ("fe80::1", Some("link-local")),
            ("ff02::1", Some("multicast")),
            ("2001:db8::1", Some("documentation")),
            ("8.8.8.8", None),
            ("172.15.0.1", None),
            ("172.32.0.1", None),
            ("100.128.0.1", None),
            ("2606:4700::1", None),
            ("64:ff9b::808:808", None),
            ("::ffff:8.8.8.8", None),
        ] {
            assert_eq!(refused(address.parse().unwrap()), rule, "{address}");
        }
    }

    #[test]
    fn the_operator_opens_networks_and_names() {
        let list = ["10.1.0.0/16", "192.168.0.7", "Hooks.internal", "localhost:8080"];
        let allowed: Vec<Allowed> = list.iter().map(|text| text.parse().unwrap()).collect();
        let may = |host: &str, address: &str| check(&allowed, host, address.parse().unwrap());
        assert_eq!(may("x", "10.1.9.9:80"), Ok(()));
        assert_eq!(may("x", "10.2.0.1:80"), Err("private"));
        assert_eq!(may("x", "192.168.0.7:443"), Ok(()));
        assert_eq!(may("hooks.INTERNAL", "10.9.9.9:1"), Ok(()));
        assert_eq!(may("x.hooks.internal", "10.9.9.9:1"), Err("private"));
        assert_eq!(may("localhost", "127.0.0.1:8080"), Ok(()));
        assert_eq!(may("localhost", "127.0.0.1:8081"), Err("loopback"));
        assert_eq!(may("anything", "8.8.8.8:1"), Ok(()));
        for text in ["", "a b", "x:99999", ":80", "http://x"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
