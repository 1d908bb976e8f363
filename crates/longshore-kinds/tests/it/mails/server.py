"""A mail server that does what the recipient's name says, for tests; needs aiosmtpd.

Prints its port, then what it took, a JSON object a line: {"from", "to", "tls", "user", "message"}.

  refuse-550@  later-450@     the answer to this recipient
  mail-554@ mail-451@         the answer to the mail
  once-451@                   the same, but only to the first mail of this Message-ID
  slow@ silent@               answers the mail, or the recipient, after ten seconds
  cut@ cut-after@             closes the connection in the middle of the mail, or when it has all of it
  endless@                    says one line without end
"""

import argparse
import asyncio
import email
import json
import ssl

from aiosmtpd.smtp import SMTP, AuthResult

args = argparse.ArgumentParser()
args.add_argument("--address", default="127.0.0.1")
args.add_argument("--certificate")
args.add_argument("--key")
args.add_argument("--implicit", action="store_true")
args.add_argument("--inject", action="store_true", help="say more than an answer before TLS")
args.add_argument("--user")
args.add_argument("--password")
args.add_argument("--greeting", help="an answer in place of a greeting")
args = args.parse_args()

seen = set()


def code(name):
    words = {"4": "4.2.0 come again", "5": "5.1.1 nobody here"}
    return f"{name} {words[name[0]]}"


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name.startswith(("refuse-", "later-")):
            return code(name.split("-")[1])
        if name == "silent":
            await asyncio.sleep(10)
        if name == "endless":
            while True:
                server._writer.write(b"250-" + b"x" * 65536)
                await server._writer.drain()
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = envelope.content.decode("utf-8")
        message_id = email.message_from_string(message)["Message-ID"]
        name = envelope.rcpt_tos[0].split("@")[0]
        took = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": session.ssl is not None or args.implicit,
            "user": session.auth_data.login.decode() if session.auth_data else None,
            "message": message,
        }
        if name == "slow":
            await asyncio.sleep(10)
        if name.startswith("mail-"):
            return code(name.split("-")[1])
        if name.startswith("once-") and message_id not in seen:
            seen.add(message_id)
            took["refused"] = True
            print(json.dumps(took), flush=True)
            return code(name.split("-")[1])
        print(json.dumps(took), flush=True)
        if name == "cut-after":
            server.transport.abort()
        return "250 2.0.0 taken"


class Server(SMTP):
    async def smtp_DATA(self, arg):
        if self.envelope.rcpt_tos and self.envelope.rcpt_tos[0].startswith("cut@"):
            await self.push("354 go on")
            await self._reader.read(10)
            self.transport.abort()
            return
        await super().smtp_DATA(arg)

    async def smtp_STARTTLS(self, arg):
        if args.inject:
            self._writer.write(b"220 go on\r\n250 heard in the clear\r\n")
            await self._writer.drain()
            return
        await super().smtp_STARTTLS(arg)


class Refuser(asyncio.Protocol):
    def connection_made(self, transport):
        transport.write(args.greeting.encode() + b"\r\n")
        transport.close()


def authenticate(server, session, envelope, mechanism, data):
    login, password = data.login.decode(), data.password.decode()
    if (login, password) == (args.user, args.password):
        return AuthResult(success=True, auth_data=data)
    # A server that repeats what it should not.
    return AuthResult(success=False, handled=False, message=f"535 5.7.8 not {password}")


async def main():
    context = None
    if args.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.certificate, args.key)

    def protocol():
        if args.greeting:
            return Refuser()
        return Server(
            Handler(),
            enable_SMTPUTF8=False,
            decode_data=False,
            tls_context=None if args.implicit else context,
            authenticator=authenticate if args.user else None,
            auth_require_tls=bool(context) and not args.implicit,
            auth_required=bool(args.user),
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        protocol, args.address, 0, ssl=context if args.implicit else None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
