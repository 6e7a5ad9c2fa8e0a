//! Functions at a Lambda endpoint: that of AWS, or of anything that speaks its API.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use everstep_client::{
    Client, Credentials, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Signing,
};
use hyper::body::Bytes;
use serde_json::Value;

use crate::call::Call;

/// Lambda's fifteen minutes, and a little for the way.
const TIMEOUT: Duration = Duration::from_secs(930);

/// Invokes functions over the network, signed if there are credentials.
#[derive(Debug, Clone)]
pub struct RemoteLambda {
    client: Arc<Client>,
    endpoint: String,
    signing: Option<Signing>,
}

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Invocation {
    #[default]
    RequestResponse,
    Event,
    DryRun,
}

impl Invocation {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestResponse => "RequestResponse",
            Self::Event => "Event",
            Self::DryRun => "DryRun",
        }
    }
}

/// A function to call, and how.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// A name or an ARN.
    pub function: &'a str,
    pub qualifier: Option<&'a str>,
    pub invocation: Invocation,
    /// Whether the end of the function's log is to come with the answer.
    pub log_tail: bool,
}

/// What the endpoint answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoked {
    pub status: u16,
    pub executed_version: Option<String>,
    pub payload: Bytes,
    /// The payload is an error that the function raised, or that befell it.
    pub failed: bool,
    /// The end of the function's log in Base64.
    pub log_result: Option<String>,
}

/// The endpoint has not called the function: the names are those of Step Functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub error: String,
    pub cause: String,
}

impl RemoteLambda {
    /// `endpoint` without a path: `https://lambda.eu-west-1.amazonaws.com`.
    #[must_use]
    pub fn new(
        client: Arc<Client>,
        endpoint: &str,
        region: &str,
        credentials: Option<Credentials>,
    ) -> Self {
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let (region, service) = (region.to_owned(), "lambda".to_owned());
        let signing = credentials.map(|credentials| Signing { credentials, region, service });
        Self { client, endpoint, signing }
    }

    pub async fn invoke(&self, asked: Asked<'_>, call: &Call) -> Result<Invoked, Refusal> {
        let request = self.request(asked, call);
        match self.client.send(request).await {
            Ok(response) if response.status.is_success() => Ok(invoked(response)),
            Ok(response) => Err(refused(&response)),
            Err(error) => Err(Refusal {
                error: "Lambda.SdkClientException".to_owned(),
                cause: error.to_string(),
            }),
        }
    }

    fn request(&self, asked: Asked<'_>, call: &Call) -> Request {
        let function = encoded(asked.function);
        let mut url = format!("{}/2015-03-31/functions/{function}/invocations", self.endpoint);
        if let Some(qualifier) = asked.qualifier {
            url.push_str(&format!("?Qualifier={}", encoded(qualifier)));
        }
        let mut request = Request::new(Method::POST, url).body(call.payload.clone());
        let name = HeaderName::from_static("x-amz-invocation-type");
        request = request.header(name, HeaderValue::from_static(asked.invocation.as_str()));
        if asked.log_tail {
            let name = HeaderName::from_static("x-amz-log-type");
            request = request.header(name, HeaderValue::from_static("Tail"));
        }
        let context = call.client_context.as_deref().map(|context| STANDARD.encode(context));
        if let Some(context) = context.and_then(|context| HeaderValue::try_from(context).ok()) {
            request = request.header(HeaderName::from_static("x-amz-client-context"), context);
        }
        request.sign = self.signing.clone();
        request.timeout(TIMEOUT)
    }
}

fn invoked(response: Response) -> Invoked {
    Invoked {
        status: response.status.as_u16(),
        executed_version: header(&response.headers, "x-amz-executed-version"),
        failed: response.headers.contains_key("x-amz-function-error"),
        log_result: header(&response.headers, "x-amz-log-result"),
        payload: response.body,
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn refused(response: &Response) -> Refusal {
    let status = response.status.as_u16();
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    // `ResourceNotFoundException:http://…`, in a header or in the body.
    let code = header(&response.headers, "x-amzn-errortype").or_else(|| text("__type"));
    let code = code.or_else(|| text("code")).unwrap_or_default();
    let code = code.split(':').next().unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or_default();
    let code = match (code, status) {
        ("", 404) => "ResourceNotFoundException",
        ("", 429) => "TooManyRequestsException",
        ("", 500..) => "ServiceException",
        ("", _) => "AWSLambdaException",
        (code, _) => code,
    };
    let message = text("Message").or_else(|| text("message")).unwrap_or_default();
    let id = header(&response.headers, "x-amzn-requestid").unwrap_or_default();
    Refusal { error: format!("Lambda.{code}"), cause: cause(&message, status, code, &id) }
}

/// As Step Functions puts what Lambda answers.
pub(crate) fn cause(message: &str, status: u16, code: &str, request_id: &str) -> String {
    format!(
        "{message} (Service: AWSLambda; Status Code: {status}; Error Code: {code}; Request ID: \
         {request_id}; Proxy: null)"
    )
}

/// For a segment of a path, or a value in a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use everstep_client::StatusCode;

    fn check(status: u16, named: Option<&str>, body: &str, error: &str, cause: &str) {
        let mut headers = HeaderMap::new();
        headers.insert("x-amzn-requestid", "r-1".parse().unwrap());
        if let Some(named) = named {
            headers.insert("x-amzn-errortype", named.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        let refusal = refused(&Response { status, headers, body: body.to_owned().into() });
        assert_eq!((&*refusal.error, &*refusal.cause), (error, cause));
    }

    #[test]
    fn refusals_have_the_names_of_step_functions() {
        check(
            404,
            Some("ResourceNotFoundException:http://internal.amazon.com/coral/"),
            r#"{"Message":"Function not found: arn:x","Type":"User"}"#,
            "Lambda.ResourceNotFoundException",
            "Function not found: arn:x (Service: AWSLambda; Status Code: 404; Error Code: \
             ResourceNotFoundException; Request ID: r-1; Proxy: null)",
        );
        check(
            429,
            None,
            "no json",
            "Lambda.TooManyRequestsException",
            " (Service: AWSLambda; Status Code: 429; Error Code: TooManyRequestsException; Request \
             ID: r-1; Proxy: null)",
        );
        check(
            503,
            None,
            r#"{"message":"down"}"#,
            "Lambda.ServiceException",
            "down (Service: AWSLambda; Status Code: 503; Error Code: ServiceException; Request ID: \
             r-1; Proxy: null)",
        );
    }

    #[test]
    fn names_stand_in_a_path() {
        assert_eq!(encoded("arn:aws:lambda:a/b"), "arn%3Aaws%3Alambda%3Aa%2Fb");
    }
}
