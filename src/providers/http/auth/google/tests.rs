//! Against a token server on a real loopback socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Made for these tests; it opens nothing.
const KEY: &str = include_str!("../fixtures/test_only_key.pem");

/// A token server that answers every request alike and keeps what it was asked.
struct TokenServer {
    uri: String,
    asked: Arc<Mutex<Vec<String>>>,
}

async fn serve(status: u16, lifetime_seconds: u64) -> TokenServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/token", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (kept, count) = (Arc::clone(&kept), Arc::clone(&count));
            tokio::spawn(async move { answer(stream, status, lifetime_seconds, &kept, &count).await });
        }
    });
    TokenServer { uri, asked }
}

async fn answer(
    mut stream: TcpStream,
    status: u16,
    lifetime: u64,
    kept: &Mutex<Vec<String>>,
    count: &AtomicUsize,
) {
    let mut bytes = Vec::new();
    let body = loop {
        let mut piece = [0; 4_096];
        let read = stream.read(&mut piece).await.unwrap();
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length: usize =
            head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        if body.len() >= length {
            assert!(head.contains("content-type: application/x-www-form-urlencoded"), "{head}");
            break body.to_owned();
        }
    };
    kept.lock().unwrap().push(body);
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    let body = if status == 200 {
        json!({"access_token":format!("ya29.token-{number}"),"expires_in":lifetime,"token_type":"Bearer"})
    } else {
        json!({"error":"invalid_grant","error_description":"Token has been expired or revoked. 1//refresh"})
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await;
}

fn service(uri: &str) -> Google {
    let file = json!({"type":"service_account","project_id":"proj-1","private_key_id":"kid1","private_key":KEY,
        "client_email":"herm@proj-1.iam.gserviceaccount.com","token_uri":uri});
    Google::from_json(&file.to_string()).unwrap()
}

fn user(uri: &str) -> Google {
    let file = json!({"type":"authorized_user","client_id":"id.apps","client_secret":"client-secret/1",
        "refresh_token":"1//refresh","quota_project_id":"proj-2","token_uri":uri});
    Google::from_json(&file.to_string()).unwrap()
}

async fn authorized(google: &Google) -> Result<reqwest::Request, ModelFailure> {
    let mut request = reqwest::Request::new(reqwest::Method::POST, "http://127.0.0.1/".parse().unwrap());
    google.authorize(&mut request).await.map(|()| request)
}

#[tokio::test]
async fn a_service_account_signs_for_its_token() {
    let server = serve(200, 3_600).await;
    let google = service(&server.uri);
    let request = authorized(&google).await.unwrap();
    assert_eq!(request.headers()[AUTHORIZATION], "Bearer ya29.token-1");
    assert!(request.headers()[AUTHORIZATION].is_sensitive());
    assert_eq!(google.project(), Some("proj-1"));
    let asked = server.asked.lock().unwrap()[0].clone();
    let assertion = asked
        .strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=")
        .unwrap();
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let Account::Service(signer) = &google.account else { panic!("no service account") };
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, signer.public_key())
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
    let parts: Vec<Value> = signed
        .split('.')
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    assert_eq!(parts[0], json!({"alg":"RS256","typ":"JWT","kid":"kid1"}));
    assert_eq!(parts[1]["iss"], "herm@proj-1.iam.gserviceaccount.com");
    assert_eq!(parts[1]["aud"], server.uri);
    assert_eq!(parts[1]["exp"].as_u64().unwrap() - parts[1]["iat"].as_u64().unwrap(), 3_600);
}

#[tokio::test]
async fn a_person_s_refresh_token_is_exchanged() {
    let server = serve(200, 3_600).await;
    let request = authorized(&user(&server.uri)).await.unwrap();
    assert_eq!(request.headers()["x-goog-user-project"], "proj-2");
    let expected = "grant_type=refresh_token&client_id=id.apps&client_secret=client-secret%2F1&refresh_token=1%2F%2Frefresh";
    assert_eq!(*server.asked.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn many_who_need_a_token_fetch_one() {
    let server = serve(200, 3_600).await;
    let google = user(&server.uri);
    let all = futures_util::future::join_all((0..20).map(|_| authorized(&google))).await;
    for request in all {
        assert_eq!(request.unwrap().headers()[AUTHORIZATION], "Bearer ya29.token-1");
    }
    assert_eq!(server.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_near_its_end_is_fetched_again() {
    let server = serve(200, 59).await;
    let google = user(&server.uri);
    for number in 1..=2 {
        let request = authorized(&google).await.unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], format!("Bearer ya29.token-{number}"));
    }
}

#[tokio::test]
async fn a_refusal_is_final_and_tells_no_secret() {
    let server = serve(400, 0).await;
    let failure = authorized(&user(&server.uri)).await.unwrap_err();
    assert_eq!((failure.class, failure.status), (FailureClass::AuthPermanent, Some(400)));
    assert!(failure.message.contains("no token from Google") && failure.message.contains("revoked"));
    assert!(!failure.message.contains("1//refresh"), "{}", failure.message);
}

#[tokio::test]
async fn a_token_server_that_is_away_or_broken_is_no_fault_of_the_key() {
    let away = authorized(&user("http://127.0.0.1:1/token")).await.unwrap_err();
    assert_eq!(away.class, FailureClass::Timeout);
    let server = serve(503, 0).await;
    assert_eq!(authorized(&user(&server.uri)).await.unwrap_err().class, FailureClass::Overloaded);
}

#[test]
fn what_is_no_credentials_file_is_refused_without_its_key() {
    assert!(matches!(Google::from_json("{}"), Err(GoogleError::Unreadable { .. })));
    let file = json!({"type":"service_account","private_key":"secret-key","client_email":"a@b"});
    let error = Google::from_json(&file.to_string()).err().unwrap().to_string();
    assert!(error.contains("a@b") && !error.contains("secret-key"), "{error}");
}

#[tokio::test]
async fn what_it_holds_is_named_and_not_told() {
    let server = serve(200, 3_600).await;
    let google = user(&server.uri);
    authorized(&google).await.unwrap();
    let told: Vec<String> = google.secrets().iter().map(|secret| secret.reveal().to_owned()).collect();
    assert_eq!(told, ["1//refresh", "client-secret/1", "ya29.token-1"]);
    assert_eq!(google.fingerprint(), Some(Secret::new("1//refresh").fingerprint()));
}
