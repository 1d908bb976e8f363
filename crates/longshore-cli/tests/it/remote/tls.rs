//! Whom a server's certificate must be from.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use super::command_to;
use crate::fake::{answer, request};
use crate::harness::Place;

/// Made with openssl for 127.0.0.1 alone, for a hundred years; the authority's key is gone.
const CHAIN: &[u8] = include_bytes!("server.pem");
const KEY: &[u8] = include_bytes!("server.key");
const AUTHORITY: &[u8] = include_bytes!("ca.pem");

/// A server of TLS that answers each request with no nodes.
fn secure_server() -> String {
    let chain = CertificateDer::pem_slice_iter(CHAIN).collect::<Result<_, _>>().expect("PEM");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("PEM");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("they belong together");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("it listens"));
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let mut connection = ServerConnection::new(Arc::clone(&config)).expect("a good config");
            let mut stream = Stream::new(&mut connection, &mut socket);
            if request(&mut stream).contains("authorization: Bearer lsh_notsaid") {
                let nodes = "{\"nodes\": []}";
                let whole = answer("200 OK", "content-type: application/json\r\n", nodes);
                let _ = stream.write_all(whole.as_bytes());
            }
            connection.send_close_notify();
            let _ = connection.write_tls(&mut socket);
        }
    });
    url
}

#[test]
fn a_server_is_trusted_by_its_authority_alone() {
    let place = Place::empty();
    place.write("ca.pem", AUTHORITY);
    let url = secure_server();
    let with = |url: &str, file: &str| {
        let mut command = command_to(&place, url, &["nodes", "list"]);
        command.env("LONGSHORE_REMOTE__CA_FILE", file);
        place.said_by(command)
    };
    let said = with(&url, "ca.pem");
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert!(said.out.starts_with("ID "), "{said:?}");

    let said = with(&url, "");
    assert_eq!(said.code, 6, "{said:?}");
    assert!(
        said.err.contains("cannot be trusted") && said.err.contains("remote.ca_file"),
        "{said:?}"
    );
    // Another name than the certificate's: the authority alone is not enough.
    let said = with(&url.replace("127.0.0.1", "127.0.0.2"), "ca.pem");
    assert_eq!(said.code, 6, "{said:?}");

    place.write("empty.pem", "no certificate\n");
    for file in ["empty.pem", "missing.pem"] {
        let said = with(&url, file);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(&format!("remote.ca_file is {file}: ")), "{said:?}");
    }
}
