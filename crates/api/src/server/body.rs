//! The body of a request, to its very end: of what is too long nothing is kept, but it is taken in, for
//! whoever is still sending does not hear an answer.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    TooLong,
    /// The caller went away, or does not speak HTTP.
    CutOff,
}

pub(super) async fn gather(mut body: Body, bytes_max: usize) -> Result<Vec<u8>, Broken> {
    let (mut kept, mut too_long) = (Vec::new(), false);
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(|_| Broken::CutOff)?.into_data() else { continue };
        too_long |= kept.len() + data.len() > bytes_max;
        if too_long {
            kept = Vec::new();
        } else {
            kept.extend_from_slice(&data);
        }
    }
    if too_long { Err(Broken::TooLong) } else { Ok(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(bytes: usize, expected: Result<usize, Broken>) {
        let found = gather(Body::from(vec![b'x'; bytes]), 1000).await;
        assert_eq!(found.map(|kept| kept.len()), expected, "{bytes} bytes");
    }

    #[tokio::test]
    async fn a_body_is_bounded() {
        check(0, Ok(0)).await;
        check(1000, Ok(1000)).await;
        check(1001, Err(Broken::TooLong)).await;
    }
}
