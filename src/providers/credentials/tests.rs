use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use herm_schema::events::FailureClass;

use super::*;
use crate::config::Secret;
use crate::providers::http::auth::{Authorize, Header};

fn entry(id: &str, held: Held) -> Entry {
    Entry { provider: "openai".into(), id: id.into(), label: None, added_at: String::new(), held }
}

fn account(id: &str, token_url: &str) -> Entry {
    entry(
        id,
        Held::Oauth(Tokens {
            access: Secret::new("old-access"),
            refresh: Secret::new(format!("refresh-{id}")),
            expires_at: Some(1),
            token_url: token_url.to_owned(),
            client_id: "client".into(),
            quarantined: None,
        }),
    )
}

/// A token server: answers each request with what `answer` says of its body. Counts them.
fn token_server(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/token", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let read = stream.read(&mut buffer).unwrap();
                request.extend(&buffer[..read]);
                let text = String::from_utf8_lossy(&request);
                let length = text.to_lowercase();
                let length = length
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.lines().next()?.parse().ok());
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
                if read == 0 || body.zip(length).is_some_and(|(body, length): (usize, usize)| body >= length)
                {
                    break;
                }
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let text = String::from_utf8_lossy(&request).into_owned();
            let (status, body) = answer(text.split_once("\r\n\r\n").unwrap().1);
            let head =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all((head + body.as_str()).as_bytes()).unwrap();
        }
    });
    (url, count)
}

fn renewal(_: &str) -> (u16, String) {
    (200, r#"{"access_token":"new-access","refresh_token":"new-refresh","expires_in":3600}"#.to_owned())
}

fn store_with(entries: Vec<Entry>) -> (tempfile::TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::of(home.path());
    store.change(|all| all.extend(entries)).unwrap();
    (home, store)
}

#[test]
fn what_is_kept_is_closed_to_others_and_read_back() {
    let key = entry("1", Held::Key { secret: Secret::new("sk-12345678") });
    let command = entry("2", Held::Command { command: "op read x".into() });
    let (_home, store) = store_with(vec![key.clone(), command.clone()]);
    std::fs::set_permissions(store.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    store.change(|all| all[0].label = Some("work".into())).unwrap();
    let mode = std::fs::metadata(store.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let read = store.read().unwrap();
    assert_eq!((read[0].label.as_deref(), &read[1]), (Some("work"), &command));
    assert_eq!(key.fingerprint(), Secret::new("sk-12345678").fingerprint());
    assert!(!format!("{read:?}{}", read[0].described()).contains("12345678"));
}

#[test]
fn a_damaged_file_is_not_repeated_and_not_replaced() {
    let (_home, store) = store_with(vec![]);
    std::fs::write(store.path(), "{\"version\":1,\"entries\":[sk-secret").unwrap();
    let told = store.read().unwrap_err().to_string();
    assert!(told.contains("line 1") && !told.contains("secret"), "{told}");
    assert!(store.change(|all| all.clear()).is_err());
    assert!(std::fs::read_to_string(store.path()).unwrap().contains("sk-secret"));
    std::fs::write(store.path(), "{\"version\":9,\"entries\":[]}").unwrap();
    assert!(store.read().unwrap_err().to_string().contains("version 9"));
}

#[tokio::test]
async fn a_command_tells_its_secret_once() {
    let home = tempfile::tempdir().unwrap();
    let mark = home.path().join("ran");
    let fetch = Fetch::command(&format!("echo x >> {}; echo ' the-key '", mark.display()));
    let (one, two) = tokio::join!(fetch.secret(), fetch.secret());
    assert_eq!((one.unwrap().reveal(), two.unwrap().reveal()), ("the-key", "the-key"));
    assert_eq!(std::fs::read_to_string(mark).unwrap().lines().count(), 1);
    assert_eq!(fetch.known(), [Secret::new("the-key")]);
}

#[tokio::test]
async fn a_command_that_fails_hangs_or_says_nothing_is_told_without_its_output() {
    let told = async |line: &str| {
        let fetch = Fetch::command(line).within(Duration::from_millis(200));
        fetch.secret().await.unwrap_err().to_string()
    };
    assert!(told("echo half-a-secret; exit 3").await.ends_with("exit status: 3"));
    assert!(told("sleep 60").await.contains("did not end"));
    assert!(told("true").await.ends_with("printed nothing"));
    assert!(told("printf 'a\\nb'").await.contains("more than one line"));
}

#[tokio::test]
async fn a_secret_that_is_refused_is_asked_for_again_and_not_over_and_over() {
    let folder = tempfile::tempdir().unwrap();
    let (vault, mark) = (folder.path().join("vault"), folder.path().join("mark"));
    let fetch = Fetch::command(&format!("echo x >> {}; cat {}", mark.display(), vault.display()));
    std::fs::write(&vault, "one").unwrap();
    assert_eq!(fetch.secret().await.unwrap(), Secret::new("one"));
    std::fs::write(&vault, "two").unwrap();
    let (first, second) = tokio::join!(fetch.renew(), fetch.renew());
    assert!(first && second, "whoever was refused at the same time hears of it");
    assert_eq!(fetch.secret().await.unwrap(), Secret::new("two"));
    assert_eq!(fetch.known(), ["one", "two"].map(Secret::new));
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "x\nx\n");

    let same = Fetch::command("echo one");
    same.secret().await.unwrap();
    assert!(!same.renew().await);
    let broken = Fetch::command(&format!("cat {0} && rm {0}", vault.display()));
    broken.secret().await.unwrap();
    assert!(!broken.renew().await);
    assert_eq!(broken.secret().await.unwrap(), Secret::new("two"), "what cannot be had changes nothing");
}

#[tokio::test]
async fn a_fetched_key_is_put_on_the_request_and_known_to_the_redaction() {
    let make: lazy::Make = Arc::new(|secret| Ok(Arc::new(Header::bearer(secret))));
    let lazy = Lazy::new(Arc::new(Fetch::command("echo the-key")), "key-1".into(), make);
    assert!(lazy.secrets().is_empty());
    let mut request = reqwest::Request::new(reqwest::Method::GET, "http://h/".parse().unwrap());
    lazy.authorize(&mut request).await.unwrap();
    assert_eq!(request.headers()["authorization"], "Bearer the-key");
    assert_eq!(lazy.secrets(), [Secret::new("the-key")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_callers_at_once_renew_a_token_once() {
    let (url, count) = token_server(renewal);
    let (_home, store) = store_with(vec![account("a", &url)]);
    let observed = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&observed);
    let tokens = Oauth::new(store.clone(), "a").observed(Arc::new(move |renewed: Refreshed| {
        assert_eq!(renewed.before, Secret::new("refresh-a").fingerprint());
        seen.fetch_add(1, Ordering::SeqCst);
    }));
    let tokens = Arc::new(tokens);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let tokens = Arc::clone(&tokens);
            tokio::spawn(async move { tokens.secret().await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Secret::new("new-access"));
    }
    assert_eq!((count.load(Ordering::SeqCst), observed.load(Ordering::SeqCst)), (1, 1));
    let read = store.read().unwrap();
    assert!(read[0].secrets().contains(&Secret::new("new-refresh")));
    assert_eq!(read[0].fingerprint(), account("a", "x").fingerprint(), "renewing does not rename it");
}

#[tokio::test]
async fn a_refusal_quarantines_its_own_account_only() {
    let (url, count) = token_server(|body| match body.contains("refresh-bad") {
        true => {
            (400, r#"{"error":"invalid_grant","error_description":"refresh-bad was used before"}"#.into())
        }
        false => renewal(body),
    });
    let (_home, store) = store_with(vec![account("bad", &url), account("good", &url)]);
    let bad = Oauth::new(store.clone(), "bad");
    let failure = bad.secret().await.unwrap_err();
    assert_eq!(failure.class, FailureClass::AuthPermanent);
    assert!(!failure.message.contains("refresh-bad"), "{}", failure.message);
    assert!(bad.secret().await.is_err());
    assert_eq!(count.load(Ordering::SeqCst), 1, "a refused token is not sent again");
    assert_eq!(Oauth::new(store, "good").secret().await.unwrap(), Secret::new("new-access"));
}

#[tokio::test]
async fn a_server_that_fails_today_quarantines_nothing() {
    let (url, _) = token_server(|_| (503, "oops".into()));
    let (_home, store) = store_with(vec![account("a", &url)]);
    let failure = Oauth::new(store.clone(), "a").secret().await.unwrap_err();
    assert_eq!(failure.class, FailureClass::ServerError);
    let Held::Oauth(tokens) = store.read().unwrap().remove(0).held else { panic!() };
    assert_eq!(tokens.quarantined, None);
}

#[tokio::test]
async fn who_logs_in_anew_during_a_renewal_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::of(home.path());
    let meanwhile = store.clone();
    let (url, _) = token_server(move |body| {
        meanwhile
            .change(|all| {
                let Held::Oauth(tokens) = &mut all[0].held else { panic!() };
                tokens.access = Secret::new("login-access");
                tokens.refresh = Secret::new("login-refresh");
                tokens.expires_at = None;
            })
            .unwrap();
        renewal(body)
    });
    store.change(|all| all.push(account("a", &url))).unwrap();
    assert_eq!(Oauth::new(store.clone(), "a").secret().await.unwrap(), Secret::new("login-access"));
    assert!(store.read().unwrap()[0].secrets().contains(&Secret::new("login-refresh")));
}

#[tokio::test]
async fn a_token_goes_only_to_a_server_that_can_be_trusted() {
    let (_home, store) = store_with(vec![account("a", "http://192.0.2.1/token")]);
    let failure = Oauth::new(store, "a").secret().await.unwrap_err();
    assert!(failure.message.contains("not https"), "{}", failure.message);
}
