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

/// As it, with what matters most to what outlives a command line: the image as root, a `/tmp` of each
/// command line's own, nothing shared but the home and what is bound. Needs root.
const CONTAINED: &str = r#"#!/bin/sh
[ "$1" = exec ] || { echo "FATAL: unknown command $1" >&2; exit 255; }
shift
binds= pwd=/
while [ "$#" -gt 0 ]; do
  case $1 in
    --home|--bind) binds="$binds $2"; [ "$1" = --bind ] || export HOME="${2#*:}"; shift 2 ;;
    --env) export "${2%%=*}=${2#*=}"; shift 2 ;;
    --pwd) pwd=$2; shift 2 ;;
    --network) shift 2 ;;
    --*) shift ;;
    *) break ;;
  esac
done
[ -d "$1" ] || { echo "FATAL: could not open image $1" >&2; exit 255; }
image=$1; shift
export PATH=/usr/bin:/bin:/usr/sbin:/sbin
exec unshare --mount --propagation private sh -c '
  set -e
  mount --bind "$1" /mnt
  for bind in $2; do
    from=${bind%%:*} to=${bind#*:}; to=/mnt${to%:ro}
    mkdir -p "$to"; mount --bind "$from" "$to"
  done
  mount -t tmpfs none /mnt/tmp; mount -t proc none /mnt/proc; mount --rbind /dev /mnt/dev
  pwd=$3; shift 3
  exec chroot /mnt /bin/sh -c "cd \"\$0\" && exec \"\$@\"" "$pwd" "$@"
' sh "$image" "$binds" "$pwd" "$@"
"#;

/// The contained double and an image for it; `None`, with the reason printed, where there can be none.
pub fn contained(scratch: &Scratch) -> Option<(PathBuf, PathBuf)> {
    for program in ["unshare", "chroot", "busybox"] {
        if !is_installed(program) {
            println!("skipped: `{program}` is not installed");
            return None;
        }
    }
    if !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return None;
    }
    super::podman::Podman::archive(scratch);
    Some((program(&scratch.made("bin"), CONTAINED), scratch.path("rootfs")))
}

fn program(folder: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = folder.join("apptainer");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn double(scratch: &Scratch, image: &str) -> Singularity {
    let program = program(&scratch.path(""), DOUBLE);
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

#[tokio::test(flavor = "multi_thread")]
async fn in_an_image_as_root_the_contract_holds_as_well() {
    let scratch = Scratch::new();
    let Some((program, image)) = contained(&scratch) else { return };
    let image = text(&image).to_owned();
    let settings = SingularitySettings { program: Some(program), image, network: true, volumes: vec![] };
    let singularity = Singularity::new(settings, VariablePolicy::default(), scratch.path("sandbox"));
    keeps_the_contract(&singularity, &scratch, "/workspace").await;
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
