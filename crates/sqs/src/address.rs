//! URLs and ARNs of queues. Of either only the name counts: host, region and account are not compared.

/// `http://localhost:8083/123456789012/orders`
#[must_use]
pub fn url(origin: &str, account: &str, name: &str) -> String {
    format!("{origin}/{account}/{name}")
}

/// The name in the URL of a queue, wherever the URL points.
#[must_use]
pub fn name_of_url(url: &str) -> &str {
    url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

#[must_use]
pub fn arn(region: &str, account: &str, name: &str) -> String {
    format!("arn:aws:sqs:{region}:{account}:{name}")
}

/// The name in the ARN of a queue.
#[must_use]
pub fn name_of_arn(arn: &str) -> Option<&str> {
    let parts: Vec<&str> = arn.split(':').collect();
    match *parts {
        ["arn", _, "sqs", _, _, name] if !name.is_empty() => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let address = url("http://localhost:8083", "123456789012", "q.fifo");
        assert_eq!(address, "http://localhost:8083/123456789012/q.fifo");
        for text in
            [&address, "https://sqs.eu-west-1.amazonaws.com/1/q.fifo", "q.fifo", "x/q.fifo/"]
        {
            assert_eq!(name_of_url(text), "q.fifo", "{text}");
        }
        assert_eq!(name_of_arn(&arn("us-east-1", "1", "q")), Some("q"));
        for text in ["", "q", "arn:aws:sns:r:a:q", "arn:aws:sqs:r:a:"] {
            assert_eq!(name_of_arn(text), None, "{text}");
        }
    }
}
