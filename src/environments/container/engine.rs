//! The engine's API, as much of it as is needed. The paths carry no version, so that every engine
//! answers in the newest that it speaks.
//!
//! Source: Docker Engine API 1.44 and Podman 4.3's compatible API. A client crate (`bollard`) would
//! bring models of the whole API to build; ten requests over the HTTP client that is there do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use super::spec::{LABEL_HOME, LABEL_SPEC, Rootless};

/// How long an engine may take for anything but an image.
const TIME_MAX: Duration = Duration::from_secs(60);
/// How long an image may take to arrive.
const IMAGE_TIME_MAX: Duration = Duration::from_secs(900);
/// How often a container that is still let go of is tried to be removed, and the time between.
const REMOVE_ATTEMPTS: u32 = 10;
const REMOVE_PAUSE: Duration = Duration::from_millis(200);
/// Most that is told of what an engine says, in characters.
const REASON_CHARS_MAX: usize = 400;

/// Why the engine did not do it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("no container engine answers at {}; start Docker, or `podman system service`", tried.join(", "))]
    None { tried: Vec<String> },
    #[error("the container engine at `{}` does not answer: {reason}", socket.display())]
    Silent { socket: PathBuf, reason: String },
    #[error("the container engine refuses to {what} ({status}): {reason}")]
    Refused { what: &'static str, status: u16, reason: String },
}

/// An engine that answers.
#[derive(Clone, Debug)]
pub struct Engine {
    pub socket: PathBuf,
    /// What it calls itself, with its version.
    pub version: String,
    pub rootless: Rootless,
    client: Client,
}

/// A container that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub id: String,
    pub running: bool,
    /// Digest of what it was made from.
    pub spec: String,
    execs: Vec<String>,
}

/// Where engines listen, in the order in which they are tried.
pub fn sockets(engine: &str) -> Vec<PathBuf> {
    if engine != "auto" {
        return vec![PathBuf::from(engine.strip_prefix("unix://").unwrap_or(engine))];
    }
    let named = ["DOCKER_HOST", "CONTAINER_HOST"].iter().filter_map(|name| std::env::var(name).ok());
    let named = named.filter_map(|text| text.strip_prefix("unix://").map(PathBuf::from));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let of_user = runtime.iter().flat_map(|dir| [dir.join("docker.sock"), dir.join("podman/podman.sock")]);
    let of_machine =
        ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
    named.chain(of_user).chain(of_machine).collect()
}

impl Engine {
    /// The first that answers.
    ///
    /// # Errors
    /// With what was tried.
    pub async fn find(engine: &str) -> Result<Self, EngineError> {
        let mut tried = Vec::new();
        for socket in sockets(engine) {
            if socket.exists() {
                match Self::at(&socket).await {
                    Ok(found) => return Ok(found),
                    Err(error) => tried.push(format!("`{}` ({error})", socket.display())),
                }
            } else {
                tried.push(format!("`{}`", socket.display()));
            }
        }
        Err(EngineError::None { tried })
    }

    /// The one at a socket, which must answer.
    ///
    /// # Errors
    /// Where it does not.
    pub async fn at(socket: &Path) -> Result<Self, EngineError> {
        let mut engine = Self::client(socket)?;
        let info = engine.json(Method::GET, "/info", "tell about itself", None).await?;
        let options = info.get("SecurityOptions").and_then(Value::as_array);
        let says = |option: &Value| option.as_str().is_some_and(|text| text.contains("name=rootless"));
        // Podman 4 has a field of its own for it and does not say it among the options.
        let own = info.get("Rootless").and_then(Value::as_bool).unwrap_or_default();
        let rootless = own || options.is_some_and(|options| options.iter().any(says));
        let version = engine.json(Method::GET, "/version", "tell its version", None).await?;
        let component = version.pointer("/Components/0");
        let of = |value: Option<&Value>, name| {
            value.and_then(|value| value.get(name)).and_then(Value::as_str).unwrap_or("?").to_owned()
        };
        engine.version = format!("{} {}", of(component, "Name"), of(component, "Version"));
        engine.rootless = match rootless {
            false => Rootless::No,
            true if engine.version.contains("Podman") => Rootless::Podman,
            true => Rootless::Docker,
        };
        Ok(engine)
    }

    /// A client that has asked nothing yet.
    ///
    /// # Errors
    /// Where none can be made.
    pub fn client(socket: &Path) -> Result<Self, EngineError> {
        // The client wants to know how it would speak TLS, which a local socket does not.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = Client::builder().unix_socket(socket).no_proxy().build();
        let client = built.map_err(|error| silent(socket, &error))?;
        Ok(Self { socket: socket.to_owned(), version: String::new(), rootless: Rootless::No, client })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://engine{path}"))
    }

    async fn sent(&self, request: RequestBuilder, what: &'static str) -> Result<Response, EngineError> {
        let response = request.send().await.map_err(|error| silent(&self.socket, &error))?;
        let status = response.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        let text = response.text().await.unwrap_or_default();
        Err(EngineError::Refused { what, status: status.as_u16(), reason: reason(&text) })
    }

    async fn json(
        &self,
        method: Method,
        path: &str,
        what: &'static str,
        body: Option<&Value>,
    ) -> Result<Value, EngineError> {
        let mut request = self.request(method, path).timeout(TIME_MAX);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = self.sent(request, what).await?;
        let text = response.text().await.map_err(|error| silent(&self.socket, &error))?;
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The container of a name or id, if there is one.
    ///
    /// # Errors
    /// Where the engine does not answer.
    pub async fn inspect(&self, name: &str) -> Result<Option<Found>, EngineError> {
        let path = format!("/containers/{name}/json");
        match self.json(Method::GET, &path, "look at a container", None).await {
            Ok(value) => Ok(found(&value)),
            Err(EngineError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether an image is there.
    ///
    /// # Errors
    /// Where the engine does not answer.
    pub async fn has_image(&self, image: &str) -> Result<bool, EngineError> {
        let path = format!("/images/{}/json", escaped(image));
        match self.json(Method::GET, &path, "look at an image", None).await {
            Ok(_) => Ok(true),
            Err(EngineError::Refused { status: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a command runs in it.
    pub async fn is_busy(&self, found: &Found) -> bool {
        for exec in &found.execs {
            let path = format!("/exec/{exec}/json");
            let looked = self.json(Method::GET, &path, "look at a command", None).await;
            if looked.is_ok_and(|value| value.get("Running") == Some(&Value::Bool(true))) {
                return true;
            }
        }
        false
    }

    /// Ids of the containers of a home.
    ///
    /// # Errors
    /// Where the engine does not answer.
    pub async fn of_home(&self, home: &Path) -> Result<Vec<String>, EngineError> {
        let filters = json!({"label": [format!("{LABEL_HOME}={}", home.display())]}).to_string();
        let path = format!("/containers/json?all=true&filters={}", escaped(&filters));
        let value = self.json(Method::GET, &path, "list containers", None).await?;
        let rows = value.as_array().cloned().unwrap_or_default();
        Ok(rows.iter().filter_map(|row| Some(row.get("Id")?.as_str()?.to_owned())).collect())
    }

    /// Makes a container and gives its id; an image that is not there is fetched.
    ///
    /// # Errors
    /// Where the engine refuses, or does not answer.
    pub async fn create(&self, name: &str, body: &Value, image: &str) -> Result<String, EngineError> {
        let path = format!("/containers/create?name={name}");
        let made = match self.json(Method::POST, &path, "make a container", Some(body)).await {
            Err(EngineError::Refused { status: 404, .. }) => {
                self.fetch(image).await?;
                self.json(Method::POST, &path, "make a container", Some(body)).await?
            }
            made => made?,
        };
        Ok(made.get("Id").and_then(Value::as_str).unwrap_or(name).to_owned())
    }

    /// Fetches an image. That it failed is said in what is read, under a status of 200.
    async fn fetch(&self, image: &str) -> Result<(), EngineError> {
        const WHAT: &str = "fetch the image";
        let path = format!("/images/create?fromImage={}", escaped(image));
        let request = self.request(Method::POST, &path).timeout(IMAGE_TIME_MAX);
        let response = self.sent(request, WHAT).await?;
        let text = response.text().await.map_err(|error| silent(&self.socket, &error))?;
        let said = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        match said.filter_map(|line| Some(line.get("error")?.as_str()?.to_owned())).next() {
            Some(error) => {
                Err(EngineError::Refused { what: WHAT, status: 200, reason: format!("`{image}`: {error}") })
            }
            None => Ok(()),
        }
    }

    /// # Errors
    /// Where the engine refuses, or does not answer.
    pub async fn start(&self, id: &str) -> Result<(), EngineError> {
        let path = format!("/containers/{id}/start");
        self.json(Method::POST, &path, "start a container", None).await.map(drop)
    }

    /// Removes a container with everything that runs in it; one that is not there is no error.
    ///
    /// # Errors
    /// Where the engine refuses, or does not answer.
    pub async fn remove(&self, id: &str) -> Result<(), EngineError> {
        let path = format!("/containers/{id}?force=true&v=true");
        for attempt in 1.. {
            match self.json(Method::DELETE, &path, "remove a container", None).await {
                Ok(_) | Err(EngineError::Refused { status: 404, .. }) => break,
                // Podman says "device or resource busy" while the last processes let go.
                Err(EngineError::Refused { status: 409 | 500, .. }) if attempt < REMOVE_ATTEMPTS => {
                    tokio::time::sleep(REMOVE_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Prepares a command in a container and gives its id.
    ///
    /// # Errors
    /// Where the engine refuses, or does not answer.
    pub async fn prepare(
        &self,
        id: &str,
        command: &[String],
        variables: &[String],
    ) -> Result<String, EngineError> {
        let body = json!({
            "AttachStdout": true, "AttachStderr": true, "Tty": false, "Cmd": command, "Env": variables,
        });
        let path = format!("/containers/{id}/exec");
        let made = self.json(Method::POST, &path, "run a command", Some(&body)).await?;
        Ok(made.get("Id").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// Starts it; what it writes comes in frames until nobody can write any more.
    ///
    /// # Errors
    /// Where the engine refuses, or does not answer.
    pub async fn attach(&self, exec: &str) -> Result<Response, EngineError> {
        let request = self.request(Method::POST, &format!("/exec/{exec}/start"));
        let request = request.header("content-type", "application/json");
        self.sent(request.body(r#"{"Detach":false,"Tty":false}"#), "run a command").await
    }

    /// The exit status of a command, if it has ended.
    ///
    /// # Errors
    /// Where the engine does not answer.
    pub async fn status(&self, exec: &str) -> Result<Option<i32>, EngineError> {
        let path = format!("/exec/{exec}/json");
        let value = self.json(Method::GET, &path, "look at a command", None).await?;
        let ended = value.get("Running") == Some(&Value::Bool(false));
        let code = value.get("ExitCode").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
        Ok(code.filter(|_| ended))
    }

    /// Runs a command that says nothing of interest, and gives its status.
    ///
    /// # Errors
    /// Where the engine refuses, or does not answer.
    pub async fn run(&self, id: &str, command: &[String]) -> Result<Option<i32>, EngineError> {
        let exec = self.prepare(id, command, &[]).await?;
        let response = self.attach(&exec).await?;
        // Nothing of it is wanted but its end.
        let _ = response.bytes().await;
        self.status(&exec).await
    }
}

fn found(value: &Value) -> Option<Found> {
    let execs = value.get("ExecIDs").and_then(Value::as_array).cloned().unwrap_or_default();
    Some(Found {
        id: value.get("Id")?.as_str()?.to_owned(),
        running: value.pointer("/State/Running") == Some(&Value::Bool(true)),
        spec: value
            .pointer("/Config/Labels")
            .and_then(|labels| labels.get(LABEL_SPEC)?.as_str())
            .unwrap_or_default()
            .to_owned(),
        execs: execs.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(),
    })
}

/// `{"message": "no such image"}`, or whatever was said.
fn reason(text: &str) -> String {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let said = value.as_ref().and_then(|value| value.get("message")?.as_str()).unwrap_or(text);
    said.trim().chars().take(REASON_CHARS_MAX).collect()
}

fn silent(socket: &Path, error: &reqwest::Error) -> EngineError {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        reason = error.to_string();
        cause = error.source();
    }
    EngineError::Silent { socket: socket.to_owned(), reason }
}

/// A part of a query.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_escaped() {
        assert_eq!(escaped(r#"{"a":["b=ü"]}"#), "%7B%22a%22:%5B%22b%3D%C3%BC%22%5D%7D");
    }

    #[test]
    fn the_reason_is_what_the_engine_says() {
        assert_eq!(reason(r#"{"message":"no such image","cause":"x"}"#), "no such image");
        assert_eq!(reason("plain\n"), "plain");
    }

    #[test]
    fn a_container_is_read() {
        let value = json!({"Id": "abc", "State": {"Running": true}, "Config": {"Labels": {LABEL_SPEC: "d"}}, "ExecIDs": ["e"]});
        let read = found(&value).unwrap();
        assert_eq!((read.id.as_str(), read.running, read.spec.as_str()), ("abc", true, "d"));
        assert_eq!(read.execs, ["e"]);
    }

    #[test]
    fn a_named_engine_is_the_only_one_tried() {
        assert_eq!(sockets("unix:///x/y.sock"), [PathBuf::from("/x/y.sock")]);
        assert!(sockets("auto").contains(&"/run/docker.sock".into()));
    }

    #[tokio::test]
    async fn where_nobody_listens_it_says_where_it_looked() {
        let error = Engine::find("/nowhere/engine.sock").await.unwrap_err().to_string();
        assert!(
            error.contains("`/nowhere/engine.sock`") && error.contains("podman system service"),
            "{error}"
        );
    }
}
