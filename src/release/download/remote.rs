//! A file from a server, in as many requests as it takes.
//!
//! After a cut the next request asks for the rest. A part is completed only with bytes of the very
//! same file: the server says which file it is by its validator, and where the bytes belong by
//! their range; when either does not fit, everything is fetched anew.

use std::thread;

use reqwest::{StatusCode, Url};

use super::error::DownloadError;
use super::{Freshness, Limits, Order, io_error};
use crate::progress::{Transfer, TransferSink};
use crate::release::content::{self, ContentFault};
use crate::release::http::{Answer, Client, HttpError, Rest, shown};
use crate::release::partial::{Origin, Part};

/// A download under way.
pub struct Remote<'a> {
    client: &'a Client,
    url: &'a Url,
    order: &'a Order,
    limits: &'a Limits,
    /// Which contents the part is from.
    origin: Option<Origin>,
    /// The last answer continued what was there.
    resumed: bool,
}

impl<'a> Remote<'a> {
    pub const fn new(
        client: &'a Client,
        url: &'a Url,
        order: &'a Order,
        limits: &'a Limits,
    ) -> Self {
        Self {
            client,
            url,
            order,
            limits,
            origin: None,
            resumed: false,
        }
    }

    /// Completes the part, in as many attempts as make sense; returns whether bytes of several
    /// answers are in it.
    pub fn transfer(
        mut self,
        part: &mut Part,
        sink: &mut TransferSink<'_>,
    ) -> Result<bool, DownloadError> {
        let retries = *self.client.retries();
        self.resume(part)?;
        let (mut fruitless, mut all) = (0, 0);
        loop {
            let before = part.len();
            let error = match self.attempt(part, sink) {
                Err(DownloadError::Http(error)) if error.is_passing() => error,
                done => return done.map(|()| self.resumed),
            };
            all += 1;
            let advanced = part.len() > before;
            fruitless = if advanced { 1 } else { fruitless + 1 };
            if fruitless >= retries.attempts || all >= retries.attempts_in_all {
                return Err(error.into());
            }
            let pause = retries.pause_after(fruitless);
            let text = format!("{error}; going on in {:.1} s", pause.as_secs_f64());
            sink(Transfer::Note { text });
            thread::sleep(pause);
        }
    }

    /// Goes on with an earlier run's part, or empties it. Without a validator nobody can say that
    /// the file on the server is still the same.
    fn resume(&mut self, part: &mut Part) -> Result<(), DownloadError> {
        self.origin = part
            .origin()
            .filter(|origin| origin.url == self.url.as_str() && origin.validator.is_some())
            .filter(|_| self.order.freshness == Freshness::Keep);
        if self.origin.is_none() {
            part.restart().map_err(io_error("empty", part.path()))?;
        }
        Ok(())
    }

    /// One request, and all of its body that comes.
    fn attempt(
        &mut self,
        part: &mut Part,
        sink: &mut TransferSink<'_>,
    ) -> Result<(), DownloadError> {
        let answer = self.ask(part, sink)?;
        let (before, from) = (part.len(), shown(answer.url()));
        self.resumed = before > 0;
        let total = match answer.part()? {
            Some(partial) => partial.total,
            None => answer.length(),
        };
        if answer.is_html() {
            return Err(web_page(answer));
        }
        if let Some(total) = total {
            self.check_total(total, before, &from)?;
        }
        self.note_origin(part, &answer, total)?;
        sink(Transfer::Started {
            name: self.order.name(),
            done: before,
            total,
        });
        answer.read(before, self.limits.file, |piece| {
            part.append(piece).map_err(io_error("write", part.path()))?;
            sink(Transfer::Advanced { done: part.len() });
            Ok::<_, DownloadError>(())
        })?;
        self.order.expected.check_size(part.len(), &from)
    }

    /// The answer whose body continues the part; the part is emptied when there is only a whole
    /// file to have.
    fn ask(&self, part: &mut Part, sink: &mut TransferSink<'_>) -> Result<Answer, DownloadError> {
        if !part.is_empty() {
            let origin = self.origin.as_ref();
            let rest = Rest {
                from: part.len(),
                validator: origin.and_then(|origin| origin.validator.clone()),
            };
            match self.client.get(self.url, Some(&rest)) {
                Ok(answer) if self.continues(&answer, part)? => return Ok(answer),
                // The server sends the whole file in any case.
                Ok(answer) if answer.part()?.is_none() => {
                    restart(part, sink)?;
                    return Ok(answer);
                }
                Ok(_) => {}
                Err(HttpError::Status { status, .. })
                    if status == StatusCode::RANGE_NOT_SATISFIABLE => {}
                Err(error) => return Err(error.into()),
            }
            restart(part, sink)?;
        }
        let answer = self.client.get(self.url, None)?;
        if answer.part()?.is_some() {
            return Err(DownloadError::Http(HttpError::Protocol {
                url: shown(answer.url()),
                reason: "a part of the file, though all of it was asked for".to_owned(),
            }));
        }
        Ok(answer)
    }

    /// Whether the answer's body belongs right behind the part, and to the same contents.
    fn continues(&self, answer: &Answer, part: &Part) -> Result<bool, HttpError> {
        let Some(rest) = answer.part()? else {
            return Ok(false);
        };
        let same = self.origin.as_ref().is_none_or(|origin| {
            let same_total = origin.total.is_none() || origin.total == rest.total;
            let same_tag = match (&origin.validator, answer.validator()) {
                (Some(before), Some(now)) => *before == now,
                _ => true,
            };
            same_total && same_tag
        });
        Ok(rest.from == part.len() && same)
    }

    fn check_total(&self, total: u64, before: u64, from: &str) -> Result<(), DownloadError> {
        if total > self.limits.file {
            return Err(DownloadError::Http(HttpError::TooLarge {
                url: from.to_owned(),
                size: total,
                limit: self.limits.file,
            }));
        }
        self.order.expected.check_size(total, from)?;
        let missing = total.saturating_sub(before);
        self.limits.check_space(self.order.folder(), missing)
    }

    fn note_origin(
        &mut self,
        part: &Part,
        answer: &Answer,
        total: Option<u64>,
    ) -> Result<(), DownloadError> {
        let origin = Origin {
            url: self.url.to_string(),
            validator: answer.validator(),
            total,
        };
        part.set_origin(&origin)
            .map_err(io_error("write", part.path()))?;
        self.origin = Some(origin);
        Ok(())
    }
}

fn restart(part: &mut Part, sink: &mut TransferSink<'_>) -> Result<(), DownloadError> {
    let text = "the server cannot continue where it ended; starting over".to_owned();
    sink(Transfer::Note { text });
    part.restart().map_err(io_error("empty", part.path()))
}

/// The error for a page; its title is worth the few bytes it takes to read it.
fn web_page(answer: Answer) -> DownloadError {
    let place = shown(answer.url());
    let body = answer.read_whole(content::WebPage::LOOKED_AT * 16);
    let page = body.ok().and_then(|body| content::web_page(&body));
    DownloadError::Content {
        place,
        fault: ContentFault::WebPage {
            page: page.and_then(|page| page.title),
        },
    }
}
