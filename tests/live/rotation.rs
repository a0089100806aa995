//! Secrets are lists: the first signs, all verify, and no purpose's secret serves another.

use std::time::Duration;

use sluice::assertion::{Assertions, HEADER};
use sluice::model::Millis;
use xtask::stack::Secrets;
use xtask::{clock, user};

use crate::foreign::Foreign;
use crate::scene::{Scene, builder};

#[tokio::test]
async fn what_was_signed_before_a_rotation_still_holds_and_new_things_are_signed_by_the_first() {
    let (old, new) = (Secrets::random().unwrap(), Secrets::random().unwrap());
    let both = |new: &str, old: &str| format!("{new}, {old}");
    let builder = builder()
        .secrets(old.clone())
        .binding("USER_JWT_SECRET", &both(&new.user_jwt, &old.user_jwt))
        .binding("ORDER_TOKEN_SECRET", &both(&new.order_token, &old.order_token))
        .binding("ASSERTION_SECRET", &both(&new.assertion, &old.assertion));
    let scene = Scene::built(builder, Foreign::accepting().await).await;
    let edge = &scene.edge;
    // The client still has what the old secrets signed.
    edge.order("42", "demo", &edge.token("42", "demo")).send().await.is(202);
    let seen = scene.origin.only();
    let now = Millis(clock::unix_ms());
    assert!(Assertions::new(&new.assertion).unwrap().verify(seen.header(HEADER).unwrap(), now).is_ok());

    let jwt = user::jwt(&new.user_jwt, "43", Duration::from_secs(60)).unwrap();
    let issued = edge.issue("43", "demo").bearer(&jwt).send().await;
    issued.is(200);
    let token = issued.json()["token"].as_str().unwrap().to_owned();
    edge.order("43", "demo", &token).bearer(&jwt).send().await.is(202);
    let third = Secrets::random().unwrap();
    let jwt = user::jwt(&third.user_jwt, "43", Duration::from_secs(60)).unwrap();
    edge.issue("43", "demo").bearer(&jwt).send().await.is_refused(401, "identity_invalid", "a secret of nobody");
}
