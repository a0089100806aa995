//! An altered order token is never accepted, and only the very text that was issued is.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sluice::model::{Millis, Sku, User};
use sluice::token::{OrderTokens, TokenFault};
use sluice_fuzz::{NOW, TOKENS};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    id: [u8; 16],
    expires: u64,
    user: &'a str,
    sku: &'a str,
    /// Places of the issued text, and what is put there.
    changes: Vec<(u8, u8)>,
    text: Option<&'a str>,
}

fuzz_target!(|input: Input<'_>| {
    let tokens = OrderTokens::new(TOKENS).unwrap();
    let user = User::parse(input.user).unwrap_or_else(|_| User::parse("42").unwrap());
    let sku = Sku::parse(input.sku).unwrap_or_else(|_| Sku::parse("demo").unwrap());
    let issued = tokens.issue(input.id, &user, &sku, Millis(input.expires));
    let mut bytes = issued.clone().into_bytes();
    for (at, byte) in input.changes {
        if let Some(place) = bytes.get_mut(usize::from(at)) {
            *place = byte;
        }
    }
    let altered = input.text.map_or_else(|| String::from_utf8_lossy(&bytes).into_owned(), str::to_owned);
    let verdict = tokens.verify(&altered, &user, &sku, Some(Millis(NOW)));
    match verdict {
        Ok(_) => assert!(altered == issued && input.expires > NOW, "{altered}"),
        Err(TokenFault::Expired) => assert!(altered == issued && input.expires <= NOW, "{altered}"),
        Err(TokenFault::NotYours) => panic!("only an issued token can be somebody else's"),
        Err(TokenFault::Invalid) => assert_ne!(altered, issued),
    }
});
