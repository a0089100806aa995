//! Work that one process at a time does, also when Redis is away.

use crate::support::{Server, ms, take, terms, until};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbErr};
use sluice_lock::{Fallback, Job, Turn};
use std::time::Duration;
use tempfile::TempDir;

/// A lease in SQLite, by SQLite's clock.
#[derive(Clone)]
struct Leases(DatabaseConnection);

const NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";

impl Leases {
    async fn open() -> (Self, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut options =
            ConnectOptions::new(format!("sqlite://{}?mode=rwc", folder.path().join("leases.sqlite").display()));
        options.max_connections(1);
        let sql = Database::connect(options).await.unwrap();
        sql.execute_unprepared("CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT, ends INTEGER)").await.unwrap();
        (Self(sql), folder)
    }

    async fn run(&self, statement: &str) -> Result<u64, DbErr> {
        Ok(self.0.execute_unprepared(statement).await?.rows_affected())
    }
}

impl Fallback for Leases {
    type Error = DbErr;

    async fn take(&self, name: &str, holder: &str, ttl: Duration) -> Result<bool, DbErr> {
        let ends = format!("{NOW} + {}", ttl.as_millis());
        let statement = format!(
            "INSERT INTO leases VALUES ('{name}', '{holder}', {ends}) ON CONFLICT (name) DO UPDATE \
             SET holder = '{holder}', ends = {ends} WHERE holder = '{holder}' OR ends < {NOW}"
        );
        Ok(self.run(&statement).await? == 1)
    }

    async fn give_up(&self, name: &str, holder: &str) -> Result<(), DbErr> {
        self.run(&format!("DELETE FROM leases WHERE name = '{name}' AND holder = '{holder}'")).await.map(|_| ())
    }
}

async fn job(server: &Server, leases: &Leases) -> Job<Leases> {
    let terms = terms(600).fenced().renewed_up_to(ms(2_500)).unwrap();
    Job::new(server.locks().await.simple("job", terms).unwrap(), leases.clone())
}

#[tokio::test]
async fn a_job_runs_under_the_lock_and_elsewhere_not() {
    let server = Server::start().await;
    let (leases, _folder) = Leases::open().await;
    let (job, other) = (job(&server, &leases).await, job(&server, &leases).await);
    let turn = job.run(|fence| async move {
        assert!(fence.is_some());
        other.run(|_| async {}).await.unwrap()
    });
    assert_eq!(turn.await.unwrap(), Turn::Done(Turn::Elsewhere));
    assert!(server.is_free("job").await, "it is released at the end");
    assert_eq!(leases.run("DELETE FROM leases").await.unwrap(), 0, "SQL was not asked");
}

#[tokio::test]
async fn without_redis_a_job_runs_under_the_lease_one_at_a_time() {
    let mut server = Server::start().await;
    let (leases, _folder) = Leases::open().await;
    let (job, other) = (job(&server, &leases).await, job(&server, &leases).await);
    server.kill();
    let turn = job.run(|fence| async move {
        assert_eq!(fence, None);
        // Longer than the ttl: the lease is renewed.
        tokio::time::sleep(ms(1_500)).await;
        other.run(|_| async {}).await.unwrap()
    });
    assert_eq!(turn.await.unwrap(), Turn::Done(Turn::Elsewhere));
    assert_eq!(leases.run("DELETE FROM leases").await.unwrap(), 0, "it was given up");
    assert_eq!(job.run(|_| async { 7 }).await.unwrap(), Turn::Done(7));
}

#[tokio::test]
async fn a_job_ends_at_its_longest_run_under_either() {
    let mut server = Server::start().await;
    let (leases, _folder) = Leases::open().await;
    let job = job(&server, &leases).await;
    assert_eq!(job.run(|_| std::future::pending::<()>()).await.unwrap(), Turn::Lost);
    server.kill();
    assert_eq!(job.run(|_| std::future::pending::<()>()).await.unwrap(), Turn::Lost);
    assert_eq!(job.run(|_| async { 7 }).await.unwrap(), Turn::Done(7), "and the lease is free again");
}

#[tokio::test]
async fn a_job_that_loses_its_lease_is_stopped() {
    let mut server = Server::start().await;
    let (leases, _folder) = Leases::open().await;
    let job = job(&server, &leases).await;
    let thief = async {
        until("the job holds the lock", || async { !server.is_free("job").await }).await;
        server.ask::<i64>(&["DEL", "test:lock:{job}"]).await;
    };
    let (turn, ()) = tokio::join!(job.run(|_| std::future::pending::<()>()), thief);
    assert_eq!(turn.unwrap(), Turn::Lost);
    server.kill();
    let thief = async {
        until("the job holds the lease", || async { leases.run("DELETE FROM leases").await.unwrap() == 1 }).await;
        leases.run("INSERT INTO leases VALUES ('job', 'another', 9e15)").await.unwrap();
    };
    let (turn, ()) = tokio::join!(job.run(|_| std::future::pending::<()>()), thief);
    assert_eq!(turn.unwrap(), Turn::Lost);
    assert_eq!(job.run(|_| async {}).await.unwrap(), Turn::Elsewhere, "another's lease was left alone");
}

#[tokio::test]
async fn without_redis_and_sql_there_is_no_turn() {
    let mut server = Server::start().await;
    let (leases, _folder) = Leases::open().await;
    let job = job(&server, &leases).await;
    let guard = take(&server.locks().await, "job", terms(5_000)).await;
    leases.run("DROP TABLE leases").await.unwrap();
    assert_eq!(job.run(|_| async {}).await.unwrap(), Turn::Elsewhere, "the lock alone decides while Redis answers");
    guard.release().await.unwrap();
    server.kill();
    let trouble = job.run(|_| async {}).await.unwrap_err();
    assert!(trouble.to_string().contains("locks are unavailable"), "{trouble}");
}
