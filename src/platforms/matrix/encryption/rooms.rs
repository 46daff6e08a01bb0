//! Sealing what herm says in an encrypted room, and opening what others say there.

use matrix_sdk_crypto::store::types::RoomSettings;
use matrix_sdk_crypto::{CollectStrategy, EncryptionSettings, MegolmError};
use ruma::events::AnyMessageLikeEventContent;
use ruma::events::room::encryption::RoomEncryptionEventContent;
use ruma::events::room::history_visibility::HistoryVisibility;
use ruma::{OwnedUserId, RoomId};
use serde_json::Value;

use super::super::api::{Api, Failed};
use super::super::rooms::Room;
use super::{Device, Encryption, TRUST, late, requests, unsealed};

impl Encryption {
    /// An event as it reads: opened if it was sealed and can be; as it is otherwise.
    pub async fn opened(&self, api: &Api, room_id: &str, event: Value) -> Result<Value, Failed> {
        if event.get("type").and_then(Value::as_str) != Some("m.room.encrypted") {
            return Ok(event);
        }
        let Ok(device) = self.device(api).await? else { return Ok(event) };
        Ok(Box::pin(open(device, room_id, &event)).await?.unwrap_or(event))
    }

    /// What herm says in a room, sealed for all who are in it: the kind of the event and its content.
    /// Where a room was ever encrypted it stays so, whatever the server says.
    ///
    /// # Errors
    /// [`Failed`]; nothing was sent to the room.
    pub async fn sealed(
        &self,
        api: &Api,
        room_id: &str,
        room: &Room,
        content: Value,
    ) -> Result<(&'static str, Value), Failed> {
        let device = match self.device(api).await? {
            Ok(device) => device,
            Err(_) if room.encryption.is_none() => return Ok(("m.room.message", content)),
            Err(why) => {
                return Err(Failed::Unsealed { why: format!("herm has no keys: {why}"), may_pass: false });
            }
        };
        Box::pin(seal(self, device, api, (room_id, room), content)).await
    }

    /// Whether what is said in a room is sealed.
    pub async fn is_sealed(&self, api: &Api, room_id: &str, room: &Room) -> Result<bool, Failed> {
        match self.device(api).await? {
            Ok(device) => Ok(settings(device, id(room_id)?, room).await?.is_some()),
            Err(_) => Ok(room.encryption.is_some()),
        }
    }
}

pub(super) fn id(room_id: &str) -> Result<&RoomId, Failed> {
    <&RoomId>::try_from(room_id).map_err(unsealed)
}

/// How a room is encrypted; `None` if it is not.
async fn settings(
    device: &Device,
    room_id: &RoomId,
    room: &Room,
) -> Result<Option<EncryptionSettings>, Failed> {
    let content = room.encryption.clone().map(serde_json::from_value::<RoomEncryptionEventContent>);
    let told = match content {
        Some(Ok(content)) => {
            let strategy = CollectStrategy::default();
            Some(EncryptionSettings::new(content, HistoryVisibility::Shared, strategy))
        }
        // In a way that cannot be read, but encrypted.
        Some(Err(_)) => Some(EncryptionSettings::default()),
        None => None,
    };
    let before = device.machine.room_settings(room_id).await.map_err(unsealed)?;
    match (told, before) {
        (Some(told), Some(_)) => Ok(Some(told)),
        (Some(told), None) => {
            let settings = RoomSettings { algorithm: told.algorithm.clone(), ..RoomSettings::default() };
            device.machine.set_room_settings(room_id, &settings).await.map_err(unsealed)?;
            Ok(Some(told))
        }
        (None, Some(_)) => Ok(Some(EncryptionSettings::default())),
        (None, None) => Ok(None),
    }
}

async fn seal(
    encryption: &Encryption,
    device: &Device,
    api: &Api,
    (room_id, room): (&str, &Room),
    content: Value,
) -> Result<(&'static str, Value), Failed> {
    let (machine, kind) = (&device.machine, "m.room.message");
    let room_id = id(room_id)?;
    let Some(settings) = settings(device, room_id, room).await? else { return Ok((kind, content)) };
    let members = room.members.iter().filter_map(|member| OwnedUserId::try_from(member.as_str()).ok());
    let members: Vec<OwnedUserId> = members.collect();
    let users = || members.iter().map(AsRef::as_ref);
    let _one = encryption.asking.lock().await;
    machine.update_tracked_users(users()).await.map_err(unsealed)?;
    requests::answer_owed(machine, api).await?;
    requests::claim(machine, api, &members).await?;
    for handed in machine.share_room_key(room_id, users(), settings).await.map_err(unsealed)? {
        requests::hand_over(machine, api, &handed).await?;
    }
    let Some(content) = requests::raw::<AnyMessageLikeEventContent>(&content) else {
        return Err(unsealed("what is to be said is no JSON"));
    };
    let sealed = machine.encrypt_room_event_raw(room_id, kind, &content).await.map_err(unsealed)?;
    let sealed = serde_json::from_str(sealed.content.json().get()).map_err(unsealed)?;
    Ok(("m.room.encrypted", sealed))
}

/// Opens an event; why it cannot be opened otherwise.
pub(super) async fn open(
    device: &Device,
    room_id: &str,
    event: &Value,
) -> Result<Result<Value, String>, Failed> {
    let (Ok(room_id), Some(raw)) = (id(room_id), requests::raw(event)) else {
        return Ok(Err("it is no event of a room".to_owned()));
    };
    match device.machine.decrypt_room_event(&raw, room_id, &TRUST).await {
        Ok(opened) => Ok(serde_json::from_str(opened.event.json().get()).map_err(|error| error.to_string())),
        Err(MegolmError::Store(error)) => Err(unsealed(error)),
        Err(error) => Ok(Err(late::said(&error))),
    }
}
