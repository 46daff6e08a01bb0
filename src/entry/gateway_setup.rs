//! `herm gateway setup`: a platform, step by step. Asks for what it needs, writes it into `.env`, and tries
//! the account.

use std::io::{BufRead, Write};

use super::auth::ask::secret;
use super::{Exit, Failure, Out, Start};
use crate::config::Secret;
use crate::gateway::sections;
use crate::platforms::Stopped;
use crate::platforms::table::{Field, PLATFORMS, Row};

pub fn run(platform: Option<&str>, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let row = match platform {
        Some(name) => find(name)?,
        None => chosen(out)?,
    };
    out.line(row.setup)?;
    out.line("")?;
    let mut given = Vec::new();
    for field in row.fields.iter().filter(|field| asked(row, field)) {
        let value = value(row, field, out)?;
        if !value.reveal().is_empty() {
            given.push((field.env, value));
        }
    }
    if given.is_empty() {
        return Err(Failure::message(Exit::Usage, "nothing was given, and nothing is changed"));
    }
    start.home.create()?;
    let path = start.home.env_file();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    crate::config::write_atomically(&path, &with(&text, &given))?;
    out.line(&format!("written: {}", path.display()))?;
    tried(row, start, out)
}

fn find(name: &str) -> Result<&'static Row, Failure> {
    let known = || PLATFORMS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    PLATFORMS.iter().find(|row| row.name == name).ok_or_else(|| {
        Failure::message(Exit::Usage, format!("there is no platform `{name}`: {}", known()))
            .hint("herm platforms")
    })
}

fn chosen(out: &mut Out) -> Result<&'static Row, Failure> {
    for (index, row) in PLATFORMS.iter().enumerate() {
        out.line(&format!("{}. {:<12} {}", index + 1, row.name, row.about))?;
    }
    let word = line("which platform? ")?;
    match word.parse::<usize>().ok().and_then(|number| PLATFORMS.get(number.checked_sub(1)?)) {
        Some(row) => Ok(row),
        None => find(&word),
    }
}

/// What is needed, and who may speak to herm there.
fn asked(row: &Row, field: &Field) -> bool {
    row.needs.contains(&field.name)
}

fn value(row: &Row, field: &Field, out: &mut Out) -> Result<Secret, Failure> {
    out.line(field.doc)?;
    let prompt = format!("{} {}: ", row.name, field.name);
    Ok(match field.secret {
        true => secret(&prompt)?,
        false => Secret::new(line(&prompt)?),
    })
}

fn line(prompt: &str) -> Result<String, Failure> {
    let mut shown = std::io::stderr();
    write!(shown, "{prompt}")?;
    shown.flush()?;
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text)?;
    Ok(text.trim().to_owned())
}

/// The text of `.env` with these variables set, each once; everything else as it is.
fn with(text: &str, given: &[(&str, Secret)]) -> String {
    let name = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').map(|(name, _)| name.trim().to_owned())
    };
    let stays = |line: &&str| name(line).is_none_or(|name| !given.iter().any(|(set, _)| *set == name));
    let mut lines: Vec<String> = text.lines().filter(stays).map(str::to_owned).collect();
    for (name, value) in given {
        lines.push(match value.reveal().contains('\'') {
            true => format!(
                "{name}=\"{}\"",
                value.reveal().replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$")
            ),
            false => format!("{name}='{}'", value.reveal()),
        });
    }
    lines.join("\n") + "\n"
}

/// One round trip, so that a slip in a token is seen now.
fn tried(row: &'static Row, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let Some(found) = sections::find(&loaded, row) else {
        return Ok(out.line("it is not switched on: `enabled: false` stands in config.yaml")?);
    };
    let made = found.made.map_err(|wrong| {
        let hint = wrong.fix.clone();
        Failure::new(Exit::Config, wrong).hint(hint)
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(made.probe()) {
        Ok(identity) => {
            out.line(&format!("it works: {} (`{}`)", identity.name, identity.id))?;
            out.line("Strangers who write to it are given a code; `herm pairing approve` lets them in.")?;
            Ok(out.line("herm gateway run")?)
        }
        Err(Stopped::Terminal { message, fix }) => {
            Err(Failure::message(Exit::Config, format!("it does not work: {message}")).hint(fix))
        }
        Err(Stopped::Transient { message, .. }) => {
            Ok(out.line(&format!("written, but it could not be tried now: {message}"))?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_set_once_and_the_rest_stays() {
        let before = "# mine\nA=1\nexport TOKEN='old'\n";
        let given = [("TOKEN", Secret::new("it's \"new\"")), ("B", Secret::new("x y"))];
        assert_eq!(with(before, &given), "# mine\nA=1\nTOKEN=\"it's \\\"new\\\"\"\nB='x y'\n");
    }
}
