//! The example, run as it is.

use crate::support::Server;

#[path = "../../examples/fencing.rs"]
#[allow(dead_code, reason = "its `main` is for people")]
mod example;

#[tokio::test]
async fn the_example_refuses_a_holder_that_lost_its_lease() {
    let server = Server::start().await;
    assert_eq!(example::run(&server.url()).await.unwrap(), (true, false));
}
