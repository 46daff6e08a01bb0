//! Apptainer, where it is installed.

use herm::environments::{Singularity, SingularitySettings, VariablePolicy};

use super::*;

#[tokio::test]
async fn a_missing_apptainer_is_said_with_what_to_do() {
    if is_installed("apptainer") || is_installed("singularity") {
        println!("skipped: it is installed");
        return;
    }
    let scratch = Scratch::new();
    let settings =
        SingularitySettings { program: None, image: "x.sif".into(), network: false, volumes: vec![] };
    let singularity = Singularity::new(settings, VariablePolicy::default(), scratch.path("sandbox"));
    let error =
        singularity.execute(&scratch.execution("s", "echo ran"), &Default::default()).await.unwrap_err();
    assert!(error.to_string().contains("apptainer") && !error.may_pass(), "{error}");
}

/// Stands for Apptainer where none can be had: checks that it is asked for an `exec`, passes over the
/// options, sets the home, and becomes the rest. It holds nothing in.
const DOUBLE: &str = r#"#!/bin/sh
[ "$1" = exec ] || { echo "FATAL: unknown command $1" >&2; exit 255; }
shift
while [ "$#" -gt 0 ]; do
  case $1 in
    --home) export HOME="${2%%:*}"; shift 2 ;;
    --env) export "${2%%=*}=${2#*=}"; shift 2 ;;
    --bind|--pwd|--network) shift 2 ;;
    --*) shift ;;
    *) break ;;
  esac
done
[ "$1" = image.sif ] || { echo "FATAL: could not open image $1" >&2; exit 255; }
shift
exec "$@"
"#;

/// The double as a program, in this folder.
pub fn double_in(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = folder.join("apptainer");
    std::fs::write(&program, DOUBLE).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn double(scratch: &Scratch, image: &str) -> Singularity {
    let program = double_in(&scratch.path(""));
    let settings =
        SingularitySettings { program: Some(program), image: image.into(), network: false, volumes: vec![] };
    Singularity::new(settings, VariablePolicy::default(), scratch.path("sandbox"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_apptainer_would_run_keeps_the_contract() {
    let scratch = Scratch::new();
    let work = scratch.made("work");
    keeps_the_contract(&double(&scratch, "image.sif"), &scratch, text(&work)).await;
}

#[tokio::test]
async fn an_image_that_cannot_be_opened_is_not_the_commands_fault() {
    let scratch = Scratch::new();
    let singularity = double(&scratch, "none.sif");
    let error =
        singularity.execute(&scratch.execution("s", "echo ran"), &Default::default()).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("could not open image none.sif") && text.contains("not the command's fault"),
        "{text}"
    );
}
