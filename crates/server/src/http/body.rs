//! Reads the body of a request to its end. A body that is too long is read and dropped, because a client that is
//! still sending does not read an answer.
//!
//! The memory of all bodies that are being received is limited; small bodies are exempt.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody};
use everstep_api::protocol::{Common, Error};
use tokio::sync::{Semaphore, SemaphorePermit};

/// This much of every body is exempt from the limit.
const FREE_BYTES: usize = 16 * 1024;
/// Bytes of a permit.
const PERMIT_BYTES: usize = 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    TooLong,
    /// Too much is being received already.
    NoRoom,
    /// The caller went away, or does not speak HTTP.
    CutOff,
    TooSlow,
}

impl Broken {
    /// The error for a client that may send this many bytes.
    pub(super) fn error(&self, bytes_max: usize) -> Error {
        let wrong = |message: &str| Error::common(Common::Serialization, message);
        match self {
            Self::TooLong => {
                wrong(&format!("the body of the request is longer than {bytes_max} bytes"))
            }
            Self::NoRoom => Error::common(Common::Throttling, "Rate exceeded"),
            Self::CutOff => wrong("the body of the request ends too early"),
            Self::TooSlow => wrong("the body of the request came too slowly"),
        }
    }
}

/// The memory for bodies that are being received.
pub(super) struct Room(Semaphore);

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Semaphore::new(bytes / PERMIT_BYTES))
    }
}

/// A body, and the memory that it reserves until it is dropped.
#[derive(Default)]
pub(super) struct Received<'r> {
    bytes: Vec<u8>,
    held: Option<SemaphorePermit<'r>>,
}

impl<'r> Received<'r> {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn keep(&mut self, data: &[u8], bytes_max: usize, room: &'r Room) -> Result<(), Broken> {
        let bytes = self.bytes.len() + data.len();
        if bytes > bytes_max {
            return Err(Broken::TooLong);
        }
        self.hold(bytes.saturating_sub(FREE_BYTES).div_ceil(PERMIT_BYTES), room)?;
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    fn hold(&mut self, permits: usize, room: &'r Room) -> Result<(), Broken> {
        let held = self.held.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = u32::try_from(permits.saturating_sub(held)).map_err(|_| Broken::TooLong)?;
        if more > 0 {
            let permit = room.0.try_acquire_many(more).map_err(|_| Broken::NoRoom)?;
            match &mut self.held {
                Some(held) => held.merge(permit),
                None => self.held = Some(permit),
            }
        }
        Ok(())
    }
}

pub(super) async fn receive(
    mut body: Body,
    bytes_max: usize,
    room: &Room,
) -> Result<Received<'_>, Broken> {
    let mut received = Ok(Received::default());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(|_| Broken::CutOff)?.into_data() else { continue };
        received = received.and_then(|mut received| {
            received.keep(&data, bytes_max, room)?;
            Ok(received)
        });
    }
    received
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(room: &Room, bytes: usize, expected: Result<usize, Broken>) {
        let found = receive(Body::from(vec![b'x'; bytes]), 100_000, room).await;
        assert_eq!(found.map(|received| received.bytes.len()), expected, "{bytes} bytes");
    }

    #[tokio::test]
    async fn bodies_are_bounded() {
        let room = Room::new(64 * 1024);
        check(&room, 0, Ok(0)).await;
        check(&room, 80 * 1024, Ok(80 * 1024)).await;
        check(&room, 80 * 1024 + 1, Err(Broken::NoRoom)).await;
        check(&room, 100_001, Err(Broken::TooLong)).await;
    }

    #[tokio::test]
    async fn room_is_shared_and_given_back() {
        let room = Room::new(64 * 1024);
        let held = receive(Body::from(vec![b'x'; 60 * 1024]), 100_000, &room).await;
        check(&room, 40 * 1024, Err(Broken::NoRoom)).await;
        check(&room, FREE_BYTES, Ok(FREE_BYTES)).await;
        drop(held);
        check(&room, 40 * 1024, Ok(40 * 1024)).await;
    }
}
