//! HTTP and web sockets as adapters need them: addresses, a bounded body, a file, a socket, and what it
//! means when one of them breaks. Nothing here knows of a platform.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, Url};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::Content;
use crate::providers::http::{client_for, deepest};

/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long a file may take, either way.
pub(super) const FILE_TIME_MAX: Duration = Duration::from_secs(180);
/// Largest frame that a platform may send, in bytes.
const FRAME_BYTES_MAX: usize = 16 << 20;
/// How often a file is tried to be fetched.
const FETCH_TRIES: usize = 2;

/// A web socket to a platform.
pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a body was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    Broken(Broken),
}

/// A client for the server at `base_url`, and that address.
///
/// # Errors
/// What is wrong with the address.
pub(super) fn client(base_url: &str) -> Result<(Client, Url), String> {
    let url = Url::parse(base_url).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("its scheme is `{}`", url.scheme()));
    }
    let client = client_for(base_url, CONNECT_MAX).map_err(|error| error.to_string())?;
    Ok((client, url))
}

/// Why there is no answer; without the address, which may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// No connection stood: what was asked was certainly not done.
    Unreachable(String),
    /// It was asked and not answered: it may have been done.
    Unanswered(String),
}

/// What an error of the client means.
pub(super) fn broken(error: reqwest::Error) -> Broken {
    let not_asked = error.is_connect() || error.is_builder();
    let late = error.is_timeout();
    let text = if late { "timed out".to_owned() } else { deepest(&error.without_url()) };
    match not_asked {
        true => Broken::Unreachable(text),
        false => Broken::Unanswered(text),
    }
}

/// `url` with these segments behind its path, each escaped as it needs.
pub(super) fn below(url: &Url, segments: &[&str]) -> Url {
    let mut url = url.clone();
    // An address of HTTP always has a path.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// The whole body, of at most `bytes_max`.
pub(super) async fn body(mut response: Response, bytes_max: u64) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await.map_err(|error| Unread::Broken(broken(error)))? {
            None => return Ok(bytes),
            Some(chunk) => bytes.extend_from_slice(&chunk),
        }
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max {
            return Err(Unread::TooLarge);
        }
    }
}

/// A file that came with a message: `request` asks for it, `declared` is its size as it was told.
pub(super) async fn content(
    request: impl Fn() -> RequestBuilder,
    declared: Option<u64>,
    bytes_max: u64,
) -> Content {
    if let Some(bytes) = declared.filter(|bytes| *bytes > bytes_max) {
        return Content::Left(format!("{}, over the limit of {}", size(bytes), size(bytes_max)));
    }
    let mut why = String::new();
    for _ in 0..FETCH_TRIES {
        let response = match request().timeout(FILE_TIME_MAX).send().await {
            Ok(response) => response,
            Err(error) => {
                why = said(broken(error));
                continue;
            }
        };
        let status = response.status().as_u16();
        if status != 200 {
            why = format!("the file server says {status}");
            continue;
        }
        match body(response, bytes_max).await {
            Ok(bytes) => return Content::Bytes(bytes),
            Err(Unread::TooLarge) => return Content::Left(format!("over the limit of {}", size(bytes_max))),
            Err(Unread::Broken(broken)) => why = said(broken),
        }
    }
    Content::Left(format!("it could not be fetched: {why}"))
}

fn said(broken: Broken) -> String {
    match broken {
        Broken::Unreachable(why) | Broken::Unanswered(why) => why,
    }
}

/// A size as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// A web socket that stands.
///
/// # Errors
/// Why it does not; without the address, which may hold a ticket.
pub(super) async fn socket(url: &str) -> Result<Socket, String> {
    let mut config = WebSocketConfig::default();
    (config.max_message_size, config.max_frame_size) = (Some(FRAME_BYTES_MAX), Some(FRAME_BYTES_MAX));
    match timeout(CONNECT_MAX, connect_async_with_config(url, Some(config), true)).await {
        Err(_) => Err(format!("no web socket within {} s", CONNECT_MAX.as_secs())),
        Ok(Err(error)) => Err(unsocketed(&error)),
        Ok(Ok((socket, _))) => Ok(socket),
    }
}

/// What is wrong with a web socket; without its address.
pub(super) fn unsocketed(error: &Error) -> String {
    match error {
        Error::Url(_) => "no web socket can be opened at the address".to_owned(),
        Error::Http(response) => format!("the web socket was refused with {}", response.status().as_u16()),
        error => error.to_string(),
    }
}

/// A number below 1, evenly spread; for pauses that shall not be everybody's at once.
pub(super) fn jitter() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_an_address_is_escaped_and_only_http_is_taken() {
        let (_, url) = client("http://127.0.0.1:1/api/v10/").unwrap();
        let below = below(&url, &["reactions", "👍", "a/../b?c"]);
        assert_eq!(below.as_str(), "http://127.0.0.1:1/api/v10/reactions/%F0%9F%91%8D/a%2F..%2Fb%3Fc");
        assert!(client("ftp://host").is_err() && client("nowhere").is_err());
    }

    #[test]
    fn jitter_is_below_one() {
        assert!((0..100).all(|_| (0.0..1.0).contains(&jitter())));
    }

    #[tokio::test]
    async fn a_socket_that_cannot_be_had_does_not_tell_its_address() {
        let error = socket("wss:///?ticket=s3cret").await.unwrap_err();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
