//! The file of databases and tokens.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Deserialize;

use super::{ConfigError, Database, Target, TlsFiles};
use crate::policy::Access;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    database: Vec<DatabaseEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatabaseEntry {
    name: String,
    redis: String,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    #[serde(default)]
    token: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    token: String,
    #[serde(default)]
    read_only: bool,
    commands: Option<Vec<String>>,
    prefix: Option<String>,
}

pub(super) fn read(text: &str) -> Result<Vec<Database>, ConfigError> {
    // The error's own display would quote the line, and with it a token.
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        ConfigError::File(format!("line {}: {}", line.unwrap_or(1), error.message()))
    })?;
    if file.database.is_empty() {
        return Err(ConfigError::File("there is no [[database]]".to_owned()));
    }
    let databases = file.database.into_iter().map(database).collect::<Result<Vec<_>, _>>()?;
    distinct(&databases)?;
    Ok(databases)
}

fn database(entry: DatabaseEntry) -> Result<Database, ConfigError> {
    let files = TlsFiles { ca: entry.ca, cert: entry.cert, key: entry.key };
    let target = Target::parse(&entry.redis, &files)?;
    let mut database = Database { name: entry.name, target, grants: Vec::new() };
    for token in entry.token {
        let access = Access::new(token.read_only, token.commands.as_deref(), token.prefix.as_deref());
        database.grant(&token.token, access)?;
    }
    if database.grants.is_empty() {
        return Err(ConfigError::NoToken(database.name));
    }
    Ok(database)
}

/// Refuses two grants for one token: which database would it open?
pub(super) fn distinct(databases: &[Database]) -> Result<(), ConfigError> {
    let grants: Vec<_> = databases.iter().flat_map(|db| db.grants.iter().map(move |grant| (db, grant))).collect();
    for (index, (database, grant)) in grants.iter().enumerate() {
        if grants.iter().skip(index + 1).any(|(_, other)| grant.token.same(&other.token)) {
            return Err(ConfigError::SameToken(database.name.clone()));
        }
    }
    let mut names = HashSet::new();
    match databases.iter().find(|database| !names.insert(&database.name)) {
        Some(twice) => Err(ConfigError::File(format!("two databases are called {}", twice.name))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &str) -> String {
        read(document).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn databases_and_tokens_are_read() {
        let document = r#"
            [[database]]
            name = "shop"
            redis = "redis://127.0.0.1:6379/1"
            [[database.token]]
            token = "all"
            [[database.token]]
            token = "gate"
            commands = ["EVAL", "EVALSHA", "get"]
            prefix = "sl1:"
            [[database]]
            name = "other"
            redis = "redis://127.0.0.1:6379/2"
            [[database.token]]
            token = "reads"
            read_only = true
        "#;
        let databases = read(document).unwrap();
        assert_eq!(
            databases.iter().map(|d| (d.name.as_str(), d.grants.len())).collect::<Vec<_>>(),
            [("shop", 2), ("other", 1)]
        );
    }

    #[test]
    fn mistakes_are_named_by_line_and_never_quoted() {
        let wrong = "[[database]]\nname = \"a\"\nredis = \"redis://h\"\n[[database.token]]\ntokn = \"s3cret\"";
        let shown = text(wrong);
        assert!(shown.contains("line 5") && shown.contains("tokn") && !shown.contains("s3cret"), "{shown}");
        assert!(text("").contains("database"));
        let one = "[[database]]\nname = \"a\"\nredis = \"redis://h\"\n";
        assert!(text(one).contains("no token"));
        let token = "[[database.token]]\ntoken = \"t\"\n";
        assert!(text(&format!("{one}{token}{token}")).contains("given twice"));
        assert!(text(&format!("{one}[[database.token]]\ntoken = \"\"")).contains("empty"));
    }
}
