//! What is behind the tests: one redis-server, or with `LIVE_REDIS=cluster` three masters and 16 partitions; and a
//! connection that looks into either.

use redis::{Connection, ConnectionLike, RedisResult, Value};
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use xtask::stack::{Builder, Stack};

/// Whether Redis is a cluster in this run.
pub fn is_cluster() -> bool {
    std::env::var("LIVE_REDIS").is_ok_and(|kind| kind == "cluster")
}

/// A stack with such a Redis.
pub fn stack() -> Builder {
    if is_cluster() { Stack::builder().cluster(3) } else { Stack::builder() }
}

/// The keys as gate and origin of such a stack build them.
pub fn keyspace() -> Keyspace {
    Keyspace::new("sl1", if is_cluster() { 16 } else { 1 })
}

/// A connection to one Redis, or to all masters: what names a partition goes to its master, all else to each.
pub struct Redis {
    masters: Vec<Connection>,
    /// The master of each slot's partition, as the stack has dealt them.
    of: Box<dyn Fn(u16) -> usize + Send>,
}

impl Redis {
    /// One server only.
    pub fn at(url: &str) -> Self {
        Self { masters: vec![open(url)], of: Box::new(|_| 0) }
    }

    pub fn of(stack: &Stack) -> Self {
        match stack.cluster() {
            None => Self::at(&stack.redis_url()),
            Some(cluster) => {
                let masters: Vec<Connection> = cluster.masters().iter().map(|url| open(url)).collect();
                let of: Vec<usize> = (0..16_384).map(|slot| cluster.master_of(slot)).collect();
                Self { masters, of: Box::new(move |slot| of[usize::from(slot)]) }
            }
        }
    }

    /// The master of the first partition that a command's arguments name; a script's text is none of them. Any master
    /// will do for a script without keys.
    fn master(&self, packed: &[u8]) -> Option<usize> {
        let words = words(packed);
        let script = words[0].eq_ignore_ascii_case("EVAL");
        if script && words[2] == "0" {
            return Some(0);
        }
        let p = words.iter().skip(if script { 3 } else { 1 }).find_map(|word| partition(word))?;
        Some((self.of)(Keyspace::default().slot(p)))
    }
}

impl ConnectionLike for Redis {
    fn req_packed_command(&mut self, packed: &[u8]) -> RedisResult<Value> {
        if let [only] = &mut self.masters[..] {
            return only.req_packed_command(packed);
        }
        if let Some(master) = self.master(packed) {
            return self.masters[master].req_packed_command(packed);
        }
        let replies: RedisResult<Vec<Value>> = self.masters.iter_mut().map(|m| m.req_packed_command(packed)).collect();
        Ok(replies?.into_iter().reduce(merged).unwrap())
    }

    fn req_packed_commands(&mut self, packed: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        // The pipelines of the tests stay in one partition.
        let master = if self.masters.len() == 1 { 0 } else { self.master(packed).unwrap() };
        self.masters[master].req_packed_commands(packed, offset, count)
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        self.masters.iter_mut().all(ConnectionLike::check_connection)
    }

    fn is_open(&self) -> bool {
        self.masters.iter().all(ConnectionLike::is_open)
    }
}

fn open(url: &str) -> Connection {
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

/// The words of the first command.
fn words(mut packed: &[u8]) -> Vec<String> {
    let count = number(&mut packed);
    let word = |_| {
        let length = number(&mut packed);
        let (word, rest) = packed.split_at(length);
        packed = &rest[2..];
        String::from_utf8_lossy(word).into_owned()
    };
    (0..count).map(word).collect()
}

/// The number in a line such as `*2` or `$3`, which is taken away.
fn number(packed: &mut &[u8]) -> usize {
    let end = packed.iter().position(|byte| *byte == b'\r').unwrap();
    let number = str::from_utf8(&packed[1..end]).unwrap().parse().unwrap();
    *packed = &packed[end + 2..];
    number
}

/// `{p7}`
fn partition(word: &str) -> Option<Partition> {
    let (_, rest) = word.split_once("{p")?;
    rest.split_once('}')?.0.parse().ok().map(Partition)
}

/// One reply of two: numbers add up, lists and texts follow each other.
fn merged(all: Value, next: Value) -> Value {
    match (all, next) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a + b),
        (Value::Array(a), Value::Array(b)) => Value::Array([a, b].concat()),
        (Value::BulkString(a), Value::BulkString(b)) => Value::BulkString([a, b"\r\n".to_vec(), b].concat()),
        (all, _) => all,
    }
}
