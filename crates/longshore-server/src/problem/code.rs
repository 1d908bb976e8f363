//! The kinds of problems: one table for answers, the OpenAPI document and the page that explains them.

use axum::http::StatusCode;

macro_rules! codes {
    ($($name:ident $word:literal $status:ident $title:literal $text:literal)*) => {
        /// The kinds of problems.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $text] $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The word that programs compare.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $word),* }
            }

            /// The status of the answer.
            pub fn status(self) -> StatusCode {
                match self { $(Code::$name => StatusCode::$status),* }
            }

            /// In a few words.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title),* }
            }

            /// What it means and what to do.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }
        }
    };
}

codes! {
    BadJson "bad_json" BAD_REQUEST "The body is not JSON"
        "The body cannot be read as JSON. The detail says where it breaks off."
    BadParameter "bad_parameter" BAD_REQUEST "A parameter cannot be read"
        "A parameter of the address or a header has a value that cannot be read. The detail names it and what it may be."
    BadQuery "bad_query" BAD_REQUEST "The query cannot be read"
        "The query language does not allow this. `errors` has the place in bytes."
    BadCursor "bad_cursor" BAD_REQUEST "The cursor cannot be used"
        "A cursor belongs to the query that it came with. Start again from the first page."
    BadRequest "bad_request" BAD_REQUEST "The request cannot be read"
        "The request breaks a rule of HTTP."
    Unauthorized "unauthorized" UNAUTHORIZED "Sign in first"
        "The request has no credentials, or they are wrong, expired or revoked."
    Forbidden "forbidden" FORBIDDEN "Not allowed"
        "The credentials are good, but do not give the right that this needs. The detail names the right."
    NotFound "not_found" NOT_FOUND "Not there"
        "There is no such thing, or not any more: what ended is removed when its time of retention is over."
    NodeLost "node_lost" NOT_FOUND "The worker's node is lost"
        "The node's lease has run out, or there never was such a node. Others run its jobs by now: drop what it runs, say nothing more of it, and join anew."
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "Another method is needed"
        "The address is right, the method is not. The header `Allow` names those that are."
    Timeout "timeout" GATEWAY_TIMEOUT "It took too long"
        "The answer did not come in time. What was asked for may have been done all the same: look, or repeat with the same `Idempotency-Key`."
    Refused "refused" CONFLICT "The job's state does not allow it"
        "What was asked for is possible in other states only. The detail names the state."
    KeyHeld "key_held" CONFLICT "Another job holds the unique key"
        "Another job holds the unique key, and the request said that this is to be refused."
    Taken "taken" CONFLICT "The name is taken"
        "There is one of this name already."
    InProgress "in_progress" CONFLICT "The same request is being carried out"
        "A request with this `Idempotency-Key` is being carried out at this moment. Repeat it a little later."
    Changed "changed" PRECONDITION_FAILED "Somebody changed it meanwhile"
        "It has another version than `If-Match` names. Read it again, and decide again."
    TooLarge "too_large" PAYLOAD_TOO_LARGE "Too large"
        "The body, or a part of it, has more bytes than it may have. The detail names size and limit. Nothing was written."
    MediaType "media_type" UNSUPPORTED_MEDIA_TYPE "Another media type is needed"
        "A body is JSON and says so: `Content-Type: application/json`."
    Invalid "invalid" UNPROCESSABLE_ENTITY "A value is not allowed"
        "The body is JSON, but a value in it is not allowed. `errors` names each place. Nothing was written."
    KeyReused "key_reused" UNPROCESSABLE_ENTITY "The key was used for something else"
        "The unique key or the `Idempotency-Key` was used with another payload or for another request."
    TooMany "too_many_requests" TOO_MANY_REQUESTS "Too many requests"
        "These credentials have used up their requests for the moment. `Retry-After` says when there are more."
    TooManyStreams "too_many_streams" TOO_MANY_REQUESTS "Too many streams are open"
        "This server has as many event streams open as it may. Close some, ask another server, or poll: `Retry-After` says when to try again."
    Internal "internal" INTERNAL_SERVER_ERROR "A fault of this program"
        "Nobody but the program is to blame. The server's log has more below the request's id."
    Unavailable "unavailable" SERVICE_UNAVAILABLE "The database does not answer"
        "The database is away, busy or being prepared. The same request may succeed later: `Retry-After` says when to try."
    Draining "draining" SERVICE_UNAVAILABLE "This server is stopping"
        "This server takes no more requests. Ask another one, or the same address a little later."
}

impl Code {
    /// The address of its explanation.
    pub fn explained_at(self) -> String {
        format!("/api/docs#problem-{}", self.as_str())
    }
}

/// The kind that suits a status that something else than a handler of ours chose.
impl From<StatusCode> for Code {
    fn from(status: StatusCode) -> Code {
        match status {
            StatusCode::UNAUTHORIZED => Code::Unauthorized,
            StatusCode::FORBIDDEN => Code::Forbidden,
            StatusCode::NOT_FOUND => Code::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => Code::Timeout,
            StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::MediaType,
            StatusCode::UNPROCESSABLE_ENTITY => Code::Invalid,
            StatusCode::TOO_MANY_REQUESTS => Code::TooMany,
            StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
            status if status.is_server_error() => Code::Internal,
            _ => Code::BadRequest,
        }
    }
}
