//! XZ streams inside containers (bundles 0.5): inflated forwards, a piece at a time, with bounded
//! memory, and checked to the end.

mod check;
pub mod index;

use liblzma::stream::{Action, Error, IGNORE_CHECK, Status, Stream, TELL_UNSUPPORTED_CHECK};

use super::error::Fault;
use super::limits;
use super::meter::Meter;
use check::BlockChecks;
use index::Block;

/// What the decoder needs beside its dictionary, generously: tables and block headers.
const DECODER_OVERHEAD: u64 = 8 << 20;
/// Bytes inflated at once when more of the output would not be kept.
pub const PIECE: usize = 64 << 10;
/// How much an output buffer grows at once.
const GROWTH: usize = 4 << 20;

/// One XZ stream, read forwards.
///
/// Accepted are a single stream with any integrity check, and after it zero bytes in a multiple
/// of four.
pub struct Inflater<'a> {
    section: &'static str,
    decoder: Stream,
    /// What the decoder gets, one slice after the other: the whole stream in the second, or the
    /// stream header and some of the blocks.
    input: [&'a [u8]; 2],
    ended: bool,
    /// The checks that the decoder leaves out.
    checks: Option<BlockChecks>,
    meter: Meter,
}

impl std::fmt::Debug for Inflater<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater")
            .field("section", &self.section)
            .field("consumed", &self.decoder.total_in())
            .field("produced", &self.decoder.total_out())
            .finish_non_exhaustive()
    }
}

impl<'a> Inflater<'a> {
    /// Starts at the stream header in `input`; `section` is what errors call it.
    ///
    /// # Errors
    /// [`Fault::Decompression`] when the decoder cannot be made.
    pub fn new(section: &'static str, input: &'a [u8]) -> Result<Self, Fault> {
        let blocks = index::blocks(section, input).ok();
        let checks = blocks.and_then(|blocks| BlockChecks::new(input, &blocks));
        Self::over(section, [&[], input], checks)
    }

    /// Starts in the middle: reads `blocks` of the stream in `stream`, which follow each other.
    /// The end is reached with [`Inflater::expect_end_of_blocks`] only.
    ///
    /// # Errors
    /// As [`Inflater::new`].
    pub fn of_blocks(
        section: &'static str,
        stream: &'a [u8],
        blocks: &[Block],
    ) -> Result<Self, Fault> {
        let start = blocks.first().map_or(0, |block| block.stored.start);
        let end = blocks.last().map_or(0, |block| block.stored.end);
        let header = stream.get(..index::STREAM_HEADER).unwrap_or_default();
        let body = stream.get(start..end).unwrap_or_default();
        Self::over(section, [header, body], BlockChecks::new(stream, blocks))
    }

    fn over(
        section: &'static str,
        input: [&'a [u8]; 2],
        checks: Option<BlockChecks>,
    ) -> Result<Self, Fault> {
        let memory = limits::DICTIONARY.allowed + DECODER_OVERHEAD;
        let flags = if checks.is_some() {
            IGNORE_CHECK
        } else {
            TELL_UNSUPPORTED_CHECK
        };
        let decoder = Stream::new_stream_decoder(memory, flags)
            .map_err(|error| failed(section, reason(error)))?;
        Ok(Self {
            section,
            decoder,
            input,
            ended: false,
            checks,
            meter: Meter::default(),
        })
    }

    /// Counts what is produced with `meter`.
    #[must_use]
    pub fn metered(self, meter: &Meter) -> Self {
        Self {
            meter: meter.clone(),
            ..self
        }
    }

    /// Plain bytes produced so far.
    #[must_use]
    pub fn produced(&self) -> u64 {
        self.decoder.total_out()
    }

    /// Fills some of `out`; 0 only at the end of the stream or for an empty `out`.
    ///
    /// # Errors
    /// [`Fault::Decompression`] for damaged or cut streams, [`Fault::LimitExceeded`] for a
    /// dictionary above [`limits::DICTIONARY`].
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        while !self.ended && !out.is_empty() {
            let before = (self.decoder.total_in(), self.decoder.total_out());
            match self.decoder.process(self.rest(), out, Action::Run) {
                Ok(Status::StreamEnd) => self.ended = true,
                Ok(Status::MemNeeded) => return Err(self.failed("the stream ends early")),
                Ok(Status::Ok | Status::GetCheck) => {}
                Err(Error::MemLimit) => return Err(self.dictionary_too_large()),
                Err(error) => return Err(self.failed(reason(error))),
            }
            let got = self.decoder.total_out() - before.1;
            if got > 0 {
                self.meter.advance(got);
                let got = usize::try_from(got).unwrap_or(usize::MAX);
                self.check(out.get(..got).unwrap_or_default())?;
                return Ok(got);
            }
        }
        Ok(0)
    }

    fn check(&mut self, plain: &[u8]) -> Result<(), Fault> {
        match self.checks.as_mut().map(|checks| checks.update(plain)) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(check::WrongCrc)) => Err(self.failed(reason(Error::Data))),
        }
    }

    /// Fills all of `out`.
    ///
    /// # Errors
    /// As [`Inflater::read`], and when the stream ends before `out` is full.
    pub fn read_exact(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(rest)? {
                0 => return Err(self.too_short()),
                got => filled += got,
            }
        }
        Ok(())
    }

    /// The next `count` bytes. Memory grows with what the stream really holds, so that a size a
    /// file only claims is never allocated.
    ///
    /// # Errors
    /// As [`Inflater::read_exact`].
    pub fn read_vec(&mut self, count: u64) -> Result<Vec<u8>, Fault> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let start = bytes.len();
            bytes.resize(count.min(start + GROWTH), 0);
            self.read_exact(bytes.get_mut(start..).unwrap_or_default())?;
        }
        Ok(bytes)
    }

    /// Inflates `count` bytes and throws them away.
    ///
    /// # Errors
    /// As [`Inflater::read_exact`].
    pub fn skip(&mut self, count: u64) -> Result<(), Fault> {
        let mut piece = vec![0; PIECE];
        let mut left = count;
        while left > 0 {
            let want = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
            match self.read(piece.get_mut(..want).unwrap_or_default())? {
                0 => return Err(self.too_short()),
                got => left = left.saturating_sub(got as u64),
            }
        }
        Ok(())
    }

    /// Inflates to the end of the stream, throwing the output away, so that every integrity check
    /// is made, and looks at what follows. `plain_size` is what the whole stream inflates to by its
    /// index.
    ///
    /// # Errors
    /// As [`Inflater::read`]; [`Fault::LimitExceeded`] above [`limits::PLAIN`];
    /// [`Fault::Decompression`] when there is more than that, or anything but zero padding follows.
    pub fn finish(mut self, plain_size: u64) -> Result<(), Fault> {
        let left = plain_size.saturating_sub(self.produced());
        limits::PLAIN.check(plain_size)?;
        self.skip(left)?;
        self.expect_end()
    }

    /// The stream must end here: no plain byte more, then zero padding.
    ///
    /// # Errors
    /// [`Fault::Decompression`].
    pub fn expect_end(mut self) -> Result<(), Fault> {
        if self.read(&mut [0])? > 0 {
            return Err(self.failed("the stream is longer than announced"));
        }
        self.check_padding()
    }

    /// The plain bytes of the blocks given to [`Inflater::of_blocks`] are all read; makes the
    /// integrity check of the last one.
    ///
    /// # Errors
    /// [`Fault::Decompression`].
    pub fn expect_end_of_blocks(mut self) -> Result<(), Fault> {
        // Without room for output the decoder only takes in the check value behind the data.
        while !self.rest().is_empty() {
            match self.decoder.process(self.rest(), &mut [], Action::Run) {
                Ok(Status::Ok) => {}
                Ok(_) => return Err(self.failed("a block is longer than its index says")),
                Err(error) => return Err(self.failed(reason(error))),
            }
        }
        Ok(())
    }

    /// What the decoder has not taken in yet, as far as it lies in one piece.
    fn rest(&self) -> &'a [u8] {
        let [head, body] = self.input;
        let consumed = usize::try_from(self.decoder.total_in()).unwrap_or(usize::MAX);
        match head.get(consumed..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => body.get(consumed - head.len()..).unwrap_or_default(),
        }
    }

    fn check_padding(&self) -> Result<(), Fault> {
        let padding = self.rest();
        if !padding.len().is_multiple_of(4) || padding.iter().any(|&b| b != 0) {
            return Err(self.failed("something other than zero padding follows the stream"));
        }
        Ok(())
    }

    fn too_short(&self) -> Fault {
        self.failed("the stream is shorter than announced")
    }

    fn failed(&self, reason: impl Into<String>) -> Fault {
        failed(self.section, reason)
    }

    /// The dictionary asked for: the smallest the decoder would take instead of its limit.
    /// XZ knows the sizes 2^n and 2^n + 2^(n-1), and 4 GiB - 1 as the largest.
    fn dictionary_too_large(&mut self) -> Fault {
        let sizes = (27..32).flat_map(|n| [1u64 << n, (1 << n) + (1 << (n - 1))]);
        let found = sizes
            .filter(|&size| size > limits::DICTIONARY.allowed)
            .find(|size| self.decoder.set_memlimit(size + DECODER_OVERHEAD).is_ok());
        Fault::LimitExceeded {
            limit: limits::DICTIONARY,
            found: found.unwrap_or(u64::from(u32::MAX)),
        }
    }
}

/// Inflates a whole section of at most `limit` bytes.
///
/// # Errors
/// [`Fault::Decompression`], [`Fault::LimitExceeded`].
pub fn inflate_all(
    section: &'static str,
    input: &[u8],
    limit: limits::Limit,
) -> Result<Vec<u8>, Fault> {
    let mut inflater = Inflater::new(section, input)?;
    let mut plain = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let got = inflater.read(&mut piece)?;
        if got == 0 {
            break;
        }
        limit.check(inflater.produced())?;
        plain.extend_from_slice(piece.get(..got).unwrap_or_default());
    }
    inflater.check_padding()?;
    Ok(plain)
}

fn failed(section: &'static str, reason: impl Into<String>) -> Fault {
    Fault::Decompression {
        section,
        reason: reason.into(),
    }
}

const fn reason_text(error: Error) -> &'static str {
    match error {
        Error::Data => "the compressed data is damaged",
        Error::Options => "the stream uses options the decoder does not have",
        Error::Format => "there is no XZ stream",
        Error::Mem | Error::MemLimit => "not enough memory",
        Error::Program => "the decoder was misused",
        Error::NoCheck => "the stream has no integrity check",
        Error::UnsupportedCheck => "the stream uses an unknown integrity check",
    }
}

fn reason(error: Error) -> String {
    reason_text(error).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use liblzma::stream::{Check, Filters, LzmaOptions};

    fn compress(plain: &[u8], dictionary: u32) -> Vec<u8> {
        let mut options = LzmaOptions::new_preset(0).unwrap();
        options.dict_size(dictionary);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        let mut encoder = Stream::new_stream_encoder(&filters, Check::Crc32).unwrap();
        let mut packed = Vec::with_capacity(plain.len() + 4096);
        encoder
            .process_vec(plain, &mut packed, Action::Finish)
            .unwrap();
        packed
    }

    #[test]
    fn a_stream_is_read_in_pieces_and_checked_to_its_end() {
        let plain: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let mut packed = compress(&plain, 1 << 16);
        packed.extend([0; 8]);
        let mut inflater = Inflater::new("DATA", &packed).unwrap();
        inflater.skip(100_000).unwrap();
        let mut piece = [0; 40];
        inflater.read_exact(&mut piece).unwrap();
        assert_eq!(piece, plain[100_000..100_040]);
        inflater.finish(plain.len() as u64).unwrap();
    }

    #[test]
    fn what_follows_a_stream_must_be_zero_padding_of_whole_words() {
        for tail in [&[0u8; 3][..], &[0, 0, 0, 1]] {
            let mut packed = compress(b"plain", 1 << 16);
            packed.extend(tail);
            let fault = Inflater::new("DATA", &packed)
                .unwrap()
                .finish(5)
                .unwrap_err();
            assert_eq!(fault.class(), "decompression", "{tail:?}");
        }
    }

    #[test]
    fn a_wrong_check_of_any_block_is_found_by_who_reads_to_its_end() {
        let packed = index::tests::stream_of_blocks(&[&[1; 1000], &[2; 500]]);
        let blocks = index::blocks("DATA", &packed).unwrap();
        let read = |packed: &[u8], count| {
            let mut inflater = Inflater::new("DATA", packed)?;
            assert!(inflater.checks.is_some());
            inflater.read_vec(count)
        };
        assert_eq!(read(&packed, 1500).unwrap().len(), 1500);
        for block in &blocks {
            let mut damaged = packed.clone();
            damaged[block.stored.end - 1] ^= 1;
            let fault = read(&damaged, 1500).unwrap_err();
            assert!(fault.to_string().contains("damaged"), "{fault}");
            let before = read(&damaged, block.plain.end.saturating_sub(1));
            assert!(before.is_ok(), "{block:?}");
        }
    }

    #[test]
    fn a_stream_ends_where_its_index_says() {
        let packed = compress(&[7; 1000], 1 << 16);
        for (plain_size, reason) in [(999, "longer"), (1001, "shorter")] {
            let inflater = Inflater::new("DATA", &packed).unwrap();
            let fault = inflater.finish(plain_size).unwrap_err();
            assert!(fault.to_string().contains(reason), "{fault}");
        }
    }

    #[test]
    fn a_dictionary_above_the_limit_is_refused_with_its_size() {
        let mut packed = compress(b"plain", 1 << 16);
        // Block header: size, flags, filter id, property size, dictionary code.
        packed[16] = 31; // 3 << 26 bytes
        let crc = crc32fast::hash(&packed[12..20]);
        packed[20..24].copy_from_slice(&crc.to_le_bytes());
        let fault = Inflater::new("DATA", &packed)
            .unwrap()
            .finish(5)
            .unwrap_err();
        assert_eq!(
            fault.to_string(),
            "XZ dictionary in bytes is 201326592, at most 134217728 is allowed"
        );
    }

    #[test]
    fn reading_can_start_and_end_at_any_block() {
        let mut encoder = Stream::new_easy_encoder(0, Check::Crc32).unwrap();
        let mut packed = Vec::with_capacity(1 << 20);
        for (fill, action) in [
            (1, Action::FullFlush),
            (2, Action::FullFlush),
            (3, Action::Finish),
        ] {
            encoder
                .process_vec(&[fill; 1000], &mut packed, action)
                .unwrap();
        }
        let blocks = index::blocks("DATA", &packed).unwrap();
        let middle = || Inflater::of_blocks("DATA", &packed, &blocks[1..2]).unwrap();
        let mut inflater = middle();
        assert_eq!(inflater.read_vec(1000).unwrap(), [2; 1000]);
        inflater.expect_end_of_blocks().unwrap();

        let mut unread = middle();
        unread.skip(999).unwrap();
        assert!(unread.expect_end_of_blocks().is_err(), "a byte is left");
        let mut damaged = packed.clone();
        damaged[blocks[1].stored.end - 1] ^= 1;
        let mut damaged = Inflater::of_blocks("DATA", &damaged, &blocks[1..2]).unwrap();
        let checked = damaged.skip(1000);
        let checked = checked.and_then(|()| damaged.expect_end_of_blocks());
        assert!(checked.is_err(), "the check is wrong");
    }

    #[test]
    fn an_empty_section_is_no_stream() {
        let fault = inflate_all("MAP", &[], limits::PLAIN_MAP).unwrap_err();
        assert_eq!(fault.class(), "decompression");
    }
}
