//! Operations on queues themselves.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use everstep_queues::{Change, Creation, Description, is_fifo, is_name};
use everstep_sqs::{
    Attribute, AttributeName, CreateQueue, Error, GetQueueAttributes, GetQueueUrl,
    ListDeadLetterSourceQueues, ListQueues, Name, OfQueue, SetQueueAttributes, TagQueue,
    UntagQueue, check_tags, read, read_attributes, required, within,
};
use serde_json::{Map, Value, json};

use super::attributes::{apply, check};
use super::{Answer, Caller, Queues, queue_of, refusal};

/// Queues of one answer.
const PAGE: usize = 1000;

impl Queues {
    pub(super) async fn create(&self, body: Value, caller: &Caller) -> Answer {
        let CreateQueue { queue_name, attributes, tags } = read(body)?;
        let name = required("QueueName", queue_name)?;
        let attributes = read_attributes(&attributes.unwrap_or_default())?;
        check_name(&name, attributes.contains(&Attribute::FifoQueue(true)))?;
        check(&name, &attributes, true)?;
        let tags = tags.unwrap_or_default();
        check_tags(&tags)?;
        self.check_redrive(&name, &attributes)?;
        let set = Box::new(move |to| apply(to, &attributes));
        let creation = Creation { name: name.clone(), set, tags, update: false };
        let created = self.ask(|engine, reply| engine.create(creation, reply)).await;
        created.map_err(refusal)?;
        Ok(json!({ "QueueUrl": self.url_of(&name, caller) }))
    }

    pub(super) async fn delete(&self, body: Value) -> Answer {
        let OfQueue { queue_url } = read(body)?;
        let name = queue_of(queue_url)?;
        self.ask(|engine, reply| engine.delete(&name, reply)).await.map_err(refusal)?;
        Ok(json!({}))
    }

    pub(super) async fn purge(&self, body: Value) -> Answer {
        let OfQueue { queue_url } = read(body)?;
        let name = queue_of(queue_url)?;
        self.ask(|engine, reply| engine.purge(&name, reply)).await.map_err(refusal)?;
        Ok(json!({}))
    }

    pub(super) fn url(&self, body: Value, caller: &Caller) -> Answer {
        let GetQueueUrl { queue_name } = read(body)?;
        let name = required("QueueName", queue_name)?;
        let found = self.engine.find(&name).map_err(refusal)?;
        found.ok_or_else(Error::no_such_queue)?;
        Ok(json!({ "QueueUrl": self.url_of(&name, caller) }))
    }

    pub(super) async fn list(&self, body: Value, caller: &Caller) -> Answer {
        let ListQueues { queue_name_prefix, next_token, max_results } = read(body)?;
        let prefix = queue_name_prefix.unwrap_or_default();
        let limit = page_size(max_results)?;
        let after = next_token.map(|token| read_token(&token)).transpose()?;
        let found = self.find_all(prefix, after, limit + 1).await?;
        let names: Vec<String> = found.into_iter().map(|record| record.name).collect();
        Ok(self.page("QueueUrls", names, limit, max_results.is_some(), caller))
    }

    pub(super) async fn list_sources(&self, body: Value, caller: &Caller) -> Answer {
        let ListDeadLetterSourceQueues { queue_url, next_token, max_results } = read(body)?;
        let name = queue_of(queue_url)?;
        self.engine.find(&name).map_err(refusal)?.ok_or_else(Error::no_such_queue)?;
        let limit = page_size(max_results)?;
        let after = next_token.map(|token| read_token(&token)).transpose()?;
        let mut names = self.sources(&name).await?;
        names.retain(|name| after.as_ref().is_none_or(|after| name > after));
        names.truncate(limit + 1);
        Ok(self.page("queueUrls", names, limit, max_results.is_some(), caller))
    }

    /// The queues whose dead-letter queue this is, by name.
    pub(super) async fn sources(&self, name: &str) -> Result<Vec<String>, Error> {
        let all = self.find_all(String::new(), None, usize::MAX).await?;
        let is_source = |record: &Description| {
            let redrive = record.attributes.redrive.as_ref();
            redrive.is_some_and(|redrive| redrive.target == name)
        };
        Ok(all.into_iter().filter(is_source).map(|record| record.name).collect())
    }

    /// Queues by name. All shards are read, so that is not done on a thread of the runtime.
    pub(super) async fn find_all(
        &self,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<Description>, Error> {
        let engine = self.engine.clone();
        let list = move || engine.list(&prefix, after.as_deref(), limit);
        let found = tokio::task::spawn_blocking(list).await;
        found.unwrap_or(Err(everstep_queues::Error::Stopped)).map_err(refusal)
    }

    fn page(
        &self,
        member: &str,
        mut names: Vec<String>,
        limit: usize,
        paged: bool,
        caller: &Caller,
    ) -> Value {
        let more = names.len() > limit;
        names.truncate(limit);
        let mut answer = Map::new();
        if let Some(last) = names.last().filter(|_| more && paged) {
            answer.insert("NextToken".to_owned(), URL_SAFE_NO_PAD.encode(last).into());
        }
        let urls: Vec<String> = names.iter().map(|name| self.url_of(name, caller)).collect();
        if !urls.is_empty() || member == "queueUrls" {
            answer.insert(member.to_owned(), urls.into());
        }
        answer.into()
    }

    pub(super) async fn get_attributes(&self, body: Value) -> Answer {
        let GetQueueAttributes { queue_url, attribute_names } = read(body)?;
        let name = queue_of(queue_url)?;
        let asked = attribute_names.unwrap_or_default();
        let wanted: Vec<AttributeName> = if asked.iter().any(|asked| asked == "All") {
            AttributeName::ALL.to_vec()
        } else {
            asked.iter().map(|asked| AttributeName::find(asked)).collect::<Result<_, _>>()?
        };
        let standing = self.ask(|engine, reply| engine.standing(&name, reply)).await;
        let standing = standing.map_err(refusal)?;
        let attributes: Map<String, Value> = wanted
            .into_iter()
            .filter_map(|name| {
                let value = self.attribute(name, &standing)?;
                Some((name.as_str().to_owned(), value.into()))
            })
            .collect();
        if attributes.is_empty() {
            return Ok(json!({}));
        }
        Ok(json!({ "Attributes": attributes }))
    }

    pub(super) async fn set_attributes(&self, body: Value) -> Answer {
        let SetQueueAttributes { queue_url, attributes } = read(body)?;
        let name = queue_of(queue_url)?;
        let attributes = read_attributes(&required("Attributes", attributes)?)?;
        self.engine.find(&name).map_err(refusal)?.ok_or_else(Error::no_such_queue)?;
        check(&name, &attributes, false)?;
        self.check_redrive(&name, &attributes)?;
        let change = Change::Attributes(Box::new(move |to| apply(to, &attributes)));
        self.ask(|engine, reply| engine.change(&name, change, reply)).await.map_err(refusal)?;
        Ok(json!({}))
    }

    pub(super) async fn tag(&self, body: Value) -> Answer {
        let TagQueue { queue_url, tags } = read(body)?;
        let name = queue_of(queue_url)?;
        let tags = required("Tags", tags)?;
        let found = self.engine.find(&name).map_err(refusal)?.ok_or_else(Error::no_such_queue)?;
        let kept = found.tags.iter().filter(|(key, _)| !tags.contains_key(*key));
        check_tags(kept.chain(&tags))?;
        let change = Change::Tag(tags);
        self.ask(|engine, reply| engine.change(&name, change, reply)).await.map_err(refusal)?;
        Ok(json!({}))
    }

    pub(super) async fn untag(&self, body: Value) -> Answer {
        let UntagQueue { queue_url, tag_keys } = read(body)?;
        let name = queue_of(queue_url)?;
        let change = Change::Untag(required("TagKeys", tag_keys)?);
        self.ask(|engine, reply| engine.change(&name, change, reply)).await.map_err(refusal)?;
        Ok(json!({}))
    }

    pub(super) async fn list_tags(&self, body: Value) -> Answer {
        let OfQueue { queue_url } = read(body)?;
        let name = queue_of(queue_url)?;
        let standing = self.ask(|engine, reply| engine.standing(&name, reply)).await;
        let tags = standing.map_err(refusal)?.record.tags;
        if tags.is_empty() {
            return Ok(json!({}));
        }
        Ok(json!({ "Tags": tags }))
    }
}

/// A name says whether its queue is first in, first out, and so does an attribute: they must agree.
fn check_name(name: &str, fifo: bool) -> Result<(), Error> {
    let message = match (is_name(name), is_fifo(name), fifo) {
        (true, false, false) | (true, true, true) => return Ok(()),
        (_, _, true) => {
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with \
             .fifo suffix and be 1 to 80 in length"
        }
        (true, true, false) => {
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length. For a FIFO queue, set \
             the attribute FifoQueue to true"
        }
        _ => "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
    };
    Err(Error::new(Name::InvalidParameterValue, message))
}

fn page_size(max_results: Option<i64>) -> Result<usize, Error> {
    let max_results = within("MaxResults", max_results, (1, 1000))?;
    Ok(max_results.map_or(PAGE, |max| usize::try_from(max).unwrap_or(PAGE)))
}

/// A token is the last name of the page before.
fn read_token(token: &str) -> Result<String, Error> {
    let name = URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let name = name.filter(|name| is_name(name));
    name.ok_or_else(|| Error::new(Name::InvalidParameterValue, "Invalid or expired next token."))
}
