//! Deletions and hidden programs in the two shells of Windows.

use super::{Found, excerpt};
use crate::approval::reading::Invocation;
use crate::approval::word::Field;

const DELETES: &[&str] = &["del", "erase", "rd", "rmdir", "format", "deltree", "diskpart", "cipher"];
const POWERSHELL_DELETES: &[&str] = &[
    "remove-item",
    "rm",
    "ri",
    "del",
    "erase",
    "rd",
    "rmdir",
    "clear-content",
    "clear-item",
    "clear-disk",
    "format-volume",
    "remove-partition",
    "initialize-disk",
    "stop-computer",
    "restart-computer",
    "remove-itemproperty",
    "clear-recyclebin",
    "stop-process",
    "spps",
    "kill",
    "invoke-expression",
    "iex",
    "set-executionpolicy",
];

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    match name {
        "cmd" => {
            if let Some(verb) =
                words(&call.arguments).into_iter().find(|word| DELETES.contains(&word.as_str()))
            {
                let reason = format!("It deletes with the Windows command `{verb}`.");
                found.add("windows-delete", reason, format!("cmd {verb}"));
            }
        }
        "powershell" | "pwsh" => powershell(name, call, found),
        "remove-item" | "format-volume" | "clear-disk" | "del" | "erase" | "rd" | "deltree" | "diskpart" => {
            found.add(
                "windows-delete",
                format!("It deletes with the Windows command `{name}`."),
                name.to_owned(),
            );
        }
        "reg" if call.arguments.first().is_some_and(|verb| verb.text().eq_ignore_ascii_case("delete")) => {
            found.add("windows-delete", "It deletes from the Windows registry.".into(), "reg delete".into());
        }
        "vssadmin" | "wbadmin" if words(&call.arguments).iter().any(|word| word == "delete") => {
            found.add("windows-delete", "It deletes Windows backups.".into(), format!("{name} delete"));
        }
        _ => {}
    }
}

fn powershell(name: &str, call: &Invocation, found: &mut Found) {
    let encoded = call.arguments.iter().map(|field| field.text().to_lowercase()).any(|text| {
        let option = text.trim_start_matches(['-', '/']);
        text.starts_with(['-', '/'])
            && (option == "ec" || (!option.is_empty() && "encodedcommand".starts_with(option)))
    });
    if encoded {
        let reason = "It runs a PowerShell program that is written in code.".to_owned();
        found.add("powershell-encoded", reason, excerpt(&call.line()));
    }
    let piped = call.stdin.as_deref().and_then(|stdin| stdin.text()).map(Field::literal);
    let mut words = words(&call.arguments);
    words.extend(piped.iter().flat_map(|text| self::words(std::slice::from_ref(text))));
    if let Some(verb) = words.iter().find(|word| POWERSHELL_DELETES.contains(&word.as_str())) {
        found.add("powershell-delete", format!("It runs `{verb}` in PowerShell."), format!("{name} {verb}"));
    }
}

/// Words of all arguments, without the signs around them.
fn words(arguments: &[Field]) -> Vec<String> {
    let is_sign = |c: char| c.is_whitespace() || "(){};|&,\"'$=^".contains(c);
    arguments
        .iter()
        .flat_map(|field| field.text().split(is_sign))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
