//! What the shells do around a command line: take up where the session stood, and keep it.
//!
//! The state of a session is a folder in the environment's own file system with two files: `env`, in
//! shell syntax, with the directory and with every exported variable that differs from what the
//! shell inherits; and `cwd`, the directory as it is. Each is written beside itself and renamed, so
//! that two command lines at once leave the state of one of them, never a mixture. A command line
//! that is killed, or that replaces its shell, keeps nothing.
//!
//! Written for every POSIX shell, since nobody knows what is installed in a container or over there.

use std::ffi::OsString;

/// Exit status of a shell that ran nothing.
pub const NOTHING_RUN: i32 = 96;

/// Arguments: command line, state folder (may be empty), directory to begin in, directory for this one
/// alone (may be empty), names of variables for this one alone, `keep` or nothing. Ends with the function
/// that keeps.
/// It is evaluated, not sourced, so that the shell's messages count the command's own lines.
const AROUND: &str = r#"
herm_line=$1 herm_state=$2 herm_start=$3 herm_workdir=$4 herm_fixed=$5 herm_keeps=$6 herm_cwd= herm_old=
set --
herm_names() {
  export -p | LC_ALL=C command -p sed -n -e 's/^declare -[b-zB-Z]* \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' \
    -e 's/^export \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p'
}
herm_put() {
  herm_quoted=$2
  case $2 in *\'*)
    herm_quoted=$(printf '%s.' "$2" | LC_ALL=C command -p sed "s/'/'\\\\''/g")
    herm_quoted=${herm_quoted%.} ;;
  esac
  printf "%s='%s'\n" "$1" "$herm_quoted"
}
herm_absolute() {
  case $1 in
    /*) herm_to=$1 ;;
    '~') herm_to=$HOME ;;
    '~/'*) herm_to=$HOME/${1#??} ;;
    *) herm_to=$2/$1 ;;
  esac
}
herm_all() {
  herm_put herm_cwd "$herm_at"
  herm_put herm_old "${OLDPWD-}"
  for herm_name in $(herm_names); do
    case " PWD OLDPWD SHLVL _ BASHOPTS SHELLOPTS PPID UID EUID $herm_fixed " in *" $herm_name "*) continue ;; esac
    case $herm_name in herm_*) continue ;; esac
    eval "herm_value=\${$herm_name-} herm_set=\${herm_was_$herm_name+set} herm_was=\${herm_was_$herm_name-}"
    [ "$herm_set" = set ] && [ "$herm_value" = "$herm_was" ] && continue
    herm_put "export $herm_name" "$herm_value"
  done
  for herm_name in $herm_inherited; do
    case " PWD OLDPWD SHLVL _ $herm_fixed " in *" $herm_name "*) continue ;; esac
    eval "herm_set=\${$herm_name+set}"
    [ "$herm_set" = set ] || printf 'unset %s\n' "$herm_name"
  done
}
herm_keep() {
  IFS=' 
'
  set +f
  herm_at=$PWD
  [ -z "$herm_workdir" ] || herm_at=$herm_stood
  umask 077
  herm_all > "$herm_state/env.$$" && command -p mv -f "$herm_state/env.$$" "$herm_state/env"
  printf '%s' "$herm_at" > "$herm_state/cwd.$$" && command -p mv -f "$herm_state/cwd.$$" "$herm_state/cwd"
}
herm_finish() {
  herm_status=$?
  set +xveu
  [ -z "$herm_state" ] || (herm_keep)
  herm_state=
  return $herm_status
}
herm_inherited=
if [ -n "$herm_state" ]; then
  (umask 077 && command -p mkdir -p "$herm_state") 2>/dev/null
  herm_inherited=$(herm_names)
  for herm_name in $herm_inherited; do eval "herm_was_$herm_name=\${$herm_name-}"; done
  [ ! -r "$herm_state/env" ] || . "$herm_state/env" 2>/dev/null
  for herm_name in $herm_fixed; do eval "export $herm_name=\"\${herm_was_$herm_name-}\""; done
fi
[ -n "$herm_keeps" ] || herm_state=
herm_absolute "${herm_cwd:-$herm_start}" "$HOME"
herm_cwd=$herm_to
while ! CDPATH= cd -- "$herm_to" 2>/dev/null; do
  [ "$herm_to" != / ] || break
  herm_to=${herm_to%/*}
  herm_to=${herm_to:-/}
done
herm_stood=$herm_to
[ "$herm_to" = "$herm_cwd" ] || printf 'herm:gone %s\nherm:moved %s\n' "$herm_cwd" "$herm_to" >&3
if [ -n "$herm_workdir" ]; then
  herm_absolute "$herm_workdir" "$herm_stood"
  CDPATH= cd -- "$herm_to" 2>/dev/null || { printf 'herm:nodir %s\n' "$herm_to" >&3; exit 96; }
fi
[ -z "$herm_old" ] || OLDPWD=$herm_old
trap '{ herm_finish; } 2>/dev/null' EXIT
exec 3>&-
"#;

/// What a shell is told to do: everything on one line, for the sake of the numbers in its messages.
const BODY: &str = r#"eval "$7";eval "$herm_line";{ herm_finish; } 2>/dev/null"#;
/// Here the report is this shell's standard error, until the command has it.
const BODY_HERE: &str = r#"exec 3>&2 2>&1;eval "$7";eval "$herm_line";{ herm_finish; } 2>/dev/null"#;

/// The shell over there. It leads a process group, names it, and says the status when the command has
/// ended, since a child in the background may keep the connection open for long after that.
/// Arguments: those of [`AROUND`], and that itself.
pub const CARRIED: &str = r#"
exec 3>&2 2>/dev/null
trap : HUP INT TERM
printf 'herm:begin %s\n' "$$" >&3
for herm_shell in /bin/bash /usr/bin/bash /usr/local/bin/bash /bin/sh; do
  [ ! -x "$herm_shell" ] || break
done
"$herm_shell" -c 'BODY' "$herm_shell" "$@" </dev/null 2>&1
herm_status=$?
[ -z "$6" ] || [ ! -r "$2/cwd" ] || { printf 'herm:cwd '; cat "$2/cwd"; echo; } >&3
printf 'herm:end %s\n' "$herm_status" >&3
exit "$herm_status"
"#;

/// What of an execution the shells are told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub command_line: &'a str,
    /// Absolute folder, or empty.
    pub state: &'a str,
    /// Whether the state is changed, and not only taken up.
    pub keeps: bool,
    pub start: &'a str,
    pub workdir: Option<&'a str>,
    pub variables: &'a [(String, String)],
}

impl Told<'_> {
    /// What follows the name of the shell.
    fn arguments(&self) -> [String; 7] {
        let fixed: Vec<&str> = self.variables.iter().map(|(name, _)| name.as_str()).collect();
        [
            self.command_line.to_owned(),
            self.state.to_owned(),
            self.start.to_owned(),
            self.workdir.unwrap_or_default().to_owned(),
            fixed.join(" "),
            if self.keeps && !self.state.is_empty() { "keep" } else { "" }.to_owned(),
            AROUND.to_owned(),
        ]
    }

    /// The program for a shell on this machine.
    pub fn here(&self, shell: &str) -> Vec<OsString> {
        let before = [shell, "-c", BODY_HERE, shell].map(OsString::from);
        before.into_iter().chain(self.arguments().map(OsString::from)).collect()
    }

    /// The program for a machine that takes words one by one.
    pub fn carried(&self) -> Vec<String> {
        let before = ["/bin/sh".to_owned(), "-c".to_owned(), carried(), "sh".to_owned()];
        before.into_iter().chain(self.arguments()).collect()
    }

    /// The script for a shell that reads it; `state` may begin with `~/`.
    pub fn script(&self) -> String {
        let mut script = String::from("{\n");
        for (name, value) in self.variables {
            script.push_str(&format!("export {name}={}\n", quoted(value)));
        }
        let words: Vec<String> = self.arguments().iter().map(|word| quoted_below_home(word)).collect();
        script.push_str(&format!("set -- {}\n{}}}\n", words.join(" "), carried()));
        script
    }
}

fn carried() -> String {
    // Nothing in the body needs quoting inside single quotes; a test looks.
    CARRIED.replace("BODY", BODY)
}

/// A word that a shell reads as these characters.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word of which a leading `~/` is the home.
pub fn quoted_below_home(word: &str) -> String {
    match word.strip_prefix("~/") {
        Some(rest) => format!("\"$HOME\"/{}", quoted(rest)),
        None => quoted(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_through_as_it_is() {
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
        assert_eq!(quoted_below_home("~/a b"), r#""$HOME"/'a b'"#);
        assert_eq!(quoted_below_home("~x"), "'~x'");
    }

    #[test]
    fn the_body_can_stand_in_quotes() {
        assert!(!BODY.contains('\'') && carried().contains(BODY));
    }
}
