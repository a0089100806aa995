//! The three lines that a newcomer pastes: a token, an order, its status. POSIX shell, curl and sed, no jq.

/// The lines for one sale and one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    sku: String,
    page: String,
    token: String,
    order: String,
    status: String,
}

impl Lines {
    /// Lines that talk to the Worker at `edge` as the user that `jwt` names.
    #[must_use]
    pub fn new(edge: &str, sku: &str, jwt: &str) -> Self {
        const USER: &str = r#"-H "Authorization: Bearer $JWT""#;
        let sale = format!("{edge}/v1/sales/{sku}");
        Self {
            sku: sku.to_owned(),
            page: format!("{edge}/?sku={sku}#sign-in={jwt}"),
            token: format!(
                r#"JWT='{jwt}'; ANSWER=$(curl -sS -X POST {sale}/token {USER}); echo "$ANSWER"; TOKEN={}"#,
                field("token")
            ),
            order: format!(
                r#"ANSWER=$(curl -sS {sale}/orders {USER} -H "Sluice-Order-Token: $TOKEN" -H 'Content-Type: application/json' -d '{{"quantity":1}}'); echo "$ANSWER"; ORDER={}"#,
                field("order_id")
            ),
            status: format!(r#"curl -sS "{edge}/v1/orders/$ORDER" {USER}; echo"#),
        }
    }

    /// The sale.
    #[must_use]
    pub fn sku(&self) -> &str {
        &self.sku
    }

    /// The address of the buyer's page.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// What each line does, and the line.
    #[must_use]
    pub fn all(&self) -> [(&'static str, &str); 3] {
        [("an order token", self.token.as_str()), ("the order", &self.order), ("its status", &self.status)]
    }
}

/// Shell that takes the value of a text field out of `$ANSWER`.
fn field(name: &str) -> String {
    format!(r#"$(printf %s "$ANSWER" | sed -n 's/.*"{name}" *: *"\([^"]*\)".*/\1/p')"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn lines() -> Lines {
        Lines::new("http://localhost:8787", "demo", "a.b.c")
    }

    #[test]
    fn each_is_one_line() {
        for (what, line) in lines().all() {
            assert!(!line.contains('\n'), "{what}");
            assert!(line.contains("http://localhost:8787/v1/"), "{what}");
        }
    }

    /// Runs the lines with a curl that prints its arguments inside of an answer.
    #[test]
    fn values_travel_from_line_to_line() {
        let folder = tempfile::tempdir().unwrap();
        let curl = folder.path().join("curl");
        let answer = r#"#!/bin/sh
case "$*" in
  */token*) echo '{"token":"T-1","expires_at":5}';;
  */v1/sales/demo/orders*"Sluice-Order-Token: T-1"*) echo '{"order_id":"O-2","status":"queued"}';;
  */v1/orders/O-2*"Bearer a.b.c"*) echo '{"order_id":"O-2","status":"queued","sku":"demo"}';;
  *) echo "unexpected: $*";;
esac"#;
        std::fs::write(&curl, answer).unwrap();
        std::fs::set_permissions(&curl, std::fs::Permissions::from_mode(0o755)).unwrap();
        let script = lines().all().map(|(_, line)| line).join("\n");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &script]).env("PATH", path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("unexpected"), "{text}");
        assert!(text.contains(r#""sku":"demo""#), "{text}");
    }
}
