//! Calls: one HTTP request each, and the exchange of EVALSHA for EVAL.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::command::{self, Arg};
use crate::fault::Fault;
use crate::script::{Form, Script};
use crate::transport::{HttpReply, Transport, TransportFault};
use crate::value::{Envelope, Value};

/// A client over a transport. It learns once whether the backend knows the key-locking line of scripts.
#[derive(Debug)]
pub struct Client<T> {
    transport: T,
    key_locking: AtomicBool,
}

impl<T: Transport> Client<T> {
    /// A client for a backend that takes the key-locking line (Upstash, the bridge); where the first script shows
    /// that it does not, the client goes on without.
    pub fn new(transport: T) -> Self {
        Self { transport, key_locking: AtomicBool::new(true) }
    }

    /// Runs one command. `timeout` bounds the whole call.
    ///
    /// # Errors
    /// Any [`Fault`].
    pub async fn call(&self, name: &str, args: &[Arg<'_>], timeout: Duration) -> Result<Value, Fault> {
        self.send(command::command(name, args), timeout).await
    }

    /// Runs commands (built by [`command::command`] or [`command::eval`]) in one request, not as a transaction: one
    /// that fails does not keep the others from running.
    ///
    /// # Errors
    /// A [`Fault`] of the request; those of a single command stand in its place.
    pub async fn pipeline(&self, commands: &[String], timeout: Duration) -> Result<Vec<Result<Value, Fault>>, Fault> {
        let reply = self.post("/pipeline", command::pipeline(commands), timeout).await?;
        if reply.status != 200 {
            return Err(refused(&reply));
        }
        let items: Vec<Envelope> =
            serde_json::from_str(&reply.body).map_err(|_| Fault::Malformed("not a list of results"))?;
        if items.len() != commands.len() {
            return Err(Fault::Malformed("not one result a command"));
        }
        Ok(items.into_iter().map(|item| open(400, item)).collect())
    }

    /// Runs a script by its SHA1, and once by its source when Redis does not know it. `left` tells how much time
    /// the two together may still take.
    ///
    /// # Errors
    /// Any [`Fault`] but an unknown script.
    pub async fn eval(
        &self,
        script: &Script,
        keys: &[String],
        args: &[Arg<'_>],
        left: impl Fn() -> Duration,
    ) -> Result<Value, Fault> {
        match self.send(command::eval("EVALSHA", &self.form(script).sha1, keys, args), left()).await {
            Err(fault) if fault.is_unknown_script() => self.eval_whole(script, keys, args, left, fault).await,
            other => other,
        }
    }

    /// Runs a script as [`Self::eval`] does, and `also` (commands built by [`command::command`]) after it in the same
    /// request. Those run at most once, and what becomes of them is not told.
    ///
    /// # Errors
    /// Any [`Fault`] but an unknown script.
    pub async fn eval_and(
        &self,
        script: &Script,
        keys: &[String],
        args: &[Arg<'_>],
        also: Vec<String>,
        left: impl Fn() -> Duration,
    ) -> Result<Value, Fault> {
        let mut commands = also;
        commands.insert(0, command::eval("EVALSHA", &self.form(script).sha1, keys, args));
        let replies = self.pipeline(&commands, left()).await?;
        match replies.into_iter().next() {
            Some(Err(fault)) if fault.is_unknown_script() => self.eval_whole(script, keys, args, left, fault).await,
            Some(other) => other,
            None => Err(Fault::Malformed("not one result a command")),
        }
    }

    /// Sends a script by its source, because Redis does not know it: `fault`.
    async fn eval_whole(
        &self,
        script: &Script,
        keys: &[String],
        args: &[Arg<'_>],
        left: impl Fn() -> Duration,
        fault: Fault,
    ) -> Result<Value, Fault> {
        let form = self.form(script);
        let timeout = left();
        if timeout.is_zero() {
            return Err(fault);
        }
        match self.send(command::eval("EVAL", &form.source, keys, args), timeout).await {
            Err(fault) if fault.is_unknown_flag() && self.key_locking.swap(false, Ordering::Relaxed) => {
                self.send(command::eval("EVAL", &self.form(script).source, keys, args), left()).await
            }
            other => other,
        }
    }

    fn form<'a>(&self, script: &'a Script) -> &'a Form {
        if self.key_locking.load(Ordering::Relaxed) { &script.key_locking } else { &script.plain }
    }

    async fn send(&self, body: String, timeout: Duration) -> Result<Value, Fault> {
        let reply = self.post("/", body, timeout).await?;
        match (reply.status, serde_json::from_str(&reply.body)) {
            (200, Ok(envelope)) => open(200, envelope),
            _ => Err(refused(&reply)),
        }
    }

    async fn post(&self, path: &'static str, body: String, timeout: Duration) -> Result<HttpReply, Fault> {
        self.transport.post(path, body, timeout).await.map_err(|fault| match fault {
            TransportFault::Timeout => Fault::Timeout,
            TransportFault::Network(what) => Fault::Unreachable(what),
        })
    }
}

fn open(status: u16, envelope: Envelope) -> Result<Value, Fault> {
    match (envelope.error, envelope.result) {
        (Some(error), _) => Err(Fault::of_error(status, error)),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(Fault::Malformed("neither a result nor an error")),
    }
}

/// An answer that is no success: by its text when it is a JSON error, else by its status alone.
fn refused(reply: &HttpReply) -> Fault {
    match (reply.status, serde_json::from_str(&reply.body)) {
        (200, _) => Fault::Malformed("not a result"),
        (status, Ok(Envelope { error: Some(error), .. })) => Fault::of_error(status, error),
        (401, _) => Fault::Unauthorized,
        (status, _) => Fault::Unavailable { status, message: "no JSON error".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Answers with what it was given, in order, and keeps what was sent.
    struct Scripted {
        answers: RefCell<Vec<Result<HttpReply, TransportFault>>>,
        sent: RefCell<Vec<String>>,
        paths: RefCell<Vec<&'static str>>,
        waits: RefCell<Vec<Duration>>,
    }

    impl Transport for Scripted {
        async fn post(&self, path: &'static str, body: String, wait: Duration) -> Result<HttpReply, TransportFault> {
            self.sent.borrow_mut().push(body);
            self.paths.borrow_mut().push(path);
            self.waits.borrow_mut().push(wait);
            self.answers.borrow_mut().remove(0)
        }
    }

    fn client(answers: &[(u16, &str)]) -> Client<Scripted> {
        let answers = answers.iter().map(|(status, body)| Ok(HttpReply { status: *status, body: (*body).to_owned() }));
        scripted(answers.collect())
    }

    fn scripted(answers: Vec<Result<HttpReply, TransportFault>>) -> Client<Scripted> {
        let (sent, paths, waits) = Default::default();
        Client::new(Scripted { answers: RefCell::new(answers), sent, paths, waits })
    }

    fn eval(client: &Client<Scripted>) -> Result<Value, Fault> {
        let script = Script::new(&["return 1"]);
        pollster::block_on(client.eval(&script, &["k".to_owned()], &[], || Duration::from_millis(100)))
    }

    fn names(client: &Client<Scripted>) -> Vec<String> {
        let sent = client.transport.sent.borrow();
        sent.iter().map(|body| body.split('"').nth(1).unwrap_or_default().to_owned()).collect()
    }

    const NOSCRIPT: (u16, &str) = (400, r#"{"error":"NOSCRIPT No matching script. Please use EVAL."}"#);
    const ONE: (u16, &str) = (200, r#"{"result":1}"#);

    #[test]
    fn r_ratelimit_js_122_an_unknown_script_is_sent_once_in_full() {
        let client = client(&[NOSCRIPT, ONE]);
        assert_eq!(eval(&client), Ok(Value::Int(1)));
        assert_eq!(names(&client), ["EVALSHA", "EVAL"], "never SCRIPT LOAD");
    }

    #[test]
    fn what_goes_along_with_a_script_runs_once_although_the_script_is_sent_again() {
        let client = client(&[(200, r#"[{"error":"NOSCRIPT No matching script."},{"result":7}]"#), ONE]);
        let script = Script::new(&["return 1"]);
        let also = vec![command::command("HINCRBY", &["h".into(), "f".into(), 7u64.into()])];
        let keys = ["k".to_owned()];
        let reply = client.eval_and(&script, &keys, &[], also, || Duration::from_millis(100));
        assert_eq!(pollster::block_on(reply), Ok(Value::Int(1)));
        let sent = client.transport.sent.borrow();
        assert!(
            sent[0].starts_with(r#"[["EVALSHA","#) && sent[0].ends_with(r#",["HINCRBY","h","f",7]]"#),
            "{}",
            sent[0]
        );
        assert!(sent[1].starts_with(r#"["EVAL","#), "{}", sent[1]);
    }

    #[test]
    fn r_ratelimit_js_pr137_whatever_redis_says_no_script_is_ever_loaded() {
        let refusal = (400, r#"{"error":"ERR Unexpected flag in script shebang: allow-key-locking"}"#);
        let all: [&[(u16, &str)]; 8] = [
            &[ONE],
            &[NOSCRIPT, ONE],
            &[NOSCRIPT, NOSCRIPT],
            &[NOSCRIPT, refusal, ONE],
            &[NOSCRIPT, refusal, NOSCRIPT],
            &[NOSCRIPT, (503, "")],
            &[(400, r#"{"error":"ERR unknown command 'evalsha'"}"#)],
            &[(401, "")],
        ];
        for answers in all {
            let client = client(answers);
            let _ = eval(&client);
            let names = names(&client);
            assert_eq!(names.len(), answers.len(), "{answers:?}: {names:?}");
            assert!(names[0] == "EVALSHA" && names[1..].iter().all(|name| name == "EVAL"), "{names:?}");
        }
    }

    #[test]
    fn r_redis_js_pr1379_a_deadline_is_of_one_call_and_its_passing_is_a_fault_of_its_own() {
        let late = || Err(TransportFault::Timeout);
        let found = Ok(HttpReply { status: 200, body: ONE.1.to_owned() });
        let client = scripted(vec![late(), found, late()]);
        let call = |ms| pollster::block_on(client.call("X", &[], Duration::from_millis(ms)));
        assert_eq!(call(10), Err(Fault::Timeout), "r_redis_js_778: never a reply, never null");
        assert_eq!(call(70), Ok(Value::Int(1)), "a call after it has its own time");
        assert_eq!(call(30), Err(Fault::Timeout));
        assert_eq!(*client.transport.waits.borrow(), [10, 70, 30].map(Duration::from_millis));
    }

    #[test]
    fn r_redis_js_pr1379_the_second_call_of_a_script_has_what_the_first_left() {
        let left = RefCell::new(vec![Duration::from_millis(60), Duration::from_millis(100)]);
        let client = client(&[NOSCRIPT, ONE]);
        let script = Script::new(&["return 1"]);
        let reply = pollster::block_on(client.eval(&script, &[], &[], || left.borrow_mut().pop().unwrap()));
        assert_eq!(reply, Ok(Value::Int(1)));
        assert_eq!(*client.transport.waits.borrow(), [100, 60].map(Duration::from_millis));
        let client = self::client(&[NOSCRIPT]);
        let none_left = RefCell::new(vec![Duration::ZERO, Duration::from_millis(100)]);
        let reply = pollster::block_on(client.eval(&script, &[], &[], || none_left.borrow_mut().pop().unwrap()));
        assert!(reply.is_err_and(|fault| fault.is_unknown_script()), "nothing is sent when no time is left");
    }

    #[test]
    fn r_gitdiagram_pr145_a_script_travels_as_one_array_of_words() {
        let client = client(&[NOSCRIPT, ONE]);
        let source = "return {KEYS[1], \"a\\n\"} -- ' \u{1F642}";
        let args = [Arg::Str("a\"b\\c\n/?&#%"), Arg::Int(u64::MAX), Arg::Str("")];
        let reply = pollster::block_on(client.eval(
            &Script::new(&[source]),
            &["k:{p0}".to_owned(), "/a?b".to_owned()],
            &args,
            || Duration::from_secs(1),
        ));
        assert_eq!(reply, Ok(Value::Int(1)));
        for (n, body) in client.transport.sent.borrow().iter().enumerate() {
            let words: serde_json::Value = serde_json::from_str(body).unwrap();
            let words = words.as_array().unwrap();
            assert_eq!(words[0], ["EVALSHA", "EVAL"][n]);
            assert_eq!(
                words[2..],
                serde_json::json!([2, "k:{p0}", "/a?b", "a\"b\\c\n/?&#%", u64::MAX, ""]).as_array().unwrap()[..]
            );
            assert!(n == 0 || words[1].as_str().unwrap().ends_with(source), "byte for byte: {}", words[1]);
        }
    }

    #[test]
    fn r_worldmonitor_pr2524_what_a_caller_passes_is_never_in_the_address() {
        let client = client(&[ONE, NOSCRIPT, ONE, (200, r#"[{"result":1}]"#)]);
        let secret = "a/../b?c=d";
        let _ = pollster::block_on(client.call("SET", &[Arg::Str(secret)], Duration::ZERO));
        let _ = eval(&client);
        let _ = pollster::block_on(client.pipeline(&[command::command("SET", &[Arg::Str(secret)])], Duration::ZERO));
        assert_eq!(*client.transport.paths.borrow(), ["/", "/", "/", "/pipeline"]);
        let sent = client.transport.sent.borrow();
        assert!(sent[0].contains(secret) && sent[3].contains(secret), "{sent:?}");
    }

    #[test]
    fn a_backend_that_refuses_the_key_locking_line_gets_the_plain_script_from_then_on() {
        let refusal = (400, r#"{"error":"ERR Unexpected flag in script shebang: allow-key-locking"}"#);
        let client = client(&[NOSCRIPT, refusal, ONE, ONE]);
        assert_eq!(eval(&client), Ok(Value::Int(1)));
        assert_eq!(eval(&client), Ok(Value::Int(1)));
        assert_eq!(names(&client), ["EVALSHA", "EVAL", "EVAL", "EVALSHA"]);
        let sent = client.transport.sent.borrow();
        assert!(sent[2].starts_with(r#"["EVAL","return 1""#));
        assert!(sent[3].contains("e0e1f9fabfc9d4800c877a703b823ac0578ff8db"));
    }

    #[test]
    fn a_failure_of_the_request_is_not_retried() {
        let client = client(&[(503, "oops")]);
        assert!(matches!(eval(&client), Err(Fault::Unavailable { status: 503, .. })));
    }

    #[test]
    fn r_redis_js_37_large_integers_survive_as_text() {
        let client = client(&[(200, r#"{"result":["101660004000155481467",9007199254740993,null]}"#)]);
        let reply = pollster::block_on(client.call("X", &[], Duration::ZERO)).unwrap();
        let want = [Value::Str("101660004000155481467".into()), Value::Int(9_007_199_254_740_993), Value::Null];
        assert_eq!(reply, Value::Array(want.into()));
    }

    #[test]
    fn each_command_of_a_pipeline_has_its_own_outcome() {
        let client = client(&[(200, r#"[{"result":"OK"},{"error":"ERR no such thing"}]"#)]);
        let commands = [command::command("A", &[]), command::command("B", &[])];
        let replies = pollster::block_on(client.pipeline(&commands, Duration::ZERO)).unwrap();
        assert_eq!(replies, [Ok(Value::Str("OK".into())), Err(Fault::Refused("ERR no such thing".into()))]);
    }

    #[test]
    fn what_is_no_answer_is_malformed() {
        for body in ["", "{}", "[]", "1", r#"{"result"}"#, "<html>"] {
            assert!(matches!(eval(&client(&[(200, body)])), Err(Fault::Malformed(_))), "{body:?}");
        }
    }
}
