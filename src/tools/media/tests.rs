//! Against doubles of the vendors on this machine.

use std::sync::Mutex;

use herm_schema::events::AuxiliaryTask;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::MakerConfig;
use crate::tools::testing::{Place, place};

/// The smallest bytes that pass for a picture.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and no more";

/// Requests as they came, and its address.
struct Double {
    base: String,
    heard: Arc<Mutex<Vec<String>>>,
}

/// A vendor that answers each path with what it is told to.
async fn double(answers: impl Fn(&str, &str) -> (&'static str, Vec<u8>) + Send + Sync + 'static) -> Double {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (heard, answers, own) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answers), base.clone());
    let hears = heard.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = Vec::new();
            let text = loop {
                let mut piece = [0; 8192];
                let read = socket.read(&mut piece).await.unwrap();
                request.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if read == 0
                    || (text.contains("\r\n\r\n") && body.len() >= length.map_or(0, |n| n.parse().unwrap()))
                {
                    break text;
                }
            };
            let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
            hears.lock().unwrap().push(text);
            let (kind, body) = answers(&path, &own);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all(head.as_bytes()).await.unwrap();
            socket.write_all(&body).await.unwrap();
        }
    });
    Double { base, heard }
}

fn config(images: &str, speech: &str) -> Config {
    let maker = |name: &str| MakerConfig { provider: Some(name.into()), model: None, voice: None };
    Config {
        images: maker(images),
        speech: maker(speech),
        ..Config::of(&crate::config::Settings::defaults())
    }
}

fn three(double: &Double, vendor: &str) -> Vec<Arc<dyn Tool>> {
    let endpoints = json!({vendor: double.base});
    let vendors = Vendors::new(&endpoints, |_| Some(Secret::new("key-of-a-vendor")));
    let speech = if vendor == "elevenlabs" { "elevenlabs" } else { "openai" };
    let images = if vendor == "fal" { "fal" } else { "openai" };
    tools(&config(images, speech), &vendors, &Guard::new(false, Vec::new()))
}

async fn run(place: &Place, tool: &dyn Tool, arguments: serde_json::Value) -> serde_json::Value {
    let arguments = crate::tools::arguments::prepare(&tool.parameters(), &arguments.to_string()).unwrap();
    serde_json::from_str(&tool.run(&arguments, &place.context).await.shown).unwrap()
}

#[tokio::test]
async fn pictures_are_drawn_and_kept_and_found_again() {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(PNG);
    let openai = double(move |_, _| {
        ("application/json", json!({"data": [{"b64_json": encoded}]}).to_string().into_bytes())
    })
    .await;
    let fal = double(|path, own| match path {
        "/files/x.png" => ("image/png", PNG.to_vec()),
        _ => (
            "application/json",
            json!({"images": [{"url": format!("{own}/files/x.png")}]}).to_string().into_bytes(),
        ),
    })
    .await;
    for (vendor, at, size) in
        [(&openai, "openai", r#""size":"1024x1024""#), (&fal, "fal", r#""image_size":"square_hd""#)]
    {
        let place = place();
        let tool = &three(vendor, at)[1];
        assert_eq!(tool.recover(&json!({}), &place.context).await, Recovered::Unknown);
        let shown = run(&place, &**tool, json!({"prompt": "a stone", "aspect_ratio": "square"})).await;
        let path = shown["image"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
        assert!(
            path.starts_with(place.context.home.join("media").to_str().unwrap()) && path.ends_with(".png"),
            "{path}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), PNG);
        let Recovered::Finished(again) = tool.recover(&json!({}), &place.context).await else {
            panic!("not found")
        };
        assert!(again.shown.contains(&path));
        let heard = vendor.heard.lock().unwrap()[0].clone();
        let key = if at == "fal" {
            "authorization: Key key-of-a-vendor"
        } else {
            "authorization: Bearer key-of-a-vendor"
        };
        assert!(heard.contains(size) && heard.contains(key), "{heard}");
    }
}

#[tokio::test]
async fn a_picture_that_lies_inside_is_not_fetched_for_a_vendor_elsewhere() {
    let inside = double(|_, _| ("image/png", PNG.to_vec())).await;
    let address = format!("{}/x.png", inside.base);
    let fal = double(move |_, _| {
        ("application/json", json!({"images": [{"url": address}]}).to_string().into_bytes())
    })
    .await;
    let place = place();
    let shown = run(&place, &*three(&fal, "fal")[1], json!({"prompt": "a stone"})).await;
    assert!(shown["error"].as_str().unwrap().contains("this machine"), "{shown}");
    assert!(inside.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn texts_are_spoken_into_files() {
    for vendor in ["openai", "elevenlabs"] {
        let speaks = double(|_, _| ("audio/mpeg", b"ID3sound".to_vec())).await;
        let place = place();
        let tool = &three(&speaks, vendor)[2];
        let shown = run(&place, &**tool, json!({"text": "hello", "output_path": "say/hello.mp3"})).await;
        assert_eq!(std::fs::read(place.cwd.join("say/hello.mp3")).unwrap(), b"ID3sound", "{shown}");
        let refused = run(&place, &**tool, json!({"text": "x", "output_path": "../home/config.yaml"})).await;
        assert!(refused["error"].as_str().unwrap().contains("herm's own home"), "{refused}");
        let long = run(&place, &**tool, json!({"text": "x".repeat(20_000)})).await;
        assert!(long["error"].as_str().unwrap().contains("not 20000"), "{long}");
        assert_eq!(speaks.heard.lock().unwrap().len(), 1, "what is refused is not asked");
    }
    let silent = double(|_, _| ("application/json", b"{\"detail\":\"no\"}".to_vec())).await;
    let place = place();
    let shown = run(&place, &*three(&silent, "openai")[2], json!({"text": "hello"})).await;
    assert!(shown["error"].as_str().unwrap().contains("no sound"), "{shown}");
    assert!(!place.context.home.join("media").exists(), "nothing is left behind");
}

#[tokio::test]
async fn an_image_is_shown_to_the_model_of_the_task() {
    let elsewhere = double(|_, _| ("image/png", PNG.to_vec())).await;
    let place = place();
    place.write("a.png", PNG);
    place.write("a.txt", "words");
    let vision = &three(&elsewhere, "openai")[0];
    *place.services.answer.lock().unwrap() = Some("a stone".into());
    let shown = run(&place, &**vision, json!({"image_url": "a.png", "question": "What is it?"})).await;
    assert_eq!(shown, json!({"success": true, "analysis": "a stone"}));
    let (task, text, images) = place.services.shown.lock().unwrap().pop().unwrap();
    assert_eq!((task, text.as_str()), (AuxiliaryTask::Vision, "What is it?"));
    assert_eq!((images[0].media_type.as_str(), &images[0].bytes[..]), ("image/png", PNG));
    for (named, why) in [
        ("a.txt", "no PNG"),
        ("missing.png", "missing.png"),
        ("../home/.env", ".env"),
        ("data:image/png,xyz", "base64"),
        (elsewhere.base.as_str(), "this machine"),
    ] {
        let shown = run(&place, &**vision, json!({"image_url": named, "question": "What?"})).await;
        assert!(shown["error"].as_str().unwrap().contains(why), "{named}: {shown}");
    }
}

#[test]
fn without_a_key_it_is_said_which_is_missing() {
    let endpoints = json!({});
    let vendors = Vendors::new(&endpoints, |_| None);
    let config = Config {
        images: MakerConfig { provider: None, model: None, voice: None },
        ..config("openai", "elevenlabs")
    };
    let tools = tools(&config, &vendors, &Guard::new(false, Vec::new()));
    assert!(tools[0].available().is_ok(), "whether a model can see is known when it is asked");
    assert_eq!(
        tools[1].available().unwrap_err(),
        "no key: set OPENAI_API_KEY or FAL_KEY in `.env` (`image_gen.provider`)"
    );
    assert_eq!(
        tools[2].available().unwrap_err(),
        "no key: set ELEVENLABS_API_KEY in `.env` (`tts.provider`)"
    );
}
