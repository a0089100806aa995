//! A sign-in with keys of its own: it signs users' JWTs by public-key algorithms and shows its keys as a set. And the
//! check of such signatures, natively, as the platform does it at the edge.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use serde_json::{Value, json};
use sluice::gate::ports::Signature;
use sluice::model::Algorithm;

/// `ring` makes no RSA keys; these were made for these tests and open nothing.
const RSA: [&[u8]; 2] = [include_bytes!("keys/rsa-1.der"), include_bytes!("keys/rsa-2.der")];

/// One key of the sign-in.
pub(crate) struct Signer {
    pub(crate) algorithm: Algorithm,
    pub(crate) kid: &'static str,
    key: Key,
}

enum Key {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    /// The `n`th key for that algorithm, 0 or 1.
    pub(crate) fn new(algorithm: Algorithm, n: usize) -> Self {
        let chance = SystemRandom::new();
        let key = match algorithm {
            Algorithm::Es256 => {
                let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &chance).unwrap();
                Key::Ec(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &chance).unwrap())
            }
            Algorithm::Rs256 => Key::Rsa(RsaKeyPair::from_der(RSA[n]).unwrap()),
            Algorithm::EdDsa => {
                Key::Ed(Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&chance).unwrap().as_ref()).unwrap())
            }
            Algorithm::Hs256 => panic!("a secret is no key of a set"),
        };
        Self { algorithm, kid: ["first", "second"][n], key }
    }

    /// The public key as a set shows it.
    pub(crate) fn jwk(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match &self.key {
            Key::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": text(x), "y": text(y) })
            }
            Key::Rsa(key) => {
                let parts = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({ "kty": "RSA", "n": text(&parts.n), "e": text(&parts.e) })
            }
            Key::Ed(key) => json!({ "kty": "OKP", "crv": "Ed25519", "x": text(key.public_key().as_ref()) }),
        };
        jwk["kid"] = self.kid.into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// The JWT of `user`, until `exp` (seconds since 1970).
    pub(crate) fn jwt(&self, user: &str, exp: u64) -> String {
        let claims = json!({ "iss": "https://shop.example", "aud": "sluice", "sub": user, "exp": exp });
        self.sign(&json!({ "alg": self.algorithm.name(), "kid": self.kid }), &claims)
    }

    /// Any header and claims, with a true signature.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let chance = SystemRandom::new();
        let signature = match &self.key {
            Key::Ec(key) => key.sign(&chance, message.as_bytes()).unwrap().as_ref().to_vec(),
            Key::Ed(key) => key.sign(message.as_bytes()).as_ref().to_vec(),
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &chance, message.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// A set of public keys as a sign-in serves it.
pub(crate) fn key_set(signers: &[&Signer]) -> String {
    json!({ "keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>() }).to_string()
}

/// Checks a signature as the platform would.
#[allow(dead_code, reason = "live tests have the platform itself")]
pub(crate) fn verify(check: Signature<'_>) -> bool {
    let jwk: Value = serde_json::from_str(check.jwk).unwrap();
    let member = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let Signature { message, signature, .. } = check;
    match check.algorithm {
        Algorithm::Es256 => {
            let point = [vec![4], member("x"), member("y")].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
        }
        Algorithm::Rs256 => {
            let parts = PublicKeyComponents { n: member("n"), e: member("e") };
            parts.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
        }
        Algorithm::EdDsa => UnparsedPublicKey::new(&ED25519, member("x")).verify(message, signature).is_ok(),
        Algorithm::Hs256 => false,
    }
}
