//! The web tools as a model uses them, against servers on this machine.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::stage::{Stage, chat};
use crate::support::{ModelServer, Reply};

/// A server of pages; the paths that it was asked for.
fn pages(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = [0; 8192];
            let read = socket.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
            heard.lock().unwrap().push(path.clone());
            drop(socket.write_all(answer(&path).as_bytes()));
        }
    });
    (base, asked)
}

fn page(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// What the model is shown of a call.
fn called(stage: &Stage, name: &str, arguments: &Value, variables: &[(&str, &str)]) -> Value {
    let server = ModelServer::start([Reply::call(name, arguments), Reply::text("Done.")]);
    let mut command = stage.command(&chat(&server.base_url(), &["-q", "look"]));
    command.env("HERM_SESSION_TITLES", "false").envs(variables.iter().copied());
    let run = Stage::finish(command);
    assert_eq!(run.exit, 0, "{run:?}");
    server.verify();
    let requests = server.requests();
    serde_json::from_str(requests[1].last_text()).unwrap()
}

#[test]
fn this_machine_is_not_fetched_from_unless_that_is_allowed() {
    let (base, asked) = pages(|path| match path {
        "/list" => page("text/html", "<title>Prices</title><body><h1>Prices</h1><p>a: 1</p></body>"),
        "/paper.pdf" => page("application/pdf", "%PDF-1.7"),
        _ => page("text/plain", "plain words"),
    });
    let stage = Stage::new();
    let urls: Vec<String> =
        ["/list", "/paper.pdf", "/plain"].iter().map(|path| format!("{base}{path}")).collect();
    let shown = called(&stage, "web_extract", &json!({"urls": urls}), &[]);
    assert!(shown["error"].as_str().unwrap().contains("this machine"), "{shown}");
    assert!(asked.lock().unwrap().is_empty());
    let shown = called(&stage, "web_extract", &json!({"urls": urls}), &[("HERM_ALLOW_PRIVATE_URLS", "true")]);
    let results = &shown["results"];
    assert_eq!(results[0]["title"], "Prices");
    assert!(results[0]["content"].as_str().unwrap().contains("a: 1"), "{shown}");
    assert!(results[1]["error"].as_str().unwrap().contains("pdftotext"), "{shown}");
    assert_eq!(results[2]["content"], "plain words");
    let cloud = json!({"urls": ["http://169.254.169.254/latest/meta-data/"]});
    let shown = called(&stage, "web_extract", &cloud, &[("HERM_ALLOW_PRIVATE_URLS", "true")]);
    assert!(shown["error"].as_str().unwrap().contains("keeps credentials"), "{shown}");
}

#[test]
fn a_long_page_is_cut_and_can_be_read_on() {
    let (base, _) = pages(|_| page("text/plain", &"漢字 and words. ".repeat(5_000)));
    let stage = Stage::new();
    let arguments = json!({"urls": [base], "char_limit": 600});
    let shown = called(&stage, "web_extract", &arguments, &[("HERM_ALLOW_PRIVATE_URLS", "true")]);
    let result = &shown["results"][0];
    assert_eq!(result["content"].as_str().unwrap().chars().count(), 600);
    assert_eq!(result["left_out_chars"], 5_000 * 14 - 600);
    let told = shown["full_text"].as_str().unwrap();
    let path = told.split('`').nth(1).unwrap();
    assert!(std::fs::read_to_string(path).unwrap().len() > 60_000, "{told}");
}

#[test]
fn a_searcher_of_ones_own_is_asked() {
    let (base, asked) = pages(|_| {
        let results =
            json!({"results": [{"title": "A", "url": "https://a.example/", "content": "What it says"}]});
        page("application/json", &results.to_string())
    });
    let stage = Stage::new();
    let shown = called(&stage, "web_search", &json!({"query": "stone & herm"}), &[("SEARXNG_URL", &base)]);
    let expected = json!({"success": true, "data": {"web": [
        {"title": "A", "url": "https://a.example/", "description": "What it says", "position": 1},
    ]}});
    assert_eq!(shown, expected);
    assert_eq!(*asked.lock().unwrap(), ["/search?q=stone%20%26%20herm&format=json"]);
}

#[test]
fn a_vendor_is_asked_with_its_key_and_its_refusal_is_told() {
    let (base, _) =
        pages(|_| "HTTP/1.1 401 No\r\ncontent-length: 9\r\nconnection: close\r\n\r\nwho's it?".into());
    let stage = Stage::new();
    let endpoints = json!({"brave": base}).to_string();
    let variables = [("BRAVE_SEARCH_API_KEY", "brave-key-12345678"), ("HERM_TOOL_ENDPOINTS", &endpoints)];
    let shown = called(&stage, "web_search", &json!({"query": "x"}), &variables);
    let error = shown["error"].as_str().unwrap();
    assert!(
        error.starts_with("[TOOL_ERROR] brave: answers 401") && error.contains("key is not accepted"),
        "{error}"
    );
}
