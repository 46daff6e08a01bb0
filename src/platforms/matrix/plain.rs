//! In a build without `matrix-encryption`: encrypted rooms are neither read nor written in, and say so.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::api::{Api, Failed};
use super::rooms::Room;
use super::visits::Unread;
use super::wire::Sync;

const WHY: &str = "this build of herm has no encryption; build it with `--features matrix-encryption`";

/// No encryption; what its functions do stands with those of the other build.
pub(super) struct Encryption;

impl Encryption {
    pub fn new(_folder: Option<PathBuf>) -> Self {
        Self
    }

    pub async fn obstacle(&self, _api: &Api) -> Result<Option<&str>, Failed> {
        Ok(Some(WHY))
    }

    pub async fn take(&self, _api: &Api, _news: &Sync) -> Result<Vec<(String, Value)>, Failed> {
        Ok(Vec::new())
    }

    pub async fn opened(&self, _api: &Api, _room_id: &str, event: Value) -> Result<Value, Failed> {
        Ok(event)
    }

    pub async fn is_sealed(&self, _api: &Api, _room_id: &str, room: &Room) -> Result<bool, Failed> {
        Ok(room.encryption.is_some())
    }

    pub async fn sealed(
        &self,
        _api: &Api,
        _room_id: &str,
        room: &Room,
        content: Value,
    ) -> Result<(&'static str, Value), Failed> {
        match room.encryption {
            None => Ok(("m.room.message", content)),
            Some(_) => Err(Failed::Unsealed { why: WHY.to_owned(), may_pass: false }),
        }
    }

    pub async fn missed(&self, _api: &Api, _room_id: &str, _event_id: &str) -> Result<(), Failed> {
        Ok(())
    }

    pub async fn settled(&self, _api: &Api, _event_id: &str) -> Result<(), Failed> {
        Ok(())
    }

    pub fn due(&self) -> Vec<Unread> {
        Vec::new()
    }

    pub fn next_due(&self) -> Option<Duration> {
        None
    }

    pub async fn told(&self, _api: &Api, _room_id: &str) -> Result<(), Failed> {
        Ok(())
    }
}

pub(super) fn seal_file(_bytes: &[u8]) -> Result<(Vec<u8>, Map<String, Value>), String> {
    Err(WHY.to_owned())
}

pub(super) fn open_file(_sealed: &[u8], _told: &Value) -> Result<Vec<u8>, &'static str> {
    Err("it is encrypted, which herm cannot read here")
}
