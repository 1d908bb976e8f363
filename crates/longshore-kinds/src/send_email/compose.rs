//! The payload as a message and an envelope.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::address::Envelope;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment as File, Body, Mailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::{Address, Message};

use super::{Attachment, MAX_ATTACHMENTS, MAX_HEADERS, MAX_LINE_BYTES, SendEmail, SmtpConfig};
use crate::error::{KindError, at_most, shown};

/// Headers that say how a mail is built, where it came from or whom it is for; and `Content-…`.
const OURS: [&str; 16] = [
    "from",
    "sender",
    "to",
    "cc",
    "bcc",
    "reply-to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "return-path",
    "received",
    "delivered-to",
    "dkim-signature",
    "authentication-results",
    "errors-to",
];
/// Bytes of a header's name.
const MAX_NAME: usize = 64;

/// A mail, ready to be handed over.
pub(super) struct Letter {
    pub envelope: Envelope,
    /// With which field of the payload, and which entry of it, each recipient of the envelope was named.
    pub named: Vec<(&'static str, usize)>,
    pub message_id: String,
    pub bytes: Vec<u8>,
}

/// Takes the payload apart, and puts a mail together.
pub(super) fn letter(job: &SendEmail, config: &SmtpConfig, id: &str) -> Result<Letter, KindError> {
    let from = sender(job, config)?;
    let recipients = recipients(job, config.recipients)?;
    let line = |field, text: &str| one_line(field, text).map(|()| text.to_owned());
    let message_id = format!("<{id}@{}>", domain_of(&from.email, config));
    let mut builder = Message::builder()
        .from(from.clone())
        .subject(line("subject", &job.subject)?)
        .message_id(Some(message_id.clone()))
        .date_now();
    if let Some(reply_to) = &job.reply_to {
        builder = builder.reply_to(mailbox("reply_to", reply_to)?);
    }
    for recipient in &recipients {
        builder = match recipient.named.0 {
            "to" => builder.to(recipient.mailbox.clone()),
            "cc" => builder.cc(recipient.mailbox.clone()),
            _ => builder, // `bcc` stands in the envelope alone
        };
    }
    builder = headers(builder, job)?;
    let (addresses, named) =
        recipients.into_iter().map(|one| (one.mailbox.email, one.named)).unzip();
    let envelope = Envelope::new(Some(from.email), addresses)
        .map_err(|_| KindError::payload("to", "names nobody"))?;
    let mut bytes = body(builder.envelope(envelope.clone()), job)?.formatted();
    // One is added behind a part, and one before the dot that ends the mail.
    for _ in 0..2 {
        let without = bytes.strip_suffix(b"\r\n").map_or(bytes.len(), <[u8]>::len);
        bytes.truncate(without);
    }
    at_most("payload", bytes.len() as u64, "bytes as a mail", config.bytes)?;
    Ok(Letter { envelope, named, message_id, bytes })
}

/// Who is said to have written it.
fn sender(job: &SendEmail, config: &SmtpConfig) -> Result<Mailbox, KindError> {
    let Some(from) = &job.from else {
        let Some(from) = &config.from else {
            return Err(KindError::payload("from", "is missing, and the operator has set none"));
        };
        return Ok(from.clone());
    };
    let from = mailbox("from", from)?;
    if config.allows(&from.email) {
        return Ok(from);
    }
    Err(KindError::payload("from", "is a sender that the operator did not allow"))
}

/// Somebody who gets a mail.
struct Recipient {
    /// By which field of the payload, and which entry of it.
    named: (&'static str, usize),
    mailbox: Mailbox,
}

fn recipients(job: &SendEmail, most: usize) -> Result<Vec<Recipient>, KindError> {
    let mut all = Vec::new();
    for (field, texts) in [("to", &job.to), ("cc", &job.cc), ("bcc", &job.bcc)] {
        at_most(field, (all.len() + texts.len()) as u64, "recipients", most as u64)?;
        for (nth, text) in texts.iter().enumerate() {
            all.push(Recipient { named: (field, nth), mailbox: mailbox(field, text)? });
        }
    }
    if all.is_empty() {
        return Err(KindError::payload("to", "names nobody, and neither do `cc` and `bcc`"));
    }
    Ok(all)
}

fn mailbox(field: &'static str, text: &str) -> Result<Mailbox, KindError> {
    one_line(field, text)?;
    let wrong = || {
        let problem = format!(
            "has `{}`, which is no address; write `anna@example.org` or `Anna <anna@example.org>`",
            shown(text)
        );
        KindError::payload(field, problem)
    };
    // The parser of mailboxes stops at what it does not know; that of addresses takes the whole text.
    let (name, address) = match text.trim().strip_suffix('>').and_then(|text| text.rsplit_once('<'))
    {
        Some((name, address)) => (Some(plain_name(name.trim()).ok_or_else(wrong)?), address),
        None => (None, text.trim()),
    };
    let address: Address = address.parse().map_err(|_| wrong())?;
    // Between quotes it may have blanks and brackets, which servers read in several ways.
    if address.user().contains(['"', ' ', '<', '>', '\\', ',', ';']) {
        return Err(wrong());
    }
    Ok(Mailbox::new(name.filter(|name| !name.is_empty()), address))
}

/// `Anna, B.` of `"Anna, B."`; without quotes it has nothing that could begin another address.
fn plain_name(name: &str) -> Option<String> {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(inner) => Some(inner.replace("\\\"", "\"").replace("\\\\", "\\")),
        None => (!name.contains(['<', '>', '@', ',', ';', '"'])).then(|| name.to_owned()),
    }
}

/// Nothing that could end a line and begin another.
fn one_line(field: &'static str, text: &str) -> Result<(), KindError> {
    at_most(field, text.len() as u64, "bytes", MAX_LINE_BYTES as u64)?;
    if text.chars().any(|char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}')) {
        return Err(KindError::payload(field, "has a line break or another control character"));
    }
    Ok(())
}

fn headers(mut builder: MessageBuilder, job: &SendEmail) -> Result<MessageBuilder, KindError> {
    at_most("headers", job.headers.len() as u64, "headers", MAX_HEADERS as u64)?;
    for (name, value) in &job.headers {
        one_line("headers", value)?;
        let lower = name.to_ascii_lowercase();
        let fits = (1..=MAX_NAME).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let wrong =
            |what: &str| KindError::payload("headers", format!("has `{}`, {what}", shown(name)));
        if !fits {
            return Err(wrong("which is no name of a header: letters, digits and `-`"));
        }
        let ours = OURS.contains(&lower.as_str())
            || lower.starts_with("content-")
            || lower.starts_with("resent-");
        if ours {
            return Err(wrong("which is not for payloads to set"));
        }
        if job.headers.keys().filter(|other| other.eq_ignore_ascii_case(name)).count() > 1 {
            return Err(wrong("which is there twice"));
        }
        let name = HeaderName::new_from_ascii(name.clone())
            .map_err(|_| wrong("which is no name of a header"))?;
        builder = builder.raw_header(HeaderValue::new(name, value.clone()));
    }
    Ok(builder)
}

fn body(builder: MessageBuilder, job: &SendEmail) -> Result<Message, KindError> {
    let text = job.text.as_ref().map(|text| prose("text", text).map(SinglePart::plain));
    let html = job.html.as_ref().map(|html| prose("html", html).map(SinglePart::html));
    at_most("attachments", job.attachments.len() as u64, "files", MAX_ATTACHMENTS as u64)?;
    let mut files = job.attachments.iter().map(file);
    let built = match (text.transpose()?, html.transpose()?) {
        (Some(one), None) | (None, Some(one)) if job.attachments.is_empty() => {
            builder.singlepart(one)
        }
        (Some(text), Some(html)) if job.attachments.is_empty() => {
            builder.multipart(MultiPart::alternative().singlepart(text).singlepart(html))
        }
        (text, html) => {
            let mixed = match (text, html) {
                (Some(text), Some(html)) => MultiPart::mixed()
                    .multipart(MultiPart::alternative().singlepart(text).singlepart(html)),
                (Some(one), None) | (None, Some(one)) => MultiPart::mixed().singlepart(one),
                (None, None) => {
                    let Some(first) = files.next() else {
                        let problem = "is missing, and so are `html` and `attachments`";
                        return Err(KindError::payload("text", problem));
                    };
                    MultiPart::mixed().singlepart(first?)
                }
            };
            let mixed = files.try_fold(mixed, |mixed, file| file.map(|f| mixed.singlepart(f)))?;
            builder.multipart(mixed)
        }
    };
    built.map_err(|error| KindError::payload("payload", format!("makes no mail: {error}")))
}

/// With line ends of one sort: a lone carriage return is what some servers take for one, and others do not.
fn prose(field: &'static str, text: &str) -> Result<String, KindError> {
    if text.contains('\0') {
        return Err(KindError::payload(field, "has a NUL, which no mail can have"));
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

fn file(attachment: &Attachment) -> Result<SinglePart, KindError> {
    const FIELD: &str = "attachments";
    let wrong = |what: &str| {
        KindError::payload(FIELD, format!("has `{}`, {what}", shown(&attachment.name)))
    };
    one_line(FIELD, &attachment.name)?;
    one_line(FIELD, &attachment.content_type)?;
    let name = &attachment.name;
    if name.is_empty() || name.len() > 255 || name.contains(['/', '\\']) {
        return Err(wrong("which is no name of a file: 1 to 255 bytes, without a folder"));
    }
    let kind = attachment.content_type.trim();
    let whole = kind.to_ascii_lowercase();
    let parsed = ContentType::parse(kind).ok().filter(|_| {
        kind.is_ascii() && !whole.starts_with("multipart/") && !whole.starts_with("message/")
    });
    let Some(parsed) = parsed else {
        return Err(wrong("whose `content_type` is none that a file can have"));
    };
    let mut content = attachment.content.clone();
    content.retain(|char| !char.is_ascii_whitespace());
    let bytes = STANDARD.decode(content).map_err(|_| wrong("whose `content` is not base64"))?;
    // Whatever it is: as text, its line ends would be made those of mail.
    let body = Body::new_with_encoding(bytes, ContentTransferEncoding::Base64)
        .map_err(|_| wrong("whose `content` cannot be sent"))?;
    Ok(File::new(name.clone()).body(body, parsed))
}

/// Behind the `@` of a `Message-ID`.
fn domain_of(from: &Address, config: &SmtpConfig) -> String {
    let domains = [Some(from), config.from.as_ref().map(|from| &from.email)];
    let ascii = domains.into_iter().flatten().map(Address::domain).find(|name| name.is_ascii());
    ascii.unwrap_or("longshore.invalid").to_owned()
}
