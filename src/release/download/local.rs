//! A file from another folder of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::DownloadError;
use super::{Limits, Order, io_error};
use crate::progress::{Transfer, TransferSink};
use crate::release::http::HttpError;
use crate::release::partial::Part;

/// Bytes copied at a time.
const CHUNK: usize = 1 << 20;

/// Copies the file at `path` to the part.
pub fn copy(
    path: &Path,
    order: &Order,
    limits: &Limits,
    part: &mut Part,
    sink: &mut TransferSink<'_>,
) -> Result<(), DownloadError> {
    let mut file = File::open(path).map_err(io_error("open", path))?;
    let size = file.metadata().map_err(io_error("look at", path))?.len();
    if size > limits.file {
        return Err(DownloadError::Http(HttpError::TooLarge {
            url: order.source(),
            size,
            limit: limits.file,
        }));
    }
    order.expected.check_size(size, &order.source())?;
    limits.check_space(order.folder(), size)?;
    part.restart().map_err(io_error("empty", part.path()))?;
    sink(Transfer::Started {
        name: order.name(),
        done: 0,
        total: Some(size),
    });
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(io_error("read", path)(error)),
        };
        let piece = buffer.get(..count).unwrap_or_default();
        part.append(piece).map_err(io_error("write", part.path()))?;
        sink(Transfer::Advanced { done: part.len() });
    }
}
