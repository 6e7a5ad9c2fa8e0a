//! The query protocol, which clients spoke before 2023 and no current SDK does: refused in its own words, XML.

use crate::answer::Answer;

/// The answer to a request of the query protocol, if it is one: a form with an `Action`.
#[must_use]
pub fn refuse(content_type: Option<&str>, body: &[u8], request_id: &str) -> Option<Answer> {
    let form = "application/x-www-form-urlencoded";
    let is_form = content_type.is_some_and(|given| given.trim_start().starts_with(form));
    let mut fields = body.split(|byte| *byte == b'&');
    if !is_form || !fields.any(|field| field.starts_with(b"Action=")) {
        return None;
    }
    let message = "this server speaks the JSON protocol of SQS (X-Amz-Target: AmazonSQS.SendMessage), as current SDKs \
                   and the AWS CLI do, and not the query protocol of older ones: update the client";
    let body = format!(
        "<?xml version=\"1.0\"?><ErrorResponse><Error><Type>Sender</Type><Code>UnsupportedProtocol</Code>\
         <Message>{message}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    );
    let headers =
        vec![("x-amzn-RequestId", request_id.to_owned()), ("Content-Type", "text/xml".to_owned())];
    Some(Answer { status: 400, headers, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_with_an_action_are_refused() {
        let form = Some("application/x-www-form-urlencoded; charset=utf-8");
        let refused = refuse(form, b"Version=2012-11-05&Action=SendMessage", "id");
        assert!(refused.is_some_and(|answer| answer.body.contains("update the client")));
        assert_eq!(refuse(form, b"a=b", "id"), None);
        assert_eq!(refuse(Some("application/json"), b"Action=x", "id"), None);
        assert_eq!(refuse(None, b"", "id"), None);
    }
}
