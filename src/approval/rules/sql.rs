//! Statements that destroy tables or rows, in whatever way a database client is given them.

use super::{Found, excerpt};
use crate::approval::reading::{Invocation, Stdin};

/// Clients that read SQL.
const CLIENTS: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "clickhouse-client",
    "clickhouse",
    "duckdb",
    "cockroach",
    "usql",
    "pgcli",
    "mycli",
    "litecli",
    "isql",
    "bq",
    "snowsql",
    "sqlplus",
    "turso",
    "wrangler",
    "cqlsh",
    "trino",
    "presto",
    "impala-shell",
    "beeline",
    "hive",
    "spark-sql",
    "osqueryi",
    "prisma",
    "supabase",
    "athenacli",
    "db2",
    "rails",
    "dbt",
    "influx",
    "questdb",
    "surreal",
    "steampipe",
    "harlequin",
    "mssql-cli",
    "odbcinst",
    "tarantool",
];
/// Clients of databases without SQL, and what destroys in them.
const OTHERS: &[(&[&str], &[&str])] = &[
    (&["mongo", "mongosh"], &["dropdatabase(", ".drop(", ".deletemany({})", ".remove({})", "dropindexes("]),
    (&["redis-cli", "valkey-cli", "keydb-cli"], &["flushall", "flushdb"]),
];
/// Longest text that is searched, in bytes.
const TEXT_BYTES_MAX: usize = 128 << 10;

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    if let Some((_, words)) = OTHERS.iter().find(|(names, _)| names.contains(&name)) {
        return other(name, words, call, found);
    }
    // Without a client, as it is pasted: `DROP TABLE t` is no program, and surely not meant as one.
    let pasted = matches!(name, "drop" | "truncate" | "delete" | "alter") && !call.arguments.is_empty();
    if pasted {
        let line = call.line();
        return text(name, &line, found);
    }
    if !CLIENTS.contains(&name) {
        return;
    }
    for argument in &call.arguments {
        let value = argument.text();
        // `--command=…` and `-c…`
        text(
            name,
            value.split_once('=').filter(|(option, _)| option.starts_with('-')).map_or(value, |(_, v)| v),
            found,
        );
        if let Some(attached) = value.strip_prefix("-c").or_else(|| value.strip_prefix("-e")) {
            text(name, attached, found);
        }
    }
    if let Some(Stdin::Document(field)) = call.stdin.as_deref() {
        text(name, field.text(), found);
    } else if let Some(piped) = call.stdin.as_deref().and_then(Stdin::text) {
        text(name, piped, found);
    }
}

fn other(name: &str, words: &[&str], call: &Invocation, found: &mut Found) {
    let mut all: String = call.arguments.iter().map(|field| field.text()).collect::<Vec<_>>().join(" ");
    all.push_str(call.stdin.as_deref().and_then(Stdin::text).unwrap_or_default());
    let squeezed: String =
        all.to_lowercase().chars().filter(|c| !c.is_whitespace()).take(TEXT_BYTES_MAX).collect();
    if let Some(word) = words.iter().find(|word| squeezed.contains(**word)) {
        let reason = format!("It deletes data in a database, with `{word}`.");
        found.add("database-delete", reason, format!("{name} {word}"));
    }
}

fn text(client: &str, sql: &str, found: &mut Found) {
    if sql.len() > TEXT_BYTES_MAX {
        let reason = "A statement for a database in it is too long to be checked.".to_owned();
        return found.add("sql-unread", reason, excerpt(sql));
    }
    for statement in statements(sql) {
        let words: Vec<&str> = statement.iter().map(String::as_str).collect();
        let Some((rule, verb, target)) = destroys(&words) else { continue };
        let reason = match rule {
            "sql-delete" => format!("It deletes every row of `{target}`: there is no `WHERE`."),
            _ => format!("It destroys data in a database: `{verb} {target}`."),
        };
        found.about(rule, reason, format!("{client} {verb}"), Some(target.to_owned()));
    }
}

/// Rule, verb and target of a statement that destroys something.
fn destroys<'a>(words: &[&'a str]) -> Option<(&'static str, String, &'a str)> {
    const OBJECTS: &[&str] = &[
        "TABLE",
        "DATABASE",
        "SCHEMA",
        "INDEX",
        "VIEW",
        "USER",
        "ROLE",
        "FUNCTION",
        "TRIGGER",
        "SEQUENCE",
        "TYPE",
        "COLUMN",
        "CONSTRAINT",
        "MATERIALIZED",
        "KEYSPACE",
        "TABLESPACE",
        "EXTENSION",
        "PARTITION",
        "OWNED",
        "PROCEDURE",
        "COLLECTION",
        "TEMPORARY",
        "FOREIGN",
        "PUBLICATION",
        "SUBSCRIPTION",
        "POLICY",
        "STREAM",
    ];
    let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
    let at = |nth: usize| upper.get(nth).map(String::as_str);
    let last = words.last().copied().unwrap_or_default();
    for nth in 0..upper.len() {
        // A verb begins a statement, or follows what may stand before it.
        let begins = nth == 0
            || matches!(
                at(nth - 1),
                Some("BEGIN" | "AS" | ")" | "THEN" | "ELSE" | "DO" | "EXPLAIN" | "ANALYZE" | "EXECUTE")
            )
            || matches!(at(0), Some("ALTER"));
        if !begins {
            continue;
        }
        match at(nth) {
            Some("DROP") if at(nth + 1).is_some_and(|object| OBJECTS.contains(&object)) => {
                let object = at(nth + 1).unwrap_or_default();
                return Some(("sql-drop", format!("DROP {object}"), last));
            }
            Some("TRUNCATE") if at(nth + 1).is_some() => {
                return Some(("sql-truncate", "TRUNCATE".into(), last));
            }
            Some("DELETE") if at(nth + 1) == Some("FROM") => {
                let rest = upper.get(nth..).unwrap_or_default();
                if !is_limited(rest) {
                    return Some((
                        "sql-delete",
                        "DELETE without WHERE".into(),
                        words.get(nth + 2).copied().unwrap_or_default(),
                    ));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a `WHERE` says more than that everything is meant.
fn is_limited(words: &[String]) -> bool {
    let Some(at) = words.iter().position(|word| word == "WHERE") else { return false };
    let condition: String = words.get(at + 1..).unwrap_or_default().concat();
    !matches!(condition.as_str(), "" | "1" | "TRUE" | "1=1" | "0=0" | "'1'='1'" | "NOTFALSE")
}

/// The statements of a text in words, without comments and without what stands in quotes.
fn statements(sql: &str) -> Vec<Vec<String>> {
    let (mut done, mut statement, mut word) = (vec![], vec![], String::new());
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        let starts_comment =
            (c == '-' && chars.peek() == Some(&'-')) || (c == '/' && chars.peek() == Some(&'*'));
        if starts_comment {
            let block = c == '/';
            let mut before = ' ';
            for next in chars.by_ref() {
                if (!block && next == '\n') || (block && before == '*' && next == '/') {
                    break;
                }
                before = next;
            }
            finish(&mut statement, &mut word);
            continue;
        }
        match c {
            '\'' => {
                // A text is a value, whatever it says.
                chars.by_ref().take_while(|next| *next != '\'').for_each(drop);
                word.push('\'');
            }
            ';' => {
                finish(&mut statement, &mut word);
                done.push(std::mem::take(&mut statement));
            }
            '(' | ')' | ',' => {
                finish(&mut statement, &mut word);
                statement.push(c.to_string());
            }
            c if c.is_whitespace() => finish(&mut statement, &mut word),
            '"' | '`' | '[' | ']' => {}
            c => word.push(c),
        }
    }
    finish(&mut statement, &mut word);
    done.push(statement);
    done
}

fn finish(statement: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        statement.push(std::mem::take(word));
    }
}
