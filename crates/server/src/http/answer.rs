//! Bodies of answers. The memory of all answers that are being written is limited; small ones are exempt.
//!
//! An answer holds its room until the peer has taken it or the connection is closed. It is given to the connection
//! in chunks, so that the connection has no second copy of it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers of this size are exempt from the limit.
const FREE_BYTES: usize = 16 * 1024;
/// Bytes of a permit.
const PERMIT_BYTES: usize = 1024;
/// What a connection is given at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Answers that wait for room; they are in memory already.
const WAITING_MAX: usize = 32;
/// How long they wait.
const WAIT: Duration = Duration::from_secs(5);

/// Too much is being written already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

/// The memory for answers that are being written.
pub(super) struct Room {
    free: Arc<Semaphore>,
    permits: usize,
    waiting: Semaphore,
}

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        let permits = bytes / PERMIT_BYTES;
        let (free, waiting) = (Arc::new(Semaphore::new(permits)), Semaphore::new(WAITING_MAX));
        Self { free, permits, waiting }
    }

    /// The response with room for its body. Without room it waits, unless too many are waiting already.
    pub(super) async fn hold(&self, response: Response) -> Result<Response, NoRoom> {
        let (head, body) = response.into_parts();
        let Some(bytes) = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok())
        else {
            return Ok(Response::from_parts(head, body));
        };
        if bytes <= FREE_BYTES {
            return Ok(Response::from_parts(head, body));
        }
        // One that is larger than all room is written alone.
        let permits = bytes.div_ceil(PERMIT_BYTES).min(self.permits);
        let permit = self.acquire(u32::try_from(permits).map_err(|_| NoRoom)?).await?;
        // It is complete, so there is nothing to wait for.
        let bytes = axum::body::to_bytes(body, usize::MAX).await.map_err(|_| NoRoom)?;
        let rest = Bytes::from_owner(Held { bytes, _permit: permit });
        Ok(Response::from_parts(head, Body::new(Chunks { rest })))
    }

    async fn acquire(&self, permits: u32) -> Result<OwnedSemaphorePermit, NoRoom> {
        if let Ok(permit) = self.free.clone().try_acquire_many_owned(permits) {
            return Ok(permit);
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| NoRoom)?;
        let free = self.free.clone().acquire_many_owned(permits);
        tokio::time::timeout(WAIT, free).await.map_err(|_| NoRoom)?.map_err(|_| NoRoom)
    }
}

/// Bytes that hold their room until the last slice of them is dropped.
struct Held {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body in chunks that share its memory.
struct Chunks {
    rest: Bytes,
}

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = self.rest.len().min(CHUNK_BYTES);
        let chunk = self.rest.split_to(bytes);
        Poll::Ready((!chunk.is_empty()).then(|| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn held(room: &Room, bytes: usize) -> Result<Response, NoRoom> {
        room.hold(Response::new(Body::from(vec![b'x'; bytes]))).await
    }

    async fn check(room: &Room, bytes: usize, expected: Result<usize, NoRoom>) {
        let found = held(room, bytes).await.map(Response::into_body);
        let found = match found {
            Ok(body) => {
                assert_eq!(body.size_hint().exact(), Some(bytes as u64));
                Ok(axum::body::to_bytes(body, usize::MAX).await.expect("a body").len())
            }
            Err(no_room) => Err(no_room),
        };
        assert_eq!(found, expected, "{bytes} bytes");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_share_the_room_and_give_it_back() {
        let room = Room::new(256 * 1024);
        check(&room, 0, Ok(0)).await;
        check(&room, 200 * 1024, Ok(200 * 1024)).await;
        let first = held(&room, 200 * 1024).await;
        check(&room, 100 * 1024, Err(NoRoom)).await;
        check(&room, FREE_BYTES, Ok(FREE_BYTES)).await;
        drop(first);
        check(&room, 100 * 1024, Ok(100 * 1024)).await;
        check(&room, 900 * 1024, Ok(900 * 1024)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_waits_for_room() {
        let room = Room::new(256 * 1024);
        let first = held(&room, 200 * 1024).await;
        let give_back = async move {
            tokio::time::sleep(WAIT / 2).await;
            drop(first);
        };
        tokio::join!(check(&room, 200 * 1024, Ok(200 * 1024)), give_back);
    }

    /// What the connection has taken and not yet written still counts.
    #[tokio::test(start_paused = true)]
    async fn a_chunk_on_its_way_holds_the_room() {
        let room = Room::new(256 * 1024);
        let mut body = held(&room, 200 * 1024).await.expect("room").into_body();
        let mut chunks = Vec::new();
        while let Some(Ok(frame)) =
            std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            chunks.push(frame.into_data().expect("data"));
        }
        drop(body);
        assert_eq!(chunks.len(), 4);
        chunks.truncate(1);
        check(&room, 100 * 1024, Err(NoRoom)).await;
        drop(chunks);
        check(&room, 100 * 1024, Ok(100 * 1024)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn few_answers_wait() {
        let room = Room::new(256 * 1024);
        let _first = held(&room, 256 * 1024).await;
        let _waiting = room.waiting.acquire_many(WAITING_MAX as u32).await;
        let before = tokio::time::Instant::now();
        check(&room, 100 * 1024, Err(NoRoom)).await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
