//! Built-in kinds: jobs that do real work.
//!
//! Each kind is a payload type and a plain function that blocks until its work is done: no runtime,
//! no database. `handlers` puts them on a worker. The modules stand in reading order.

mod demo; // payloads that show how jobs end: `noop`, `sleep`, `fail`
mod error; // what can go wrong, and whether another attempt could help
mod secret; // texts that nobody is shown, and where they are masked
mod payload; // what payloads look like, and where one does not
mod files; // the one folder that jobs may read and write
mod picture; // pixels: decode, scale, encode
mod resize_image; // the kind `resize_image`: a picture in, a smaller one out
mod http; // requests, and where they may go
mod webhook; // the kind `webhook_delivery`: a signed message to somebody's address
mod http_request; // the kind `http_request`: a request, and its answer
mod process; // programs: how they are begun, and all that they started ended
mod exec; // the kind `exec`: a program of this machine
mod process_pool; // the kind `process_pool`: a program that is started once and asked many times
mod send_email; // the kind `send_email`: a mail, handed to the operator's server
mod summary; // the kind `summarize_text`: what a text says, in few words
mod handlers; // each kind as a handler of a worker
pub mod sample; // a photo to show them with

pub use demo::{Fail, Noop, Sleep};
pub use error::KindError;
pub use exec::{Exec, ExecConfig, ExecFor, Executed, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, execute};
pub use files::FilesRoot;
pub use handlers::{KindsConfig, register};
pub use http::Allowed;
pub use http_request::{HttpAnswer, HttpRequest, MAX_ANSWER_BYTES};
pub use payload::{read, schemas};
pub use picture::{Fit, Format, MAX_SIDE};
pub use process_pool::{PoolConfig, Pools, ProcessPool, Said};
pub use resize_image::{ImageFile, ImageLimits, ResizeImage, Resized, resize};
pub use secret::{Secret, password_of};
pub use send_email::{
    Attachment, MAX_ATTACHMENTS, MAX_HEADERS, MAX_LINE_BYTES, Mailer, SendEmail, Sent, SmtpConfig,
    SmtpSecurity,
};
pub use summary::{
    Endpoint, EndpointConfig, MAX_TEXT_BYTES, MAX_WORDS, SummarizeText, Summary, summarize,
    summarize_by,
};
pub use webhook::{Delivered, WebhookDelivery};
