//! `herm explain redact`: what is taken out of a text, and what stays. Secret-like texts are in parts, so
//! that no scanner takes this file for a leak; all are made up.

use serde_json::{Value, json};

use crate::fed;
use crate::stage::Stage;
use crate::support::{ModelServer, Reply};

/// The parts, and which of them is the secret.
const SECRETS: &[(&str, &[&str], usize)] = &[
    ("GitHub", &["", "ghp_abcdef1234567890ABCDEF1234567890abcdef"], 1),
    ("an assignment", &["export OPENAI_API_KEY=", "sk-proj-abc123def456ghi789jkl012"], 1),
    ("Slack", &["bot: ", "xoxb-000000000000-aaaaaaaaaaaaaa"], 1),
    ("a database", &["postgres://admin:", "dbpass99", "@db.example:5432/app"], 1),
    ("a header", &["x-api-key: ", "opaque-provider-key-1234567890"], 1),
    ("a signed token", &["", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0"], 1),
    ("Anthropic", &["key ", "sk-ant-api03-Zx81abcDEF-98765_abcdefghijkl"], 1),
    ("AWS", &["id ", "AKIAIOSFODNN7EXAMPLE"], 1),
    ("AWS secret", &["aws_secret_access_key=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"], 1),
    ("Google", &["", "AIzaSyA1234567890abcdefghijklmnopqrstuv"], 1),
    ("Stripe", &["charge with ", "sk_live_51Habcdefghijklmnop"], 1),
    ("GitLab", &["", "glpat-abcDEF123456ghiJKL78"], 1),
    ("npm", &["//registry.npmjs.org/:_authToken=", "npm_abcdefghijklmnopqrstuvwxyz0123456789"], 1),
    ("PyPI", &["", "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAw"], 1),
    ("Hugging Face", &["", "hf_abcdefghijklmnopqrstuvwxyz"], 1),
    ("Telegram", &["", "bot123456789:ABCDEfghij-KLMNopqrst_UVWXyz12345"], 1),
    ("bearer", &["Authorization: Bearer ", "abc.def-ghi_jkl123"], 1),
    ("basic", &["authorization: Basic ", "dXNlcjpwYXNzd29yZA=="], 1),
    ("JSON", &["{\"user\": \"ann\", \"password\": \"", "correct-horse-9", "\"}"], 1),
    ("a parameter", &["https://a.example/cb?access_token=", "abc123def456ghi", "&state=7"], 1),
    ("a flag", &["mysql --user=root --password=", "hunter2222", " -e x"], 1),
    ("a password", &["DB_PASSWORD='", "swordfish", "'"], 1),
    ("a key block", &["", "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----"], 1),
    ("netrc", &["machine a.example login me password ", "s3cretPw", " "], 1),
    ("curl", &["curl -s -u ann:", "hunter2222", " https://a.example/"], 1),
    (
        "a line in JSON",
        &["{\"output\":\"first\\n", "ghp_abcdef1234567890ABCDEF1234567890abcdef", "\\nlast\"}"],
        1,
    ),
];

const LOOK_ALIKES: &[&str] = &[
    "schema.am_example_identifier_123",
    "Authorization: Bearer ${SOME_KEY}",
    "Hello <@222589316709220353>",
    "the authorization model is open",
    "KEYBOARD=notsecret",
    "HOME=/srv/app",
    "MAX_TOKENS=4096",
    "token: str | None = None",
    "api_key = os.getenv(\"OPENAI_API_KEY\")",
    "password: <your password>",
    "const token = await fetchToken(user);",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "https://user@host.example/path?page=2",
    "keyword arguments, token counts, secret santa",
    "sk-learn is scikit-learn; risk-averse-behaviour-everywhere",
    "the key is under the mat",
];

fn masked(text: &str) -> Value {
    let run = fed(&Stage::new(), &["explain", "redact", "--json"], text);
    assert_eq!(run.exit, 0, "{run:?}");
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn secrets_of_known_shapes_go_and_what_names_them_stays() {
    let all: Vec<String> = SECRETS.iter().map(|(_, parts, _)| parts.concat()).collect();
    let told = masked(&all.join("\n\n"));
    let text = told["text"].as_str().unwrap();
    for (name, parts, secret) in SECRETS {
        assert!(!text.contains(parts[*secret]), "{name}: {text}");
        for (index, kept) in parts.iter().enumerate().filter(|(index, _)| index != secret) {
            assert!(text.contains(kept), "{name}, part {index}: {text}");
        }
    }
    assert_eq!(told["changed"], true);
    let again = masked(text);
    assert_eq!((&again["text"], &again["changed"]), (&told["text"], &json!(false)), "twice is once");
}

#[test]
fn look_alikes_stay_as_they_are() {
    let text = LOOK_ALIKES.join("\n");
    let run = fed(&Stage::new(), &["explain", "redact"], &text);
    for (line, found) in LOOK_ALIKES.iter().zip(run.out.lines()) {
        assert_eq!(*line, found);
    }
}

#[test]
fn what_is_known_of_this_home_goes_too() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    std::fs::write(stage.home().join(".env"), "MY_SERVICE=plain words that are mine\n").unwrap();
    let run = fed(&stage, &["explain", "redact"], "say plain words that are mine again");
    assert_eq!(run.out, "say «redacted» again");
}

/// What was read is written back with a line more: the true value must not be lost.
#[test]
fn a_mask_is_not_written_back_over_the_secret() {
    let stage = Stage::new();
    let token = ["gh", "p_", "abcdef1234567890ABCDEF1234567890abcdef"].concat();
    std::fs::write(stage.path("conf.yaml"), format!("token: {token}\n")).unwrap();
    let server = ModelServer::start([
        Reply::call("read_file", &json!({"path": "conf.yaml"})),
        Reply::call("write_file", &json!({"path": "conf.yaml", "content": "token: «redacted»\nmore: 1\n"})),
        Reply::text("I could not."),
    ]);
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "add a line"]);
    assert_eq!(run.exit, 0, "{run:?}");
    let requests = server.requests();
    let shown = requests[1].last_text();
    assert!(shown.contains("token: «redacted»") && !shown.contains(&token), "{shown}");
    assert!(requests[2].last_text().contains("would write the mask over it"), "{}", requests[2].last_text());
    assert_eq!(stage.file("conf.yaml"), format!("token: {token}\n"));
    server.verify();
}
