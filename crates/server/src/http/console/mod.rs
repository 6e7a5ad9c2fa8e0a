//! The console: pages of the crate `console`, filled from the service.
//!
//! A GET only reads. A POST changes something; it must come from a page of this server, and does what the operation of
//! the same name does. With access keys, all of it requires a session.

mod actions;
mod answer;
mod form;
mod gzip;
mod live;
mod session;
mod view;
mod views;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use axum::routing::any;
use everstep_console::{Notice, Page, Site, assets, pages, url};

use self::answer::Failure;
pub(super) use self::live::Streams;
pub(super) use self::session::Sessions;
use self::view::Address;
use super::handler::Gateway;

/// Whether a path belongs to the console.
pub(super) fn is_path(path: &str) -> bool {
    path == "/console" || path.starts_with("/console/")
}

pub(super) fn routes() -> Router<Arc<Gateway>> {
    Router::new()
        .route("/console", any(answer))
        .route("/console/", any(answer))
        .route("/console/{*rest}", any(answer))
}

/// Where a browser is sent that asks for `/`.
pub(super) fn entrance() -> Response {
    answer::guarded(answer::see_other(url::ROOT))
}

/// Whether a request comes from a browser that wants to show a page.
pub(super) fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(axum::http::header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

async fn answer(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> Response {
    answer::guarded(handle(&gateway, request).await)
}

async fn handle(gateway: &Arc<Gateway>, request: Request<Body>) -> Response {
    let text = request.uri().path_and_query().map_or("", |text| text.as_str());
    let headers = request.headers().clone();
    let Some(address) = Address::parse(text) else {
        return failed(gateway, &Failure::not_found("There is no such page."), &headers, None);
    };
    if let (&Method::GET | &Method::HEAD, ["assets", name]) =
        (request.method(), &address.parts()[..])
    {
        return match assets::find(name) {
            Some(asset) => answer::asset(asset, &headers),
            None => failed(gateway, &Failure::not_found("There is no such file."), &headers, None),
        };
    }
    let user = match gateway.user(&headers) {
        Ok(user) => user,
        Err(_) if address.parts() == ["login"] => {
            return session::login(gateway, request, &address).await;
        }
        Err(_) if request.method() != Method::GET => {
            let failure =
                Failure::new(StatusCode::FORBIDDEN, "Log in", "The session is over: log in again.");
            return failed(gateway, &failure, &headers, None);
        }
        Err(_) if address.parts() == ["live"] => {
            let failure = Failure::new(StatusCode::FORBIDDEN, "Log in", "The session is over.");
            return failed(gateway, &failure, &headers, None);
        }
        Err(_) => {
            let query = url::query(&[("next", &address.text)]);
            return answer::see_other(&format!("{}login{query}", url::ROOT));
        }
    };
    let done = match *request.method() {
        Method::GET | Method::HEAD => read(gateway, &address, &headers, user.as_deref()).await,
        Method::POST => actions::run(gateway, &address, request, user.as_deref()).await,
        _ => {
            let message = "The console answers GET and POST.";
            Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "Not allowed", message))
        }
    };
    done.unwrap_or_else(|failure| failed(gateway, &failure, &headers, user.as_deref()))
}

fn failed(
    gateway: &Gateway,
    failure: &Failure,
    headers: &HeaderMap,
    user: Option<&str>,
) -> Response {
    let site =
        Site { now_ms: gateway.service.now_ms(), user: user.map(str::to_owned), ..Site::default() };
    answer::page(failure.status, &failure.page(), &site, headers)
}

async fn read(
    gateway: &Arc<Gateway>,
    address: &Address,
    headers: &HeaderMap,
    user: Option<&str>,
) -> Result<Response, Failure> {
    match &address.parts()[..] {
        ["login"] => return Ok(answer::see_other(url::ROOT)),
        ["live"] => return live::open(gateway, address, headers).await,
        ["jump"] => return views::jump(gateway, address.query.text("q")).await,
        ["executions", machine, name, "event", id, of] => {
            let text = views::execution::payload(gateway, machine, name, id, of).await?;
            return Ok(answer::download(text, headers));
        }
        _ => {}
    }
    let page = render(gateway, address).await?;
    let site = Site {
        now_ms: gateway.service.now_ms(),
        user: user.map(str::to_owned),
        notice: Notice::find(address.query.text("done")),
        address: address.text.clone(),
    };
    Ok(answer::page(StatusCode::OK, &page, &site, headers))
}

/// The page that an address stands for.
async fn render(gateway: &Arc<Gateway>, address: &Address) -> Result<Page, Failure> {
    let view = address.view().ok_or_else(|| Failure::not_found("There is no such page."))?;
    views::page(gateway, &view, address).await
}

impl Gateway {
    /// The access key of a request's session; nothing if there are no access keys. Fails without a session.
    fn user(&self, headers: &HeaderMap) -> Result<Option<String>, session::NoSession> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        self.sessions.find(headers, self.service.now_ms()).map(Some).ok_or(session::NoSession)
    }
}

/// A page that asks for an access key.
fn login_page(
    gateway: &Gateway,
    next: &str,
    refused: Option<&str>,
    headers: &HeaderMap,
) -> Response {
    let status = if refused.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    let site = Site { now_ms: gateway.service.now_ms(), ..Site::default() };
    answer::page(status, &pages::message::login(next, refused), &site, headers)
}
