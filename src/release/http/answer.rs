//! A successful answer, and its body read under limits.

use std::io::Read;
use std::time::Instant;

use reqwest::Url;
use reqwest::blocking::Response;
use reqwest::header::{self, HeaderName};

use super::diagnosis::loss;
use super::error::{HttpError, Wait};
use super::shown;
use super::timeouts::Timeouts;

/// Bytes taken from the connection at a time.
const CHUNK: usize = 64 << 10;

/// A 2xx answer whose body is not read yet.
#[derive(Debug)]
pub struct Answer {
    url: Url,
    response: Response,
    timeouts: Timeouts,
    since: Instant,
}

/// Where the bytes of a partial answer belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// First byte.
    pub from: u64,
    /// Size of the whole file, where the server tells it.
    pub total: Option<u64>,
}

impl Answer {
    pub(super) fn new(url: Url, response: Response, timeouts: Timeouts) -> Self {
        Self {
            url,
            response,
            timeouts,
            since: Instant::now(),
        }
    }

    /// Who gave it, after redirects.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Size of the body in bytes, as announced.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.header(header::CONTENT_LENGTH)?.trim().parse().ok()
    }

    /// The server calls it a web page.
    #[must_use]
    pub fn is_html(&self) -> bool {
        let kind = self.header(header::CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml")
    }

    /// What identifies these very contents: a strong `ETag`, else `Last-Modified`. A weak tag
    /// says "equivalent", which is not enough to put two halves together.
    #[must_use]
    pub fn validator(&self) -> Option<String> {
        self.header(header::ETAG)
            .filter(|tag| !tag.starts_with("W/"))
            .or_else(|| self.header(header::LAST_MODIFIED))
            .map(str::to_owned)
    }

    /// Where the body belongs, if it is a part (HTTP 206); `None` for a whole file.
    ///
    /// # Errors
    /// [`HttpError::Protocol`]: a part without a readable `Content-Range`.
    pub fn part(&self) -> Result<Option<Part>, HttpError> {
        if self.response.status() != reqwest::StatusCode::PARTIAL_CONTENT {
            return Ok(None);
        }
        let written = self.header(header::CONTENT_RANGE).unwrap_or_default();
        let part = content_range(written).ok_or_else(|| HttpError::Protocol {
            url: shown(&self.url),
            reason: format!(
                "a part of a file with the range `{}`",
                super::printable(written)
            ),
        })?;
        Ok(Some(part))
    }

    /// Hands the body to `take` piece by piece. `before` bytes of the file came earlier; with
    /// them it may have `limit` bytes.
    ///
    /// # Errors
    /// [`HttpError::TooLarge`], [`HttpError::TimedOut`], [`HttpError::Lost`] (also when fewer
    /// bytes come than were announced), and what `take` says.
    pub fn read<E: From<HttpError>>(
        mut self,
        before: u64,
        limit: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        if let Some(length) = self.length() {
            self.check_size(before.saturating_add(length), limit)?;
        }
        let mut buffer = vec![0; CHUNK];
        let mut received = 0_u64;
        loop {
            let count = match self.response.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(before + received, &error).into()),
            };
            let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else {
                break;
            };
            received += piece.len() as u64;
            self.check_size(before.saturating_add(received), limit)?;
            self.check_time(received)?;
            take(piece)?;
        }
        self.check_end(before, received)?;
        Ok(received)
    }

    /// The whole body, of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Answer::read`].
    pub fn read_whole(self, limit: u64) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        self.read(0, limit, |piece| {
            body.extend_from_slice(piece);
            Ok::<_, HttpError>(())
        })?;
        Ok(body)
    }

    fn check_size(&self, size: u64, limit: u64) -> Result<(), HttpError> {
        if size <= limit {
            return Ok(());
        }
        Err(HttpError::TooLarge {
            url: shown(&self.url),
            size,
            limit,
        })
    }

    fn check_time(&self, received: u64) -> Result<(), HttpError> {
        let elapsed = self.since.elapsed();
        if elapsed <= self.timeouts.allowed(received) {
            return Ok(());
        }
        Err(HttpError::TimedOut {
            url: shown(&self.url),
            wait: Wait::Total,
            after: elapsed,
        })
    }

    /// A body that ended early without an error of the connection.
    fn check_end(&self, before: u64, received: u64) -> Result<(), HttpError> {
        match self.length() {
            Some(length) if received < length => Err(HttpError::Lost {
                url: shown(&self.url),
                received: before + received,
                reason: format!("{length} bytes were announced"),
            }),
            _ => Ok(()),
        }
    }

    fn broken(&self, received: u64, error: &std::io::Error) -> HttpError {
        let inner = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<reqwest::Error>());
        if inner.is_some_and(reqwest::Error::is_timeout) {
            return HttpError::TimedOut {
                url: shown(&self.url),
                wait: Wait::Stall,
                after: self.timeouts.stall,
            };
        }
        HttpError::Lost {
            url: shown(&self.url),
            received,
            reason: loss(error),
        }
    }
}

/// `bytes 100-199/200`, `bytes 100-199/*`.
fn content_range(text: &str) -> Option<Part> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (from, to) = range.trim().split_once('-')?;
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    let fits = from <= to && total.is_none_or(|total| to < total);
    fits.then_some(Part { from, total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_or_refused() {
        let part = |from, total| Some(Part { from, total });
        assert_eq!(content_range("bytes 100-199/200"), part(100, Some(200)));
        assert_eq!(content_range("bytes 100-199/*"), part(100, None));
        for broken in [
            "",
            "bytes */200",
            "bytes 5-4/9",
            "bytes 0-9/9",
            "items 0-1/2",
            "bytes 0-1",
        ] {
            assert_eq!(content_range(broken), None, "{broken}");
        }
    }
}
