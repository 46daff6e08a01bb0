//! A real homeserver of Matrix: Synapse, from PyPI, on loopback with SQLite.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use herm::platforms::Platform;
use herm::platforms::table::{PLATFORMS, Section};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// How long a server may take to be there; Python is slow to start on a busy machine.
pub const START_MAX: Duration = Duration::from_secs(120);
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The Python of a virtual environment that has Synapse; `.ci/run` makes one.
pub fn python() -> Option<PathBuf> {
    let bin = cache()?.join("synapse/bin");
    bin.join("synapse_homeserver").exists().then(|| bin.join("python"))
}

/// What `.ci/run` installs for tests.
pub fn cache() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("herm"))
}

/// A homeserver; it ends when this is dropped.
pub struct Synapse {
    process: Child,
    pub url: String,
    folder: tempfile::TempDir,
}

impl Drop for Synapse {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Synapse {
    pub async fn start(python: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let fast = json!({"per_second": 1000, "burst_count": 1000});
        // YAML reads JSON.
        let config = json!({
            "server_name": "herm.test", "pid_file": at("pid"), "report_stats": false,
            "listeners": [{"port": port, "type": "http", "bind_addresses": ["127.0.0.1"], "tls": false,
                "resources": [{"names": ["client"], "compress": false}]}],
            "database": {"name": "sqlite3", "args": {"database": at("db")}},
            "media_store_path": at("media"), "signing_key_path": at("signing.key"),
            "macaroon_secret_key": "m", "form_secret": "f", "trusted_key_servers": [],
            "enable_registration": true, "enable_registration_without_verification": true,
            "rc_message": fast, "rc_registration": fast, "rc_invites": {"per_room": fast, "per_user": fast},
            "rc_joins": {"local": fast, "remote": fast},
        });
        let file = folder.path().join("homeserver.yaml");
        std::fs::write(&file, config.to_string()).unwrap();
        let command = |more: &[&str]| {
            let mut command = Command::new(&python);
            command.args(["-m", "synapse.app.homeserver", "-c"]).arg(&file).args(more);
            let log = std::fs::File::options().create(true).append(true).open(at("log")).unwrap();
            command.current_dir(folder.path()).stdin(Stdio::null());
            command.stdout(log.try_clone().unwrap()).stderr(log);
            command
        };
        assert!(command(&["--generate-keys"]).status().unwrap().success(), "no key was made");
        let process = command(&[]).spawn().unwrap();
        let mut synapse = Self { process, url: format!("http://127.0.0.1:{port}"), folder };
        let client = client();
        let end = Instant::now() + START_MAX;
        while client.get(format!("{}/_matrix/client/versions", synapse.url)).send().await.is_err() {
            assert!(synapse.process.try_wait().unwrap().is_none(), "it ended: {}", synapse.log());
            assert!(Instant::now() < end, "it did not start: {}", synapse.log());
            sleep(LOOK_EVERY).await;
        }
        synapse
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.chars().rev().take(3000).collect::<Vec<_>>().into_iter().rev().collect()
    }

    /// Registers somebody.
    pub async fn register(&self, name: &str) -> Person {
        let mut person =
            Person { client: client(), url: self.url.clone(), id: String::new(), token: String::new() };
        let body = json!({"username": name, "password": "correct horse", "auth": {"type": "m.login.dummy"}});
        let made = person.ask("POST", "v3/register", Some(body)).await;
        person.id = made["user_id"].as_str().unwrap_or_else(|| panic!("{made}: {}", self.log())).to_owned();
        person.token = made["access_token"].as_str().unwrap().to_owned();
        person
    }

    pub fn adapter(&self, token: &str) -> Arc<dyn Platform> {
        self.adapter_in(token, None)
    }

    /// An adapter that may keep what is its own in a folder.
    pub fn adapter_in(&self, token: &str, folder: Option<&Path>) -> Arc<dyn Platform> {
        let row = PLATFORMS.iter().find(|row| row.name == "matrix").unwrap();
        let mut section = Section::default();
        for (name, value) in [("token", token), ("homeserver", &self.url)] {
            section.set(row.field(name).unwrap(), value);
        }
        if let Some(folder) = folder {
            section.keep_in(folder.to_owned());
        }
        (row.make)(row, &section).unwrap()
    }
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

/// A person with a client of the plainest kind.
pub struct Person {
    pub client: reqwest::Client,
    pub url: String,
    pub id: String,
    pub token: String,
}

impl Person {
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let url = format!("{}/_matrix/client/{path}", self.url);
        let mut request = self.client.request(method.parse().unwrap(), url);
        if !self.token.is_empty() {
            request = request.bearer_auth(&self.token);
        }
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}"))
    }

    pub async fn room(&self, invited: &[&Person], more: Value) -> String {
        let invited: Vec<&str> = invited.iter().map(|person| person.id.as_str()).collect();
        let mut body = json!({"preset": "private_chat", "invite": invited});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ask("POST", "v3/createRoom", Some(body)).await["room_id"].as_str().unwrap().to_owned()
    }

    pub async fn send(&self, room: &str, kind: &str, content: Value) -> String {
        let key = blake3::hash(content.to_string().as_bytes()).to_hex();
        let sent = self.ask("PUT", &format!("v3/rooms/{room}/send/{kind}/{key}"), Some(content)).await;
        sent["event_id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned()
    }

    pub async fn say(&self, room: &str, text: &str) -> String {
        self.send(room, "m.room.message", json!({"msgtype": "m.text", "body": text})).await
    }

    /// What stands in a room, oldest first.
    pub async fn events(&self, room: &str) -> Vec<Value> {
        let page = self.ask("GET", &format!("v3/rooms/{room}/messages?dir=b&limit=200"), None).await;
        let mut events = page["chunk"].as_array().unwrap_or_else(|| panic!("{page}")).clone();
        events.reverse();
        events
    }

    pub async fn event(&self, room: &str, id: &str) -> Value {
        self.ask("GET", &format!("v3/rooms/{room}/event/{id}"), None).await
    }
}

pub async fn joined(herm: &Person, room: &str) {
    let end = Instant::now() + START_MAX;
    loop {
        let rooms = herm.ask("GET", "v3/joined_rooms", None).await;
        if rooms["joined_rooms"].as_array().is_some_and(|rooms| rooms.iter().any(|joined| joined == room)) {
            return;
        }
        assert!(Instant::now() < end, "herm did not come");
        sleep(LOOK_EVERY).await;
    }
}
