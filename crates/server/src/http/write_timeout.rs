//! A connection whose peer does not take what is written to it is closed.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A peer that takes this much within the time limit is given that time again. One that takes less is as harmful as
/// one that takes nothing.
const PROGRESS_BYTES: usize = 256 * 1024;

/// A stream that fails when its peer is too slow to take what is written.
pub(super) struct WriteTimeout<S> {
    stream: S,
    limit: Duration,
    /// Since the peer first made a write wait, and what it has taken since then.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, waiting: None }
    }

    /// Counts what was written.
    fn taken(&mut self, bytes: usize) {
        if let Some((_, taken)) = &mut self.waiting {
            *taken += bytes;
            if *taken >= PROGRESS_BYTES {
                self.waiting = None;
            }
        }
    }

    /// The outcome of a write, which fails if it has waited too long.
    fn observed(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => self.taken(bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => ready!(self.expired(context))?,
        }
        written
    }

    fn expired(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (sleep, _) = self.waiting.get_or_insert_with(|| (Box::pin(sleep(self.limit)), 0));
        ready!(sleep.as_mut().poll(context));
        let why = "the peer does not take what is written";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }

    /// The same for all that was written before.
    fn finished(
        &mut self,
        flushed: Poll<io::Result<()>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        match flushed {
            Poll::Pending => self.expired(context),
            Poll::Ready(outcome) => {
                self.waiting = None;
                Poll::Ready(outcome)
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.observed(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.observed(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.finished(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.finished(closed, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);
    const ANSWER: usize = 4 * PROGRESS_BYTES;

    /// Writes an answer to a peer that takes so many bytes every so often.
    async fn check(bytes: usize, every: Duration, expected: Result<(), io::ErrorKind>) {
        let (near, mut far) = duplex(1024);
        let mut near = WriteTimeout::new(near, LIMIT);
        let writing = async {
            near.write_all(&vec![b'x'; ANSWER]).await?;
            near.flush().await
        };
        let reading = async {
            let mut taken = vec![0; bytes];
            loop {
                sleep(every).await;
                if far.read_exact(&mut taken).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let found = tokio::select! {
            written = writing => written.map_err(|error| error.kind()),
            () = reading => unreachable!("it reads for ever"),
        };
        assert_eq!(found, expected, "{bytes} bytes every {every:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_peers_are_disconnected() {
        let seconds = Duration::from_secs;
        check(PROGRESS_BYTES, seconds(15), Ok(())).await;
        check(PROGRESS_BYTES / 8, seconds(2), Ok(())).await;
        check(1024, seconds(1), Err(io::ErrorKind::TimedOut)).await;
        check(PROGRESS_BYTES, seconds(21), Err(io::ErrorKind::TimedOut)).await;
    }

    /// The time between answers does not count.
    #[tokio::test(start_paused = true)]
    async fn a_peer_may_be_idle() {
        let (near, mut far) = duplex(1024);
        let mut near = WriteTimeout::new(near, LIMIT);
        for _ in 0..3 {
            let mut taken = vec![0; 4096];
            let written = async {
                near.write_all(&[b'x'; 4096]).await?;
                near.flush().await
            };
            let (written, read) = tokio::join!(written, far.read_exact(&mut taken));
            written.expect("it was taken");
            read.expect("it was written");
            sleep(LIMIT * 2).await;
        }
    }
}
