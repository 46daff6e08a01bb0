//! Encrypted rooms: what is sealed is opened on its way in, and what herm says there is sealed on its
//! way out. The rules of Olm and Megolm are the Matrix project's own (`matrix-sdk-crypto`); here stands
//! what asks it, and what carries its requests.
//!
//! `requests` is what goes over the wire, `rooms` seals and opens, `late` knows the messages whose key
//! has not come yet, `files` seals and opens files. The keys of this device stand in a SQLite file of the
//! platform's folder: they are secrets, so they never reach the log, and nothing else is kept there. A
//! message that cannot be opened is never passed over in silence. Start reading at [`Encryption`].

mod files;
mod late;
mod requests;
mod rooms;

pub(super) use files::{open_file, seal_file};

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex as Latch;

use matrix_sdk_crypto::{DecryptionSettings, OlmMachine, TrustRequirement};
use matrix_sdk_sqlite::SqliteCryptoStore;
use ruma::{OwnedDeviceId, OwnedUserId};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use self::late::Late;
use super::api::{Api, Call, Failed};
use super::wire::{Sync, WhoAmI};

/// Whoever may write in a room is heard, as in rooms without encryption: who that is, the homeserver
/// says. Devices that their owner has not signed are common among people's clients.
const TRUST: DecryptionSettings =
    DecryptionSettings { sender_device_trust_requirement: TrustRequirement::Untrusted };

/// The encryption of one device.
pub(super) struct Encryption {
    folder: Option<PathBuf>,
    device: OnceCell<Result<Device, String>>,
    /// Requests are answered one after the other: two at once would claim the same keys twice.
    asking: Mutex<()>,
    late: Latch<Late>,
}

/// The device, with its keys.
struct Device {
    machine: OlmMachine,
    /// Held as long as the keys are in use, so that no second process uses them.
    _owned: File,
}

impl Encryption {
    /// `folder` is where the keys are kept; without one no room can be read.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, device: OnceCell::new(), asking: Mutex::default(), late: Latch::default() }
    }

    /// Why encrypted rooms cannot be read; `None` if they can.
    ///
    /// # Errors
    /// [`Failed`], if that cannot be said now.
    pub async fn obstacle(&self, api: &Api) -> Result<Option<&str>, Failed> {
        Ok(self.device(api).await?.as_ref().err().map(String::as_str))
    }

    /// What a sync says of keys; the events that can be opened since, each with its room.
    ///
    /// # Errors
    /// [`Failed`]; the sync must be taken again.
    pub async fn take(&self, api: &Api, news: &Sync) -> Result<Vec<(String, Value)>, Failed> {
        let Ok(device) = self.device(api).await? else { return Ok(Vec::new()) };
        let _one = self.asking.lock().await;
        let rooms = requests::news(&device.machine, news).await?;
        requests::answer_owed(&device.machine, api).await?;
        Box::pin(late::opened(self, device, api, &rooms)).await
    }

    /// The device; opened once, with whatever its homeserver must know of it.
    async fn device(&self, api: &Api) -> Result<&Result<Device, String>, Failed> {
        self.device
            .get_or_try_init(|| async {
                let account: WhoAmI = api.call(Call::get(&["client", "v3", "account", "whoami"])).await?;
                let opened = Box::pin(open(self.folder.as_deref(), api, &account)).await;
                match opened {
                    Ok(device) => {
                        self.late(|late| late.restore(device.1));
                        Ok(Ok(device.0))
                    }
                    Err(Closed::For(why)) => {
                        tracing::warn!(why, "encrypted rooms of Matrix cannot be read");
                        Ok(Err(why))
                    }
                    Err(Closed::Now(failed)) => Err(failed),
                }
            })
            .await
    }

    fn late<T>(&self, with: impl FnOnce(&mut Late) -> T) -> T {
        with(&mut self.late.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Why the device is not open.
enum Closed {
    /// No try will do.
    For(String),
    /// Another try may do.
    Now(Failed),
}

impl From<Failed> for Closed {
    fn from(failed: Failed) -> Self {
        match failed {
            // A homeserver that knows nothing of keys; rooms without encryption go on.
            Failed::Refused { code: 400 | 403 | 404 | 405, error, .. } => {
                Self::For(format!("the homeserver takes no keys: {error}"))
            }
            other => Self::Now(other),
        }
    }
}

async fn open(folder: Option<&Path>, api: &Api, account: &WhoAmI) -> Result<(Device, late::Kept), Closed> {
    let why = |why: &str| Closed::For(why.to_owned());
    let folder = folder.ok_or_else(|| why("there is no folder for its keys"))?;
    let device_id = account.device_id.as_deref().ok_or_else(|| why("its token belongs to no device"))?;
    // The names of account and device may have any characters.
    let name = blake3::hash(format!("{} {device_id}", account.user_id).as_bytes()).to_hex();
    let (folder, owned) = claimed(&folder.join(name.as_str()))?;
    let unusable = |error: &dyn std::fmt::Display| Closed::For(format!("its keys cannot be opened: {error}"));
    let store = SqliteCryptoStore::open(&folder, None).await.map_err(|error| unusable(&error))?;
    let user = OwnedUserId::try_from(account.user_id.as_str()).map_err(|_| why("its name is no user's"))?;
    let device = OwnedDeviceId::from(device_id);
    let machine = OlmMachine::with_store(&user, &device, store, None);
    let machine = machine.await.map_err(|error| unusable(&error))?;
    if requests::is_anothers(&machine, api).await? {
        return Err(why(
            "the device of its token has other keys: another program uses it. Log in for herm alone, and \
             set the new token as MATRIX_ACCESS_TOKEN",
        ));
    }
    // What changed since the last time may have been told to nobody.
    machine.mark_all_tracked_users_as_dirty().await.map_err(unsealed)?;
    requests::answer_owed(&machine, api).await?;
    requests::sign_device(&machine, api).await?;
    let kept = late::kept(&machine).await?;
    Ok((Device { machine, _owned: owned }, kept))
}

/// The folder of a device, for its owner's eyes and for this process alone.
fn claimed(folder: &Path) -> Result<(PathBuf, File), Closed> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let lock = made.and_then(|()| File::create(folder.join("lock")));
    let lock =
        lock.map_err(|error| Closed::For(format!("{} cannot be written: {error}", folder.display())))?;
    match lock.try_lock() {
        Ok(()) => Ok((folder.to_owned(), lock)),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(unsealed("another process of herm uses the keys").into())
        }
        Err(std::fs::TryLockError::Error(error)) => {
            Err(Closed::For(format!("{} cannot be locked: {error}", folder.display())))
        }
    }
}

/// An error of the keys or of their store; nothing was sent.
fn unsealed(error: impl std::fmt::Display) -> Failed {
    Failed::Unsealed { why: format!("its keys failed: {error}"), may_pass: true }
}
