//! A request and its answer.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

use crate::address::Address;
use crate::{Error, Signing};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// Absolute: `https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/f/invocations`.
    pub url: String,
    /// `Host` and `Content-Length` come of themselves.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Another than the client's own.
    pub timeout: Option<Duration>,
    pub sign: Option<Signing>,
}

/// What came back, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    #[must_use]
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: None,
            sign: None,
        }
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    #[must_use]
    pub fn signed(mut self, signing: Signing) -> Self {
        self.sign = Some(signing);
        self
    }

    pub(crate) fn made(
        mut self,
        address: &Address,
        now_ms: i64,
    ) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let wrong = |why: &str| Error::request(&address.shown, why);
        if !self.headers.contains_key(HOST) {
            let host = HeaderValue::try_from(&address.host)
                .map_err(|_| wrong("its host cannot stand in a header"))?;
            self.headers.insert(HOST, host);
        }
        if let Some(signing) = self.sign.take() {
            self.sign(&signing, address, now_ms)?;
        }
        let mut request = hyper::Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = address.uri.clone();
        *request.headers_mut() = self.headers;
        Ok(request)
    }

    fn sign(&mut self, signing: &Signing, address: &Address, now_ms: i64) -> Result<(), Error> {
        let wrong = |why: &str| Error::request(&address.shown, why);
        self.headers.remove(AUTHORIZATION);
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let request = everstep_signature::Request {
            method: self.method.as_str(),
            path: address.uri.path(),
            query: address.uri.query().unwrap_or_default(),
            headers: &headers,
            body: &self.body,
        };
        let added = signing.sign(&request, now_ms).map_err(|error| wrong(&error.to_string()))?;
        for (name, value) in added {
            let value = HeaderValue::try_from(value)
                .map_err(|_| wrong("its credentials cannot stand in a header"))?;
            self.headers.insert(HeaderName::from_static(name), value);
        }
        Ok(())
    }
}
