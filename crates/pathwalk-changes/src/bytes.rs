//! Bytes in JSON: text where they are UTF-8, else base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes that JSON shows as text, or as an object with `base64`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// The two forms.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form<'a> {
    Text(std::borrow::Cow<'a, str>),
    Base64 { base64: String },
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Form::Text(text.into()),
            Err(_) => Form::Base64 { base64: STANDARD.encode(&self.0) },
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        match Form::deserialize(from)? {
            Form::Text(text) => Ok(Bytes(text.into_owned().into_bytes())),
            Form::Base64 { base64 } => STANDARD.decode(base64).map(Bytes).map_err(de::Error::custom),
        }
    }
}
