//! Against servers on this machine, which is let pass where a test serves from it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::providers::BoxFuture;
use crate::tools::web::guard::LookUp;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Answers each question with the next of its answers, the last again and again.
struct Names {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl LookUp for Names {
    fn look_up<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed).min(self.answers.len() - 1);
        Box::pin(async move { Ok(self.answers[asked].clone()) })
    }
}

fn fetcher(answers: &[&[IpAddr]]) -> (Fetcher, Arc<Names>) {
    let answers = answers.iter().map(|answer| answer.to_vec()).collect();
    let names = Arc::new(Names { answers, asked: AtomicUsize::new(0) });
    let guard = Guard::new(false, vec!["blocked.example".into()]).with(names.clone(), &[HERE]);
    (Fetcher::new(&guard), names)
}

/// Serves the same bytes to everybody, then what `more` writes; its port, and how often it was asked.
async fn serve(answer: impl Into<Vec<u8>>, endless: bool) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (answer, count) = (answer.into(), Arc::new(AtomicUsize::new(0)));
    let asked = count.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            asked.fetch_add(1, Ordering::Relaxed);
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                drop(socket.read(&mut request).await);
                drop(socket.write_all(&answer).await);
                while endless && socket.write_all(&[b'x'; 16 << 10]).await.is_ok() {}
                drop(socket.shutdown().await);
            });
        }
    });
    (port, count)
}

fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n").into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn moved(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn a_page_is_fetched() {
    let (port, _) = serve(ok("content-type: Text/HTML; charset=utf-8\r\n", b"<p>hello"), false).await;
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let fetched = fetcher.get(&format!("http://site.example:{port}/a"), 1_000).await.unwrap();
    assert_eq!((fetched.bytes.as_slice(), fetched.cut), (b"<p>hello".as_slice(), false));
    assert_eq!(fetched.content_type, "text/html; charset=utf-8");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_connected_to() {
    let (port, asked) = serve(ok("", b"secret"), false).await;
    for answer in [&[ELSEWHERE][..], &[HERE, ELSEWHERE][..], &["::ffff:127.0.0.2".parse().unwrap()][..]] {
        let (fetcher, _) = fetcher(&[answer]);
        let error = fetcher.get(&format!("http://inside.example:{port}/"), 1_000).await.unwrap_err();
        assert!(matches!(error, Error::Refused(Refused::Private { .. })), "{error}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn every_redirection_is_judged() {
    let (inside, asked) = serve(ok("", b"secret"), false).await;
    for target in [
        format!("http://127.0.0.2:{inside}/"),
        format!("http://[::1]:{inside}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://2130706434/".into(),
        "file:///etc/passwd".into(),
        "http://www.blocked.example/".into(),
    ] {
        let (port, _) = serve(moved(&target), false).await;
        let (fetcher, _) = fetcher(&[&[HERE]]);
        let error = fetcher.get(&format!("http://site.example:{port}/"), 1_000).await.unwrap_err();
        assert!(matches!(error, Error::RefusedOnTheWay { .. }), "{target}: {error}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let (end, _) = serve(ok("", b"the end"), false).await;
    let (port, _) = serve(moved(&format!("http://other.example:{end}/x")), false).await;
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let fetched = fetcher.get(&format!("http://site.example:{port}/"), 1_000).await.unwrap();
    assert_eq!((fetched.bytes.as_slice(), fetched.url.path()), (b"the end".as_slice(), "/x"));
}

#[tokio::test]
async fn a_name_that_answers_otherwise_the_second_time_gains_nothing() {
    let (port, asked) = serve(moved("/again"), false).await;
    // Judged and connected to with one answer; the redirection asks anew and is judged anew.
    let (fetcher, names) = fetcher(&[&[HERE], &[ELSEWHERE]]);
    let error = fetcher.get(&format!("http://rebinding.example:{port}/"), 1_000).await.unwrap_err();
    assert!(matches!(error, Error::RefusedOnTheWay { .. }), "{error}");
    assert_eq!((names.asked.load(Ordering::Relaxed), asked.load(Ordering::Relaxed)), (2, 1));
}

#[tokio::test]
async fn redirections_end() {
    let (port, asked) = serve(moved("/on"), false).await;
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let error = fetcher.get(&format!("http://site.example:{port}/"), 1_000).await.unwrap_err();
    assert!(matches!(error, Error::TooManyRedirects { .. }), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), REDIRECTS_MAX + 1);
}

#[tokio::test]
async fn a_body_without_an_end_is_cut() {
    let (port, _) = serve(ok("content-type: text/plain\r\n", b""), true).await;
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let fetched = fetcher.get(&format!("http://site.example:{port}/"), 100_000).await.unwrap();
    assert_eq!((fetched.bytes.len(), fetched.cut), (100_000, true));
}

/// 64 MiB of zeros, in some 64 KiB: a gzip member of one deflate block after another.
fn bomb() -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    (0..64).for_each(|_| encoder.write_all(&zeros).unwrap());
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_compressed_body_counts_as_what_it_is_unpacked() {
    let packed = bomb();
    assert!(packed.len() < 200_000);
    let (port, _) = serve(ok("content-encoding: gzip\r\n", &packed), false).await;
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let fetched = fetcher.get(&format!("http://site.example:{port}/"), 1 << 20).await.unwrap();
    assert_eq!((fetched.bytes.len(), fetched.cut), (1 << 20, true));
}

#[tokio::test]
async fn a_server_that_drips_is_left_in_time() {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        drop(socket.read(&mut request).await);
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        drop(socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await);
        while socket.write_all(b"x").await.is_ok() {
            tick.tick().await;
        }
    });
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let fetcher = fetcher.with_time(Duration::from_millis(300));
    let error = fetcher.get(&format!("http://site.example:{port}/"), 1 << 20).await.unwrap_err();
    assert!(matches!(error, Error::TooLate { .. }), "{error}");
}

#[tokio::test]
async fn what_a_server_refuses_is_told() {
    let (port, _) =
        serve("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", false).await;
    let (fetcher, _) = fetcher(&[&[HERE]]);
    let error = fetcher.get(&format!("http://site.example:{port}/"), 1_000).await.unwrap_err();
    assert!(error.to_string().ends_with("answers 404 Not Found"), "{error}");
}
