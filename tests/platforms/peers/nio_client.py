"""A person's client with encryption: matrix-nio. Orders come as lines of JSON, each is answered by one."""

import asyncio
import json
import sys
from uuid import uuid4

from nio import Api, AsyncClient, AsyncClientConfig, MegolmEvent, RoomMessage, ShareGroupSessionResponse
from nio.crypto import decrypt_attachment

HOMESERVER, USER, PASSWORD, STORE = sys.argv[1:5]
SEALED = {
    "type": "m.room.encryption",
    "state_key": "",
    "content": {"algorithm": "m.megolm.v1.aes-sha2"},
}
seen = []
kept = []


def keep(room, event):
    content = event.source.get("content", {})
    sealed = isinstance(event, MegolmEvent)
    seen.append(
        {"room": room.room_id, "id": event.event_id, "sender": event.sender, "sealed": sealed,
         "was_sealed": sealed or bool(getattr(event, "decrypted", False)), "content": content}
    )


async def sync(client, full_state=False):
    """One round, with what a client does for its keys."""
    await client.sync(timeout=500, full_state=full_state)
    if client.should_upload_keys:
        await client.keys_upload()
    if client.should_query_keys:
        await client.keys_query()
    if client.should_claim_keys:
        await client.keys_claim(client.get_users_for_key_claiming())
    await client.send_to_device_messages()


async def send(client, room, content):
    sent = await client.room_send(room, "m.room.message", content, ignore_unverified_devices=True)
    return {"event_id": sent.event_id}


async def joined(client, room, user):
    while True:
        known = client.rooms.get(room)
        if known is not None and user in known.users and not known.users[user].invited:
            return {}
        await sync(client)


async def until(client, body):
    """The first event whose text or name is this."""
    while True:
        for event in seen:
            content = event["content"].get("m.new_content", event["content"])
            if body in content.get("body", ""):
                return event
        await sync(client)


async def obey(client, order):
    match order["do"]:
        case "room":
            made = await client.room_create(invite=order["invite"], initial_state=[SEALED], is_direct=True)
            await sync(client)
            return {"room_id": made.room_id}
        case "joined":
            return await joined(client, order["room"], order["user"])
        case "join":
            await client.join(order["room"])
            await sync(client, full_state=True)
            return {}
        case "say":
            content = {"msgtype": "m.text", "body": order["text"]} | order.get("more", {})
            return await send(client, order["room"], content)
        case "say_without_key":
            # The key of what follows is made, and kept until it is asked for.
            room = order["room"]
            client.olm.outbound_group_sessions.pop(room, None)
            users = list(client.rooms[room].users)
            shares = client.olm.share_group_session_parallel(room, users, ignore_unverified_devices=True)
            kept.extend(handed for _, handed in shares)
            client.olm.outbound_group_sessions[room].shared = True
            return await send(client, room, {"msgtype": "m.text", "body": order["text"]})
        case "share_key":
            for handed in kept:
                method, path, data = Api.to_device(client.access_token, "m.room.encrypted", handed, uuid4())
                response_data = (order["room"], set())
                await client._send(ShareGroupSessionResponse, method, path, data, response_data=response_data)
            kept.clear()
            return {}
        case "file":
            data = bytes(order["bytes"])
            uploaded, keys = await client.upload(
                lambda *_: data, "application/octet-stream", order["name"], encrypt=True, filesize=len(data)
            )
            file = keys | {"url": uploaded.content_uri}
            content = {"msgtype": "m.file", "body": order["name"], "file": file, "info": {"size": len(data)}}
            return await send(client, order["room"], content)
        case "fetch":
            file = order["file"]
            fetched = await client.download(mxc=file["url"])
            plain = decrypt_attachment(fetched.body, file["key"]["k"], file["hashes"]["sha256"], file["iv"])
            return {"bytes": list(plain)}
        case "until":
            return await until(client, order["body"])


async def main():
    config = AsyncClientConfig(encryption_enabled=True, store_sync_tokens=True)
    client = AsyncClient(HOMESERVER, USER, store_path=STORE, config=config)
    client.add_event_callback(keep, (RoomMessage, MegolmEvent))
    await client.login(PASSWORD)
    await sync(client, full_state=True)
    print(json.dumps({"device_id": client.device_id}), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        try:
            answer = await asyncio.wait_for(obey(client, json.loads(line)), 60)
        except Exception as error:
            answer = {"error": repr(error), "seen": seen[-5:]}
        print(json.dumps(answer), flush=True)
    await client.close()


asyncio.run(main())
