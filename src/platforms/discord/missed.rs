//! What was said while no session listened: each channel that herm knows is asked for what follows its mark.
//!
//! Discord keeps events for a session of before for some minutes only; messages stay in their channels. A
//! direct chat in which nobody ever spoke to herm cannot be found so, since Discord lists none to a bot.

use super::inbound::{self, Came};
use super::wire::{Message, User};
use super::{Discord, locked, refusal, run};
use crate::platforms::{Inlet, Stopped};

/// Messages on a page; the most that there can be.
const PAGE: usize = 100;
/// Pages of one channel.
const PAGES_MAX: usize = 20;

/// Takes what was missed, channel by channel, in the order of each.
pub(super) async fn fetch(discord: &Discord, inlet: &dyn Inlet, me: &User) -> Result<(), Stopped> {
    let channels = locked(&discord.marks).channels();
    for (channel, after) in channels {
        fetch_channel(discord, inlet, me, (&channel, after)).await?;
    }
    Ok(())
}

async fn fetch_channel(
    discord: &Discord,
    inlet: &dyn Inlet,
    me: &User,
    (channel, mut after): (&str, String),
) -> Result<(), Stopped> {
    for _ in 0..PAGES_MAX {
        let segments = ["channels", channel, "messages"];
        let limit = PAGE.to_string();
        let query = [("after", after.as_str()), ("limit", limit.as_str())];
        let mut page: Vec<Message> = match discord.api.get_patiently(&segments, &query).await {
            Ok(page) => page,
            Err(failed) if refusal::is_for_good(&failed) => {
                // herm does not see it any more; it is found again when somebody speaks there.
                locked(&discord.marks).forget(channel);
                return Ok(());
            }
            Err(failed) => return Err(refusal::of_account(failed)),
        };
        let count = page.len();
        page.sort_by_key(|message| message.id.parse::<u64>().unwrap_or_default());
        for message in page {
            after.clone_from(&message.id);
            let came: Option<Came> = inbound::message(message, me, &locked(&discord.places));
            match came {
                Some(came) => run::take_one(discord, inlet, came).await?,
                None => locked(&discord.marks).taken(channel, &after),
            }
        }
        if count < PAGE {
            return Ok(());
        }
    }
    tracing::warn!(
        channel,
        pages = PAGES_MAX,
        "more was said on Discord while herm was away than is fetched"
    );
    Ok(())
}
