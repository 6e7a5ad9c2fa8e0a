//! Requests of the SQS API: same address, same access rules, another service name in signatures.

use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use everstep_api::protocol::{Answer, Common, Error, read};
use everstep_sqs::{
    Operation, QueryRequest, TARGET, query_error, query_refusal, query_success, read_query,
};

use super::body::Received;
use super::handler::{Gateway, text};
use crate::queues::{Caller, Queues};

/// As signatures name it.
const SERVICE: &str = "sqs";

/// The name of the operation, if a request is one of SQS in its JSON protocol.
pub(super) fn operation(head: &Parts) -> Option<&str> {
    text(&head.headers, "x-amz-target")?.strip_prefix(TARGET)
}

/// Whether a request is one of SQS in its query protocol.
pub(super) fn is_query(head: &Parts, body: &[u8]) -> bool {
    everstep_sqs::is_query(text(&head.headers, "content-type"), body)
}

impl Gateway {
    pub(super) async fn answer_sqs(
        &self,
        operation: &str,
        head: &Parts,
        body: Received<'_>,
        request_id: &str,
    ) -> Result<Answer, Error> {
        self.admit(head, body.bytes(), SERVICE)?;
        let name: String = operation.chars().take(100).collect();
        let operation = Operation::find(operation)
            .ok_or_else(|| unknown(format!("SQS has no operation '{name}'")))?;
        let asked = read(body.bytes())?;
        drop(body);
        let answered = self.queues()?.call(operation, asked, &self.caller(head)).await;
        Ok(written(match answered {
            Ok(output) => everstep_sqs::Answer::success(&output, request_id),
            Err(error) => everstep_sqs::Answer::error(&error, request_id),
        }))
    }

    /// Clients of the query protocol read no JSON: what refuses them is XML too.
    pub(super) async fn answer_sqs_query(
        &self,
        head: &Parts,
        body: Received<'_>,
        request_id: &str,
    ) -> Answer {
        let answered = self.query(head, body, request_id).await;
        written(answered.unwrap_or_else(|error| {
            query_refusal(error.name(), error.message(), error.status(), request_id)
        }))
    }

    async fn query(
        &self,
        head: &Parts,
        body: Received<'_>,
        request_id: &str,
    ) -> Result<everstep_sqs::Answer, Error> {
        self.admit(head, body.bytes(), SERVICE)?;
        let asked = read_query(body.bytes(), head.uri.path());
        drop(body);
        let QueryRequest { operation, body } = match asked {
            Ok(asked) => asked,
            Err(error) => return Ok(query_error(&error, request_id)),
        };
        let answered = self.queues()?.call(operation, body, &self.caller(head)).await;
        Ok(match answered {
            Ok(output) => query_success(operation, &output, request_id),
            Err(error) => query_error(&error, request_id),
        })
    }

    fn queues(&self) -> Result<&Queues, Error> {
        let queues = self.service.queues.as_deref();
        queues.ok_or_else(|| unknown("this server has no queues".to_owned()))
    }

    /// URLs of queues begin as the caller has reached this server.
    fn caller(&self, head: &Parts) -> Caller {
        let host = text(&head.headers, HOST.as_str()).unwrap_or("localhost");
        let scheme = if self.encrypted { "https" } else { "http" };
        let key = text(&head.headers, AUTHORIZATION.as_str()).and_then(access_key);
        let sender = key.unwrap_or(&self.service.environment.account).to_owned();
        Caller { origin: format!("{scheme}://{host}"), sender }
    }
}

/// The access key in `AWS4-HMAC-SHA256 Credential=AKID/20260101/…`.
fn access_key(authorization: &str) -> Option<&str> {
    let (_, rest) = authorization.split_once("Credential=")?;
    rest.split('/').next().filter(|key| !key.is_empty())
}

fn unknown(message: String) -> Error {
    Error::common(Common::UnknownOperation, message)
}

fn written(answer: everstep_sqs::Answer) -> Answer {
    let everstep_sqs::Answer { status, headers, body } = answer;
    Answer { status, headers, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_keys() {
        let check = |text: &str, expected| assert_eq!(access_key(text), expected, "{text}");
        check("AWS4-HMAC-SHA256 Credential=AKID/2026/us-east-1/sqs/aws4_request, S", Some("AKID"));
        check("AWS4-HMAC-SHA256 Credential=/x", None);
        check("Bearer x", None);
    }
}
