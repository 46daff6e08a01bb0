//! Ways to show who is asking, each in a whole conversation of the built program with a server that looks
//! at what it was shown: tokens of a service account, Azure's keys and addresses, Amazon's signatures, a
//! key that a keyring or a command tells.

use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use herm::providers::dialects::WireRequest;
use herm_schema::Event;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::check;
use super::signature;
use super::stage::Stage;
use super::support::{ModelServer, Recorded, Reply, Wire};

/// A key that was made for tests and opens nothing.
const SERVICE_KEY: &str = include_str!("../../src/providers/http/auth/fixtures/test_only_key.pem");

/// What a model says in the two turns of [`talk`].
fn script() -> [Reply; 4] {
    [
        Reply::call("read_file", &json!({"path": "a.txt"})),
        Reply::text("It says alpha."),
        Reply::call("read_file", &json!({"path": "b.txt"})),
        Reply::text("It says beta."),
    ]
}

/// Two turns with a tool call each; what the server was sent. None of the secrets may be kept or printed.
fn talk(
    stage: &Stage,
    server: &ModelServer,
    secrets: &[&str],
    begin: impl Fn(&[&str]) -> Command,
) -> Vec<Recorded> {
    std::fs::write(stage.path("a.txt"), "alpha\n").unwrap();
    std::fs::write(stage.path("b.txt"), "beta\n").unwrap();
    for (more, said) in [
        (&["-q", "what is in a?"][..], "It says alpha."),
        (&["--continue", "-q", "and in b?"], "It says beta."),
    ] {
        let run = Stage::finish(begin(more));
        assert_eq!((run.exit, run.out.trim()), (0, said), "{}", run.err);
        assert!(secrets.iter().all(|secret| !run.err.contains(secret)), "{}", run.err);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[1].body.contains("alpha") && requests[3].body.contains("beta"));
    stays_untold(stage, secrets);
    requests
}

/// No file of the home but `auth.json` and `.env` holds one of these.
fn stays_untold(stage: &Stage, secrets: &[&str]) {
    for file in super::stage::files(&stage.home()) {
        if file.ends_with("auth.json") || file.ends_with(".env") {
            continue;
        }
        let bytes = std::fs::read(&file).unwrap();
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "a secret is in `{}`", file.display());
        }
    }
}

/// What was sent to an address below `base`, as the validators take it.
fn below(base: &str, recorded: &Recorded) -> WireRequest {
    let path =
        recorded.path.strip_prefix(base).unwrap_or_else(|| panic!("{} is not below {base}", recorded.path));
    let known = ["accept", "anthropic-version", "anthropic-beta"];
    let headers = known.iter().filter_map(|name| Some((*name, recorded.header(name)?.to_owned()))).collect();
    WireRequest { path: path.to_owned(), headers, body: recorded.body.clone().into_bytes() }
}

/// The address of a server without its path: as a proxy, which is asked for addresses as they are.
fn origin(server: &ModelServer) -> String {
    server.base_url().strip_suffix("/v1").unwrap().to_owned()
}

/// Google's token server: takes an assertion that the account's key has signed, and nothing else.
fn token_server(token: &'static str) -> ModelServer {
    ModelServer::computed(move |request| match read_assertion(request) {
        Ok(claims) => {
            let lifetime = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
            let fits = claims["iss"] == "herm@proj-1.iam.gserviceaccount.com"
                && claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
                && claims["aud"].as_str().unwrap().ends_with("/token")
                && lifetime <= 3_600
                && claims["iat"].as_u64().unwrap().abs_diff(now) < 60;
            match fits {
                true => Reply::status(
                    200,
                    &json!({"access_token": token, "expires_in": 3_599, "token_type": "Bearer"}).to_string(),
                ),
                false => refused(&format!("the claims do not fit: {claims}")),
            }
        }
        Err(why) => refused(why),
    })
}

fn refused(why: &str) -> Reply {
    Reply::status(400, &json!({"error": "invalid_grant", "error_description": why}).to_string())
}

/// The claims of the assertion, if the account has signed them.
fn read_assertion(request: &Recorded) -> Result<Value, &'static str> {
    let fields = request.body.split('&').filter_map(|field| field.split_once('='));
    let (mut assertion, mut grant) = ("", "");
    for (name, value) in fields {
        match name {
            "assertion" => assertion = value,
            "grant_type" => grant = value,
            _ => return Err("there is a field too many"),
        }
    }
    if grant != "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer" {
        return Err("it is another kind of grant");
    }
    let (signed, signature) = assertion.rsplit_once('.').ok_or("there is no assertion")?;
    let der = PrivatePkcs8KeyDer::from_pem_slice(SERVICE_KEY.as_bytes()).unwrap();
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "the signature is no base64")?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref())
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| "the signature is not the account's")?;
    let claims = signed.split_once('.').ok_or("there are no claims")?.1;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).map_err(|_| "the claims are no JSON")
}

#[test]
fn vertex_is_asked_with_tokens_that_a_service_account_is_given_for_its_signature() {
    let token = "ya29.token-of-the-test-000001";
    for (publisher, model, wire) in [
        ("google", "gemini-2.5-flash", Wire::Gemini),
        ("anthropic", "claude-sonnet-4-5", Wire::AnthropicMessages),
    ] {
        let (tokens, server, stage) = (token_server(token), ModelServer::start(script()), Stage::new());
        let account = json!({
            "type": "service_account", "project_id": "proj-1", "private_key_id": "key-1",
            "client_email": "herm@proj-1.iam.gserviceaccount.com", "private_key": SERVICE_KEY,
            "token_uri": format!("{}/token", origin(&tokens)),
        });
        let file = stage.work().with_file_name("account.json");
        std::fs::write(&file, account.to_string()).unwrap();
        let base = format!(
            "http://aiplatform.googleapis.com/v1/projects/proj-1/locations/global/publishers/{publisher}"
        );
        let key = SERVICE_KEY.lines().nth(1).unwrap();
        let requests = talk(&stage, &server, &[token, key], |more| {
            let mut command =
                stage.command(&[&["chat", "--provider", "vertex", "--model", model], more].concat());
            command.env("HERM_PROVIDERS", json!({"vertex": {"base_url": base}}).to_string());
            command.env("GOOGLE_APPLICATION_CREDENTIALS", &file).env("HTTP_PROXY", origin(&server));
            command
        });
        assert_eq!(tokens.requests().len(), 2, "one token for each process, and none that was refused");
        for request in &requests {
            assert_eq!(request.header("authorization"), Some(format!("Bearer {token}").as_str()));
            assert_eq!((request.header("x-goog-api-key"), request.header("x-api-key")), (None, None));
            let method =
                if wire == Wire::Gemini { "streamGenerateContent?alt=sse" } else { "streamRawPredict" };
            assert_eq!(request.path, format!("{base}/models/{model}:{method}"));
            if wire == Wire::Gemini {
                assert_eq!(check(wire, &below(&format!("{base}/"), request)), Ok(()), "{}", request.body);
            } else {
                assert_eq!(request.json["anthropic_version"], "vertex-2023-10-16");
                assert!(request.json["model"].is_null(), "the address names it");
            }
        }
    }
}

#[test]
fn azure_is_asked_by_deployment_and_version_or_in_the_v1_form_with_its_key_in_a_header_of_its_own() {
    let key = "azure-key-of-the-test-0001";
    let resource = "http://my-resource.openai.azure.com";
    let older = json!({"azure-foundry": {"base_url": format!("{resource}/openai"), "quirks": {"api_version": "2024-10-21"}}});
    let newer = json!({"azure-foundry": {"base_url": resource}});
    for (vendor, address) in [
        (older, format!("{resource}/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21")),
        (newer, format!("{resource}/openai/v1/chat/completions")),
    ] {
        let (server, stage) = (ModelServer::start(script()), Stage::new());
        let requests = talk(&stage, &server, &[key], |more| {
            let mut command =
                stage.command(&[&["chat", "--provider", "azure", "--model", "my gpt"], more].concat());
            command.env("HERM_PROVIDERS", vendor.to_string());
            command.env("AZURE_OPENAI_API_KEY", key).env("HTTP_PROXY", origin(&server));
            command
        });
        for request in &requests {
            assert_eq!(request.path, address);
            assert_eq!((request.header("api-key"), request.header("authorization")), (Some(key), None));
            let sent = WireRequest { path: "chat/completions".into(), ..below(resource, request) };
            assert_eq!(check(Wire::ChatCompletions, &sent), Ok(()), "{}", request.body);
        }
        server.verify();
    }
}

#[test]
fn azure_takes_a_token_of_entra_that_a_command_prints() {
    let (server, stage) = (ModelServer::start(script()), Stage::new());
    let token = "eyJ0eXAiOiJKV1Qi.token-of-entra.0001";
    let printed = stage.work().with_file_name("token");
    std::fs::write(&printed, format!("{token}\n")).unwrap();
    let resource = "http://my-resource.services.ai.azure.com/openai/v1";
    let vendor = json!({"azure-foundry": {"base_url": resource, "auth": "bearer"}});
    let line = format!("cat '{}'", printed.display());
    let added = stage.run(&["auth", "add", "azure-foundry", "--command", &line]);
    assert_eq!(added.exit, 0, "{}", added.err);
    let requests = talk(&stage, &server, &[token], |more| {
        let mut command =
            stage.command(&[&["chat", "--provider", "azure-foundry", "--model", "gpt"], more].concat());
        command.env("HERM_PROVIDERS", vendor.to_string()).env("HTTP_PROXY", origin(&server));
        command
    });
    for request in &requests {
        let bearer = format!("Bearer {token}");
        assert_eq!(
            (request.header("authorization"), request.header("api-key")),
            (Some(bearer.as_str()), None)
        );
    }
    server.verify();
}

#[test]
fn bedrock_is_asked_with_amazons_signature_of_keys_that_were_lent() {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYTESTKEY";
    for session in [Some("FwoGZXIvYXdzEJr-token-of-the-session=="), None] {
        let (server, stage) = (ModelServer::start(script()), Stage::new());
        let model = super::model(Wire::BedrockConverse);
        let told = [Some(secret), session].into_iter().flatten().collect::<Vec<_>>();
        let requests = talk(&stage, &server, &told, |more| {
            let mut command =
                stage.command(&[&["chat", "--provider", "bedrock", "--model", model], more].concat());
            command.env("BEDROCK_BASE_URL", origin(&server)).env("AWS_REGION", "eu-central-1");
            command.env("AWS_ACCESS_KEY_ID", "AKIATESTTESTTEST0001").env("AWS_SECRET_ACCESS_KEY", secret);
            command.envs(session.map(|session| ("AWS_SESSION_TOKEN", session)));
            command
        });
        let keys = signature::Keys { id: "AKIATESTTESTTEST0001", secret, session, region: "eu-central-1" };
        for request in &requests {
            assert_eq!(signature::check(request, &keys), Ok(()));
            assert_eq!(check(Wire::BedrockConverse, &below("/", request)), Ok(()), "{}", request.body);
        }
        // The checker itself sees what is wrong.
        let mut other = requests[0].clone();
        other.body.push(' ');
        assert!(signature::check(&other, &keys).is_err());
        assert!(signature::check(&requests[0], &signature::Keys { secret: "another", ..keys }).is_err());
    }
}

/// Starts a keyring that is open, lays the secret in it, and lets herm find it; `$1` is herm.
const KEYRING: &str = r#"
printf open | gnome-keyring-daemon --foreground --unlock --components=secrets >/dev/null 2>&1 &
keyring=$!
trap 'kill $keyring 2>/dev/null; wait $keyring 2>/dev/null' EXIT
# The bus would start one that is closed for whoever asks too early.
n=0
until dbus-send --session --dest=org.freedesktop.DBus --print-reply / org.freedesktop.DBus.NameHasOwner \
  string:org.freedesktop.secrets | grep -q true; do
  n=$((n+1)); [ $n -lt 100 ] || { echo 'there is no keyring' >&2; exit 90; }
  sleep 0.1
done
printf %s "$GIVEN" | secret-tool store --label=herm service herm username test || exit 91
unset GIVEN
"$@"
"#;

#[test]
fn a_key_lies_in_the_keyring_of_the_system() {
    for program in ["dbus-run-session", "dbus-send", "gnome-keyring-daemon", "secret-tool"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .any(|folder| folder.join(program).is_file());
        if !found {
            println!("skipped: `{program}` is not installed");
            return;
        }
    }
    let key = "key-of-the-keyring-00000001";
    let (server, stage) = (ModelServer::start(script()), Stage::new());
    let added = stage.run(&["auth", "add", "groq", "--keyring", "herm/test"]);
    assert_eq!(added.exit, 0, "{}", added.err);
    let vendor = json!({"groq": {"base_url": server.base_url()}}).to_string();
    let runtime = stage.work().with_file_name("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let requests = talk(&stage, &server, &[key], |more| {
        let mut command = Command::new("dbus-run-session");
        command.args(["--", "sh", "-c", KEYRING, "sh", env!("CARGO_BIN_EXE_herm")]);
        command.args(["chat", "--provider", "groq", "--model", "some-model"]).args(more);
        command.current_dir(stage.work()).env_clear().envs(stage.variables());
        command.env("XDG_RUNTIME_DIR", &runtime).env("GIVEN", key).env("HERM_PROVIDERS", &vendor);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    });
    let bearer = format!("Bearer {key}");
    assert!(requests.iter().all(|request| request.header("authorization") == Some(&bearer)));
    server.verify();
}

#[test]
fn a_key_is_printed_by_a_command_once_for_each_process() {
    let key = "key-of-the-command-00000001";
    let (server, stage) = (ModelServer::start(script()), Stage::new());
    let asked = stage.work().with_file_name("asked");
    let vault = stage.work().with_file_name("vault");
    std::fs::write(&vault, key).unwrap();
    let line = format!("echo x >> '{}'; cat '{}'", asked.display(), vault.display());
    let added = stage.run(&["auth", "add", "groq", "--command", &line]);
    assert_eq!(added.exit, 0, "{}", added.err);
    let vendor = json!({"groq": {"base_url": server.base_url()}}).to_string();
    let requests = talk(&stage, &server, &[key], |more| {
        let mut command =
            stage.command(&[&["chat", "--provider", "groq", "--model", "some-model"], more].concat());
        command.env("HERM_PROVIDERS", &vendor);
        command
    });
    let bearer = format!("Bearer {key}");
    assert!(requests.iter().all(|request| request.header("authorization") == Some(&bearer)));
    assert_eq!(std::fs::read_to_string(&asked).unwrap(), "x\nx\n");
    server.verify();
}

#[test]
fn a_token_that_has_expired_is_asked_for_again_in_the_middle_of_a_turn() {
    let (old, new) = ("token-that-expires-0000001", "token-that-is-new-00000001");
    let stage = Stage::new();
    let vault = stage.work().with_file_name("vault");
    std::fs::write(&vault, old).unwrap();
    let (holds, bearer) = (vault.clone(), |token: &str| format!("Bearer {token}"));
    let server = ModelServer::computed(move |request| {
        let valid = bearer(&std::fs::read_to_string(&holds).unwrap());
        let is_second = request.json["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
        match (request.header("authorization") == Some(&valid), is_second) {
            (false, _) => Reply::status(401, &Wire::ChatCompletions.refusal(401)),
            (true, true) => Reply::text("Done."),
            (true, false) => {
                // Time passes.
                std::fs::write(&holds, new).unwrap();
                Reply::call("read_file", &json!({"path": "a.txt"}))
            }
        }
    });
    std::fs::write(stage.path("a.txt"), "alpha\n").unwrap();
    let added = stage.run(&["auth", "add", "groq", "--command", &format!("cat '{}'", vault.display())]);
    assert_eq!(added.exit, 0, "{}", added.err);
    let mut command = stage.command(&["chat", "--provider", "groq", "--model", "some-model", "-q", "go"]);
    command.env("HERM_PROVIDERS", json!({"groq": {"base_url": server.base_url()}}).to_string());
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.trim()), (0, "Done."), "{}", run.err);
    let shown: Vec<_> =
        server.requests().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(shown, [old, old, new].map(|token| format!("Bearer {token}")));
    let rested =
        stage.events().into_iter().any(|recorded| matches!(recorded.event, Event::CredentialRested(_)));
    assert!(!rested, "the key is as good as before");
    stays_untold(&stage, &[old, new]);
}
