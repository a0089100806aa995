//! How a user's JWT is signed.

/// One algorithm of RFC 7518 or RFC 8037. The configuration names it; a token never chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// HMAC with SHA-256, by a secret that the gate shares with the shop's sign-in.
    #[default]
    Hs256,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Hs256, Self::Es256, Self::Rs256, Self::EdDsa];

    /// Its name, as `alg` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }
}
