//! A gateway that runs, and how to speak to it.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::doubles::telegram::{Double, TOKEN};
use super::stage::{Running, Stage, await_that};
use super::support::companion::free_port;
use super::support::model_server::{ModelServer, Recorded};
use super::support::reply::Reply;

/// The key of the API server.
pub const KEY: &str = "a-key-of-a-test-0123456789";

/// A stage with a gateway on it.
pub struct Gateway {
    pub stage: Stage,
    pub model: ModelServer,
    pub port: u16,
    more: Vec<(String, String)>,
    running: Option<Running>,
}

/// Answers with what was said.
pub fn echo() -> ModelServer {
    ModelServer::computed(|asked: &Recorded| Reply::text(&format!("you said: {}", asked.last_text())))
}

impl Gateway {
    /// Set up and not started: the API server, and what `more` switches on.
    pub fn new(model: ModelServer, more: &[(&str, String)]) -> Self {
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { stage: Stage::new(), model, port: free_port(), more, running: None }
    }

    /// With a Telegram where everybody may speak.
    pub fn with_telegram(model: ModelServer, double: &Double, more: &[(&str, String)]) -> Self {
        let mut all = vec![
            ("TELEGRAM_BOT_TOKEN", TOKEN.to_owned()),
            ("TELEGRAM_BASE_URL", double.url()),
            ("TELEGRAM_ALLOW_ALL_USERS", "true".to_owned()),
            ("HERM_GATEWAY_DEBOUNCE_MS", "0".to_owned()),
        ];
        all.extend(more.iter().cloned());
        Self::new(model, &all)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.stage.command(arguments);
        command
            .env("API_SERVER_KEY", KEY)
            .env("API_SERVER_PORT", self.port.to_string())
            .env("HERM_BASE_URL", self.model.base_url())
            .env("HERM_MODEL", "scripted")
            .env("HERM_SESSION_TITLES", "false")
            .envs(self.more.iter().cloned());
        command
    }

    /// Starts it and waits until it answers.
    pub fn start(&mut self) {
        self.running = Some(Running::begin(&mut self.command(&["gateway", "run"])));
        await_that("the gateway", || self.get("/health").is_ok());
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.running.take().unwrap().kill();
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        self.running.as_ref().unwrap().signal(signal);
    }

    /// Asks it to stop and waits until it has; its exit status and what it said.
    pub fn stop(&mut self) -> super::stage::Run {
        self.signal(rustix::process::Signal::TERM);
        self.running.take().unwrap().end()
    }

    /// Runs another command on the same home.
    pub fn herm(&self, arguments: &[&str]) -> super::stage::Run {
        Stage::finish(self.command(arguments))
    }

    pub fn client() -> reqwest::blocking::Client {
        // The first installation stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::blocking::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().unwrap()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn get(&self, path: &str) -> Result<Value, String> {
        let sent =
            Self::client().get(self.url(path)).bearer_auth(KEY).send().map_err(|error| error.to_string())?;
        let (status, text) = (sent.status(), sent.text().map_err(|error| error.to_string())?);
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        if status.is_success() { Ok(body) } else { Err(format!("{status}: {body}")) }
    }

    pub fn post(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, String) {
        let mut request = Self::client().post(self.url(path)).bearer_auth(KEY);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.to_string();
        let sent = request.header("content-type", "application/json").body(body).send().unwrap();
        (sent.status().as_u16(), sent.text().unwrap())
    }

    /// One turn by chat completions.
    pub fn complete(&self, text: &str, headers: &[(&str, &str)]) -> Value {
        let body = json!({ "model": "herm", "messages": [{ "role": "user", "content": text }] });
        let (status, text) = self.post("/v1/chat/completions", &body, headers);
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }
}
