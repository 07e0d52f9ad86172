//! Ed25519 signatures of an index, in minisign's form, so that `minisign` makes and checks them
//! too.

use std::fmt;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minisign::{PublicKey, SecretKey, SecretKeyBox, SignatureBox};

use crate::release::http::printable;

/// What is added to an index's name for its signature.
pub const SUFFIX: &str = ".minisig";
/// Largest signature file, in bytes.
pub const SIZE: u64 = 4096;

/// Keys a site trusts. With one of them at least, an index has to be signed by one of them.
#[derive(Clone, Default)]
pub struct Keys(Vec<PublicKey>);

/// Who signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBy {
    /// Id of the key, as minisign prints it.
    pub key: String,
    /// What the signer says; it is signed as well.
    pub comment: String,
}

/// A signature that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is none.
    #[error("it is not signed, but a signature is required here")]
    Missing,
    /// The signature file cannot be read.
    #[error("its signature cannot be read ({0})")]
    Unreadable(String),
    /// By somebody else.
    #[error("it is signed by key {found}, trusted are {}", trusted.join(", "))]
    UnknownKey {
        /// Id of its key.
        found: String,
        /// Ids of the keys.
        trusted: Vec<String>,
    },
    /// Not of these bytes.
    #[error("its signature does not fit: it was changed after it was signed ({0})")]
    Wrong(String),
}

impl SignatureError {
    pub(super) const fn advice(&self) -> &'static str {
        match self {
            Self::Missing => "sign it with `cxfw mirror --sign KEY`",
            Self::Unreadable(_) | Self::Wrong(_) => {
                "do not use this mirror before you know why; its maker can sign it anew"
            }
            Self::UnknownKey { .. } => {
                "if you trust that key, add it to `keys` in the configuration"
            }
        }
    }
}

/// A key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither a key nor a file with one.
    #[error("`{text}` is no minisign public key and no file with one ({reason})")]
    Public {
        /// As it was written.
        text: String,
        /// Why not.
        reason: String,
    },
    /// The file cannot be read, or is no secret key.
    #[error("{}: no minisign secret key that can be used ({reason})", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The key is locked.
    #[error("{}: the key is protected by a password", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The bytes could not be signed.
    #[error("cannot sign: {0}")]
    Sign(String),
}

impl Keys {
    /// Keys as they are written in a configuration: the 56 characters of a minisign public key,
    /// or the path of a file with one.
    ///
    /// # Errors
    /// [`KeyError::Public`].
    pub fn new<S: AsRef<str>>(texts: &[S]) -> Result<Self, KeyError> {
        texts
            .iter()
            .map(|text| public_key(text.as_ref()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// No key: signatures are not asked for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that `signature` is one of these bytes by one of these keys.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub fn verify(
        &self,
        bytes: &[u8],
        signature: Option<&[u8]>,
    ) -> Result<SignedBy, SignatureError> {
        let unreadable = |reason: String| SignatureError::Unreadable(printable(&reason));
        let signature = signature.ok_or(SignatureError::Missing)?;
        let text = std::str::from_utf8(signature).map_err(|error| unreadable(error.to_string()))?;
        let signature =
            SignatureBox::from_string(text).map_err(|error| unreadable(error.to_string()))?;
        let Some(key) = self.0.iter().find(|key| key.keynum() == signature.keynum()) else {
            return Err(SignatureError::UnknownKey {
                found: id(signature.keynum()),
                trusted: self.0.iter().map(|key| id(key.keynum())).collect(),
            });
        };
        minisign::verify(key, &signature, Cursor::new(bytes), true, false, false)
            .map_err(|error| SignatureError::Wrong(error.to_string()))?;
        let comment = signature
            .trusted_comment()
            .map_err(|error| unreadable(error.to_string()))?;
        Ok(SignedBy {
            key: id(key.keynum()),
            comment: printable(&comment),
        })
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|key| id(key.keynum())))
            .finish()
    }
}

fn public_key(text: &str) -> Result<PublicKey, KeyError> {
    let text = text.trim();
    PublicKey::from_base64(text)
        .or_else(|_| PublicKey::from_file(text))
        .map_err(|error| KeyError::Public {
            text: printable(text),
            reason: error.to_string(),
        })
}

/// Key id as minisign prints it: a little-endian number in hexadecimal.
fn id(keynum: &[u8]) -> String {
    keynum
        .iter()
        .rev()
        .map(|byte| format!("{byte:02X}"))
        .collect()
}

/// Signs indexes with a secret key.
pub struct Signer(SecretKey);

impl Signer {
    /// The secret key in the file at `path`, unlocked with `password` where it is protected.
    ///
    /// # Errors
    /// [`KeyError::Secret`], [`KeyError::Locked`] without a password where one is needed.
    pub fn open(path: &Path, password: Option<String>) -> Result<Self, KeyError> {
        let secret = |reason: String| KeyError::Secret {
            path: path.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(path).map_err(|error| secret(error.to_string()))?;
        if PublicKey::from_file(path).is_ok() {
            return Err(secret("that is a public key".to_owned()));
        }
        let parse = || SecretKeyBox::from_string(&text).map_err(|error| secret(error.to_string()));
        if let Ok(key) = parse()?.into_unencrypted_secret_key() {
            return Ok(Self(key));
        }
        if let Some(key) = without_checksum(&text) {
            let signer = Self(key);
            signer.check().map_err(|error| secret(error.to_string()))?;
            return Ok(signer);
        }
        // Without a password the library would ask on the terminal itself.
        let Some(password) = password else {
            return Err(KeyError::Locked {
                path: path.to_owned(),
            });
        };
        parse()?
            .into_secret_key(Some(password))
            .map(Self)
            .map_err(|error| secret(error.to_string()))
    }

    /// The public key of this key.
    ///
    /// # Errors
    /// [`KeyError::Sign`]: the key is none.
    pub fn keys(&self) -> Result<Keys, KeyError> {
        let key = PublicKey::from_secret_key(&self.0)
            .map_err(|error| KeyError::Sign(error.to_string()))?;
        Ok(Keys(vec![key]))
    }

    /// Whether what it signs is signed.
    fn check(&self) -> Result<(), KeyError> {
        const SAMPLE: &[u8] = b"a key without a checksum";
        let signature = self.sign(SAMPLE, "")?;
        let verified = self.keys()?.verify(SAMPLE, Some(signature.as_bytes()));
        verified
            .map(|_| ())
            .map_err(|error| KeyError::Sign(error.to_string()))
    }

    /// The signature file for these bytes; `comment` is signed too.
    ///
    /// # Errors
    /// [`KeyError::Sign`].
    pub fn sign(&self, bytes: &[u8], comment: &str) -> Result<String, KeyError> {
        let untrusted = "signature by cxfw; check it with minisign -V";
        minisign::sign(
            None,
            &self.0,
            Cursor::new(bytes),
            Some(comment),
            Some(untrusted),
        )
        .map(SignatureBox::into_string)
        .map_err(|error| KeyError::Sign(error.to_string()))
    }
}

/// The key in a file as `minisign -G -W` makes it: with no password, and none of the checksum that
/// the library asks for.
fn without_checksum(text: &str) -> Option<SecretKey> {
    /// Bytes of the checksum, at the end.
    const CHECKSUM: usize = 32;
    let bytes = STANDARD.decode(text.lines().nth(1)?.trim()).ok()?;
    let (_, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    let key = SecretKey::from_bytes(&bytes).ok()?;
    (*checksum == [0; CHECKSUM] && !key.is_encrypted()).then_some(key)
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minisign::KeyPair;

    fn signer() -> (Signer, Keys) {
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let keys = Keys::new(&[pair.pk.to_base64()]).unwrap();
        (Signer(pair.sk), keys)
    }

    #[test]
    fn a_signature_fits_these_bytes_and_this_key_only() {
        let (signer, keys) = signer();
        let signature = signer.sign(b"index", "serial 5").unwrap();
        let signed = keys.verify(b"index", Some(signature.as_bytes())).unwrap();
        assert_eq!(signed.comment, "serial 5");
        assert_eq!(signed.key.len(), 16);
        let wrong = keys
            .verify(b"indeX", Some(signature.as_bytes()))
            .unwrap_err();
        assert!(matches!(wrong, SignatureError::Wrong(_)), "{wrong}");
        let forged = signature.replace("serial 5", "serial 6");
        assert!(keys.verify(b"index", Some(forged.as_bytes())).is_err());
        let (_, others) = self::signer();
        let unknown = others
            .verify(b"index", Some(signature.as_bytes()))
            .unwrap_err();
        assert!(
            matches!(unknown, SignatureError::UnknownKey { .. }),
            "{unknown}"
        );
        assert_eq!(keys.verify(b"index", None), Err(SignatureError::Missing));
        for junk in [&b""[..], b"junk\njunk\njunk\njunk\n", b"\xff\xff"] {
            let error = keys.verify(b"index", Some(junk)).unwrap_err();
            assert!(matches!(error, SignatureError::Unreadable(_)), "{error}");
        }
    }

    #[test]
    fn keys_come_as_text_or_as_files_and_locked_ones_want_a_password() {
        let dir = tempfile::tempdir().unwrap();
        let (public, open, locked) = (
            dir.path().join("k.pub"),
            dir.path().join("k"),
            dir.path().join("l"),
        );
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        std::fs::write(&public, pair.pk.to_box().unwrap().to_bytes()).unwrap();
        std::fs::write(&open, pair.sk.to_box(None).unwrap().to_bytes()).unwrap();
        let keys = Keys::new(&[public.to_str().unwrap()]).unwrap();
        let signer = Signer::open(&open, None).unwrap();
        let signature = signer.sign(b"x", "c").unwrap();
        assert!(keys.verify(b"x", Some(signature.as_bytes())).is_ok());
        assert!(
            signer
                .keys()
                .unwrap()
                .verify(b"x", Some(signature.as_bytes()))
                .is_ok()
        );

        let pair = KeyPair::generate_encrypted_keypair(Some("pw".to_owned())).unwrap();
        std::fs::write(&locked, pair.sk.to_box(None).unwrap().to_bytes()).unwrap();
        let error = Signer::open(&locked, None).unwrap_err();
        assert!(matches!(error, KeyError::Locked { .. }), "{error}");
        assert!(Signer::open(&locked, Some("pw".to_owned())).is_ok());
        assert!(Signer::open(&locked, Some("no".to_owned())).is_err());
        assert!(Keys::new(&["no key"]).is_err());
    }
}
