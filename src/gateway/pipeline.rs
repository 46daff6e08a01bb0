//! The way of a message, from the platform to the session: the order of the steps.
//!
//! 1. Authorise: [`crate::inbound::access`].
//! 2. What is asked of herm itself: [`super::commands`].
//! 3. Which profile, which session: [`crate::inbound::route`], [`crate::inbound::session_key`], [`super::rooms`].
//! 4. What the model sees: [`crate::inbound::given`].
//! 5. The busy policy, the turn and the delivery follow from the log: `herm_replay::reducer`.
//!
//! Returning `Ok` means that it is on the disk, so that the platform may forget it.

use herm_replay::gateway::Command;
use herm_schema::IdempotencyKey;
use herm_schema::events::*;

use super::desk;
use super::hub::Hub;
use super::media;
use super::profile::Profile;
use super::questions::{Pressed, answered};
use super::rooms::Door;
use crate::entry::asks;
use crate::inbound::access::{self, Admission, Rules};
use crate::inbound::given::{self, Given};
use crate::inbound::route::{Routed, route};
use crate::inbound::session_key::{SessionKey, is_thread};
use crate::inbound::settings::GatewaySettings;
use crate::inbound::slash::Slash;
use crate::inbound::slash_table::Where;
use crate::inbound::{pairing, slash};
use crate::platforms::{Act, Capabilities, Inbound, Message, NotNow, Taken, What};
use crate::runtime::{Clock, Error, SessionHandle, SystemClock};

/// What came in, once it is known who may say it and to whom.
pub struct Admitted<'a> {
    pub hub: &'a Hub,
    pub profile: &'a Profile,
    pub door: Door,
    pub chat: &'a ChatRef,
    pub sender: Sender,
    /// May ask what only owners may.
    pub owner: bool,
    pub direct: bool,
}

impl Hub {
    /// Takes what came in from a platform.
    ///
    /// # Errors
    /// It has to come again: herm is going down, the disk is full, or the log does not take it.
    pub async fn take(&self, inbound: Inbound, capabilities: &Capabilities) -> Result<Taken, NotNow> {
        self.open()?;
        let settings = self.settings();
        if let What::Removed { why } = &inbound.what {
            let died = TargetDied { target: inbound.chat.place.clone(), why: why.clone() };
            return recorded(self.desk.ask(Command::Die(died), None).await);
        }
        let routed = route(&inbound, &settings);
        let key = SessionKey::of(&inbound, settings.sharing);
        let owner = match self.authorise(&inbound, capabilities, &settings, (&routed, &key)).await? {
            Entry::Owner(owner) => owner,
            Entry::Done(taken) => return Ok(taken),
        };
        self.notice_chat(&inbound).await?;
        let name = match &routed {
            Routed::Served { profile, .. } => profile.as_str(),
            Routed::Rejected { why, .. } => return self.refuse(&inbound, why).await,
        };
        let Some(profile) = self.profile(name) else {
            return self.refuse(&inbound, &format!("the profile `{name}` is not served here")).await;
        };
        let admitted = Admitted {
            hub: self,
            profile,
            door: Door { key: key.to_string(), chat: inbound.chat.place.clone(), shared: key.shared() },
            chat: &inbound.chat.place,
            sender: Sender { id: inbound.author.id.clone(), name: inbound.author.name.clone() },
            owner,
            direct: inbound.chat.kind == ChatKind::Direct,
        };
        match &inbound.what {
            What::Message(message) => admitted.message(&inbound, message).await,
            What::Edited { message_id, text } => admitted.edited(&inbound, message_id, text).await,
            What::Button { message_id, data } => admitted.button(&inbound, message_id, data).await,
            What::Reaction { .. } | What::Removed { .. } => Ok(Taken::Ignored),
        }
    }

    /// Whether whoever did it may.
    async fn authorise(
        &self,
        inbound: &Inbound,
        capabilities: &Capabilities,
        settings: &GatewaySettings,
        (routed, key): (&Routed, &SessionKey),
    ) -> Result<Entry, NotNow> {
        let platform = &inbound.chat.place.platform;
        let takes_part = match routed {
            Routed::Served { profile, .. } if is_thread(&inbound.chat) => match self.profile(profile) {
                Some(profile) => profile.rooms.find(&key.to_string()).await.is_some(),
                None => false,
            },
            _ => false,
        };
        let admission = {
            let paired = |id: &str| {
                self.desk.read(|state| state.paired.contains_key(&(platform.clone(), id.to_owned())))
            };
            let settings = settings.platform(platform);
            access::admit(inbound, &Rules { settings, capabilities, paired: &paired, takes_part })
        };
        match admission {
            Admission::Allowed { admin } => Ok(Entry::Owner(admin)),
            Admission::Ignored(reason) => {
                self.metrics.refused(platform, &format!("{reason:?}"));
                tracing::debug!(platform, chat = inbound.chat.place.chat, why = reason.words(), "ignored");
                Ok(Entry::Done(Taken::Ignored))
            }
            Admission::AskPairing => self.ask_pairing(inbound).await.map(Entry::Done),
        }
    }

    /// A stranger is given a code.
    async fn ask_pairing(&self, inbound: &Inbound) -> Result<Taken, NotNow> {
        let place = &inbound.chat.place;
        let mut bytes = [0; pairing::LENGTH];
        getrandom::fill(&mut bytes).map_err(|error| NotNow { why: error.to_string() })?;
        let code = pairing::Code::of(bytes);
        let sender = Sender { id: inbound.author.id.clone(), name: inbound.author.name.clone() };
        let expires_at = desk::after(SystemClock.now(), pairing::EXPIRES_AFTER);
        let asked =
            PairingRequested { chat: place.clone(), sender, code: code.digest(&place.platform), expires_at };
        // The code itself is on its way to the stranger, and so in the log until it has expired.
        let answer = self.notice(place, &pairing::invitation(&place.platform, &code), None);
        self.metrics.refused(&place.platform, "Pairing");
        let key = IdempotencyKey::of(&["pairing", &place.platform, &place.chat, &inbound.id]);
        recorded(self.desk.ask(Command::AskPairing { asked, answer }, Some(key)).await)
    }

    /// The chat spoke: it is in the directory, and not dead.
    async fn notice_chat(&self, inbound: &Inbound) -> Result<(), NotNow> {
        let chat = &inbound.chat;
        let seen = ChatSeen {
            chat: chat.place.clone(),
            kind: chat.kind,
            title: chat.title.clone(),
            guild: chat.guild.clone(),
            parent: chat.parent.clone(),
        };
        let (dead, known) = self.desk.read(|state| {
            let place = herm_replay::gateway::place(&chat.place);
            (state.dead.contains_key(&place), state.chats.get(&place) == Some(&seen))
        });
        if dead {
            self.desk.try_ask(Command::Revive { target: chat.place.clone() }).await.map_err(not_taken)?;
        }
        if !known {
            self.desk.try_ask(Command::See(seen)).await.map_err(not_taken)?;
        }
        Ok(())
    }

    /// A message that has no way into a session is seen, by the person and in the log.
    async fn refuse(&self, inbound: &Inbound, why: &str) -> Result<Taken, NotNow> {
        let place = &inbound.chat.place;
        let refused = MessageRefused {
            message_id: inbound.id.clone(),
            chat: place.clone(),
            sender: Sender { id: inbound.author.id.clone(), name: inbound.author.name.clone() },
            why: why.to_owned(),
        };
        self.metrics.refused(&place.platform, "Unrouted");
        let key = IdempotencyKey::of(&["refused", &place.platform, &place.chat, &inbound.id]);
        match self.desk.ask(Command::Refuse(refused), Some(key)).await {
            Ok(_) => {
                let said = format!("This message did not reach me: {why}.");
                self.say(place, &said).await.map_err(not_taken)?;
                Ok(Taken::Recorded)
            }
            other => recorded(other),
        }
    }
}

enum Entry {
    Owner(bool),
    Done(Taken),
}

impl Admitted<'_> {
    async fn message(&self, inbound: &Inbound, message: &Message) -> Result<Taken, NotNow> {
        if message.media.is_empty()
            && let Some(slash) = slash::parse(&message.text, &self.hub.own_name(&self.chat.platform))
        {
            if let Some(given) = self.skill(message, &slash).await? {
                return self.hand_over(self.received(&message.message_id, given, vec![]), inbound).await;
            }
            return self.command(message, slash).await;
        }
        if let Some(session) = self.profile.rooms.find(&self.door.key).await
            && message.media.is_empty()
            && self.profile.questions.asks(session)
        {
            return self.answer_question(session, message).await;
        }
        let (attachments, kept) = media::keep(self.profile, &message.media).map_err(not_taken)?;
        let given = given::message(message, &kept);
        self.hand_over(self.received(&message.message_id, given, attachments), inbound).await
    }

    /// A message that names a skill, with the skill; `None` for any other command.
    async fn skill(&self, message: &Message, slash: &Slash) -> Result<Option<Given>, NotNow> {
        if slash::find(&slash.name, Where::Chat).is_ok() {
            return Ok(None);
        }
        let Some(skill) = asks::skill_named(&self.profile.engine, slash).await else { return Ok(None) };
        let session = self.enter().await.map_err(not_taken)?.id();
        let context = asks::invoked(&self.profile.engine, skill, session).await;
        Ok(context.map(|context| Given { text: message.text.clone(), context: Some(context) }))
    }

    /// A message that reads otherwise now is said again, where a conversation is under way.
    async fn edited(&self, inbound: &Inbound, message_id: &str, text: &str) -> Result<Taken, NotNow> {
        if self.profile.rooms.find(&self.door.key).await.is_none() {
            return Ok(Taken::Ignored);
        }
        let id = format!("{message_id}/edited/{}", inbound.id);
        self.hand_over(self.received(&id, given::edited(text), vec![]), inbound).await
    }

    fn received(&self, message_id: &str, given: Given, attachments: Vec<Attachment>) -> MessageReceived {
        MessageReceived {
            message_id: message_id.to_owned(),
            chat: self.chat.clone(),
            sender: self.sender.clone(),
            text: given.text,
            attachments,
            context: given.context,
        }
    }

    /// To the session, which is found or opened.
    pub(super) async fn hand_over(
        &self,
        message: MessageReceived,
        inbound: &Inbound,
    ) -> Result<Taken, NotNow> {
        // Once more if the session ended in between.
        for _ in 0..2 {
            let handle = self.enter().await.map_err(not_taken)?;
            match handle.receive(message.clone()).await {
                Ok(events) => {
                    self.acknowledge(&events, &message.message_id).await;
                    return Ok(Taken::Recorded);
                }
                Err(Error::Duplicate { .. }) => return Ok(Taken::Known),
                Err(Error::Rejected(herm_replay::reducer::Rejection::Ended { .. }) | Error::Gone { .. }) => {
                    self.profile.rooms.renew(&self.door).await.map_err(not_taken)?;
                }
                Err(Error::Rejected(why)) => return self.hub.refuse(inbound, &why.to_string()).await,
                Err(error) => return Err(not_taken(error)),
            }
        }
        self.hub.refuse(inbound, "the session cannot be opened").await
    }

    /// The session of this door, at work.
    pub(super) async fn enter(&self) -> Result<SessionHandle, Error> {
        let handle = self.profile.rooms.enter(&self.door).await?;
        self.profile.news.tell(&handle);
        Ok(handle)
    }

    /// What was said during a turn is acknowledged, so that silence is never the outcome.
    async fn acknowledge(&self, events: &[herm_schema::Recorded], message_id: &str) {
        use herm_schema::Event;
        let steered = events
            .iter()
            .any(|recorded| matches!(recorded.event, Event::SteerReceived(_) | Event::RedirectReceived(_)));
        if steered {
            let (chat, message_id) = (self.chat.clone(), message_id.to_owned());
            let act = Act::React { chat, message_id, emoji: "👀".to_owned() };
            let switchboard = self.hub.switchboard.clone();
            tokio::spawn(async move { switchboard.act(&act).await });
        }
    }

    async fn button(&self, inbound: &Inbound, message_id: &str, data: &str) -> Result<Taken, NotNow> {
        let said = match Pressed::read(data) {
            Some(Pressed::Approval { session, request, word }) => match self.may_answer(session).await {
                true => self.decide(session, request, word).await.map_err(not_taken)?,
                false => "that is not your question".to_owned(),
            },
            Some(Pressed::Choice { session, index }) => {
                match self.may_answer(session).await && self.profile.questions.choose(session, index) {
                    true => "thanks".to_owned(),
                    false => "nobody waits for that answer of yours".to_owned(),
                }
            }
            None => "I do not know this button".to_owned(),
        };
        let (chat, press) = (self.chat.clone(), inbound.id.clone());
        let act = Act::Answered { chat, message_id: message_id.to_owned(), press, text: said };
        let switchboard = self.hub.switchboard.clone();
        tokio::spawn(async move { switchboard.act(&act).await });
        Ok(Taken::Recorded)
    }

    /// A question is for those whose conversation it belongs to, and for owners in the same chat.
    async fn may_answer(&self, session: herm_schema::SessionId) -> bool {
        let own = self.profile.rooms.find(&self.door.key).await == Some(session);
        own || (self.owner && self.profile.feed.chat(session).as_ref() == Some(self.chat))
    }

    /// An answer to a question whether a call may run: to who waits for it, or late to the session.
    pub(super) async fn decide(
        &self,
        session: herm_schema::SessionId,
        request: herm_schema::StreamPos,
        word: super::questions::Word,
    ) -> Result<String, Error> {
        use super::questions::Word;
        if word == Word::Always && !self.owner {
            return Ok("only an owner may allow something for good".to_owned());
        }
        let answer = answered(word, self.chat, &self.sender);
        if self.profile.questions.approve(session, request, answer.clone()) {
            return Ok(word.said().to_owned());
        }
        super::late::answer(self.profile, session, request, answer).await
    }
}

/// What the pipeline's steps come to, for the platform.
fn recorded(result: Result<Vec<herm_schema::Recorded>, desk::Error>) -> Result<Taken, NotNow> {
    match result {
        Ok(_) => Ok(Taken::Recorded),
        Err(desk::Error::Duplicate { .. }) => Ok(Taken::Known),
        Err(desk::Error::Rejected(_)) => Ok(Taken::Ignored),
        Err(desk::Error::Log(error)) => Err(not_taken(error)),
    }
}

pub(super) fn not_taken(error: impl std::error::Error) -> NotNow {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        why.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    NotNow { why }
}
