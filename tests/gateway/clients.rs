//! The official OpenAI clients of Python and Node against the API server. Skipped where `.ci/run` has not
//! installed them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::gateway::{Gateway, KEY, echo};
use super::support::companion::output_within;

const TIME_MAX: Duration = Duration::from_secs(120);

const PYTHON: &str = r#"
import os, json
from openai import OpenAI, AuthenticationError
client = OpenAI(base_url=os.environ["BASE"], api_key=os.environ["KEY"])
assert [m.id for m in client.models.list()] == ["herm"]
ask = [{"role": "user", "content": "one two"}]
whole = client.chat.completions.create(model="herm", messages=ask)
assert whole.choices[0].message.content == "you said: one two", whole
pieces = client.chat.completions.create(model="herm", messages=ask, stream=True)
text = "".join(c.choices[0].delta.content or "" for c in pieces if c.choices)
assert text == "you said: one two", text
first = client.responses.create(model="herm", input="one")
assert first.output_text == "you said: one", first
second = client.responses.create(model="herm", input="two", previous_response_id=first.id)
assert second.output_text == "you said: two"
assert client.responses.retrieve(first.id).output_text == "you said: one"
events = list(client.responses.create(model="herm", input="three four", stream=True))
assert events[0].type == "response.created" and events[-1].type == "response.completed", events
assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "you said: three four"
assert [e.sequence_number for e in events] == list(range(len(events)))
with client.responses.stream(model="herm", input="five") as stream:
    assert stream.get_final_response().output_text == "you said: five"
try:
    OpenAI(base_url=os.environ["BASE"], api_key="wrong-key-0123456789").models.list()
    raise SystemExit("a wrong key was taken")
except AuthenticationError:
    pass
print("ok")
"#;

const NODE: &str = r#"
import OpenAI from "openai";
import assert from "node:assert";
const client = new OpenAI({ baseURL: process.env.BASE, apiKey: process.env.KEY });
const ask = [{ role: "user", content: "one two" }];
const whole = await client.chat.completions.create({ model: "herm", messages: ask });
assert.equal(whole.choices[0].message.content, "you said: one two");
let text = "";
for await (const chunk of await client.chat.completions.create({ model: "herm", messages: ask, stream: true }))
  text += chunk.choices[0]?.delta?.content ?? "";
assert.equal(text, "you said: one two");
const runner = client.chat.completions.stream({ model: "herm", messages: ask });
assert.equal((await runner.finalChatCompletion()).choices[0].message.content, "you said: one two");
const first = await client.responses.create({ model: "herm", input: "one" });
assert.equal(first.output_text, "you said: one");
const stream = client.responses.stream({ model: "herm", input: "two", previous_response_id: first.id });
assert.equal((await stream.finalResponse()).output_text, "you said: two");
console.log("ok");
"#;

/// Where `.ci/run` installs them.
fn installed() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).unwrap_or_default().join("herm/clients")
}

fn talk(program: Command, source: &str, name: &str) {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let path = installed().join(format!("{}-{name}", std::process::id()));
    std::fs::write(&path, source).unwrap();
    let mut program = program;
    program.arg(&path).env("BASE", gateway.url("/v1")).env("KEY", KEY);
    let output = output_within(&mut program, TIME_MAX).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.trim() == "ok", "{out}{err}");
}

#[test]
fn the_python_client_is_at_home() {
    let python = installed().join("python/bin/python");
    if !python.exists() {
        println!("skipped: the OpenAI client of Python is not installed in {}", installed().display());
        return;
    }
    talk(Command::new(python), PYTHON, "talk.py");
}

/// A chat front end from a registry: `llm`, which speaks to anything in the shape of OpenAI.
#[test]
fn a_chat_front_end_talks_in_a_conversation() {
    let program = installed().join("python/bin/llm");
    if !program.exists() {
        println!("skipped: the front end `llm` is not installed in {}", installed().display());
        return;
    }
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let folder = tempfile::tempdir().unwrap();
    let models = format!(
        "- model_id: herm\n  model_name: herm\n  api_base: {}\n  api_key_name: herm\n",
        gateway.url("/v1")
    );
    std::fs::write(folder.path().join("extra-openai-models.yaml"), models).unwrap();
    let ask = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).env("LLM_USER_PATH", folder.path());
        let output = output_within(&mut command, TIME_MAX).unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{err}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    ask(&["keys", "set", "herm", "--value", KEY]);
    assert_eq!(ask(&["-m", "herm", "one two"]), "you said: one two");
    assert_eq!(ask(&["-c", "three"]), "you said: three");
    let asked = gateway.model.requests().pop().unwrap().json;
    assert_eq!(asked["messages"].as_array().unwrap().len(), 4, "the conversation goes on");
}

#[test]
fn the_node_client_is_at_home() {
    if !installed().join("node_modules/openai").exists() {
        println!("skipped: the OpenAI client of Node is not installed in {}", installed().display());
        return;
    }
    talk(Command::new("node"), NODE, "talk.mjs");
}
