//! The page where people sign in: a plain form, which needs no script.

use axum::Router;
use axum::extract::{Form, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use longshore::access::Secret;
use serde::Deserialize;

use super::{Arrival, sign_in};
use crate::problem::{Code, Result};
use crate::request::Params;
use crate::server::App;

const PAGE: &str = include_str!("../../assets/sign-in.html");
const NAME_AND_PASSWORD: &str = r#"<form method="post" action="/sign-in">
<p><label for="name">Name</label><br><input id="name" name="name" autocomplete="username" required autofocus></p>
<p><label for="password">Password</label><br><input id="password" name="password" type="password" autocomplete="current-password" required></p>
<p><button>Sign in</button></p>
</form>"#;
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";
/// Where somebody is who has signed in.
const HOME: &str = "/api/docs";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/sign-in", get(page).post(submit))
}

#[derive(Deserialize)]
struct Asked {
    code: Option<String>,
    failed: Option<String>,
}

#[derive(Deserialize)]
struct Submitted {
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
    code: Option<String>,
}

/// Changes nothing: what opens links by itself, such as a mail program, uses no code up.
async fn page(Params(asked): Params<Asked>) -> Response {
    let message = match asked.failed.as_deref() {
        Some("code") => {
            "This link was used, or is too old. Start the program again for another one."
        }
        Some("wait") => "Too many attempts. Wait a minute, then try again.",
        Some("down") => "The database does not answer. Try again a little later.",
        Some(_) => "The name or the password is wrong.",
        None => "",
    };
    let message =
        if message.is_empty() { String::new() } else { format!("<p role=\"alert\">{message}</p>") };
    let code = asked.code.as_deref().and_then(Secret::read);
    let form = match code {
        // It has a secret's form: letters and digits.
        Some(code) => format!(
            "<form method=\"post\" action=\"/sign-in\"><input type=\"hidden\" name=\"code\" value=\"{}\">\
             <p>This link signs you in once, for as long as the program runs.</p><p><button autofocus>Sign in</button></p></form>",
            code.reveal()
        ),
        None => NAME_AND_PASSWORD.to_owned(),
    };
    let text = PAGE.replace("<!-- message -->", &message).replace("<!-- form -->", &form);
    ([(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))], Html(text))
        .into_response()
}

async fn submit(
    State(app): State<App>,
    from: Arrival,
    Form(submitted): Form<Submitted>,
) -> Response {
    match let_in(&app, &from, submitted).await {
        Ok(secret) => {
            let mut response = see(HOME);
            response.headers_mut().insert(header::SET_COOKIE, from.cookie.set(Some(&secret)));
            response
        }
        Err(why) => see(&format!("/sign-in?failed={why}")),
    }
}

async fn let_in(app: &App, from: &Arrival, submitted: Submitted) -> Result<Secret, &'static str> {
    if let Some(code) = submitted.code {
        let good = Secret::read(&code).is_some_and(|code| app.code.take(&code));
        return app.config.process_token.clone().filter(|_| good).ok_or("code");
    }
    match sign_in(app, from, &submitted.name, submitted.password).await {
        Ok(made) => Ok(made.secret),
        Err(problem) => Err(match problem.code() {
            Code::TooMany => "wait",
            Code::Unauthorized => "password",
            _ => "down",
        }),
    }
}

fn see(place: &str) -> Response {
    let place = HeaderValue::try_from(place).expect("ours");
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}
