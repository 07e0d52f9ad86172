//! The file system: the lab's tree passed through, with live `config` files.
//!
//! Nothing is cached by the kernel: the files are opened for direct I/O, attributes and names are
//! good for no time at all, since a reset changes the tree.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, WriteFlags,
};

use crate::pci::{Address, ConfigSource, ConfigSpace};

use super::inodes::{Inodes, ROOT};
use super::node::Node;
use super::open_files::{BY_PATH, ConfigFile, OpenFiles};
use super::{cycles, procfs};

/// How long the kernel may keep names and attributes.
const NO_TIME: Duration = Duration::ZERO;

/// Largest plain file passed through; sysfs files are a page, VPD at most 32 KiB.
const LARGEST_FILE: u64 = 1 << 20;

/// The file system of one mount.
pub struct Tree {
    sysfs: PathBuf,
    source: Arc<dyn ConfigSource>,
    inodes: Inodes,
    spaces: Mutex<HashMap<Address, Arc<dyn ConfigSpace>>>,
    open: OpenFiles,
    /// User and group that everything belongs to: those of this process.
    owner: (u32, u32),
}

impl Tree {
    /// A tree over the lab's `sysfs` folder with the chips of `source`.
    pub fn new(sysfs: &Path, source: Arc<dyn ConfigSource>) -> Self {
        Self {
            sysfs: sysfs.to_owned(),
            source,
            inodes: Inodes::new(),
            spaces: Mutex::new(HashMap::new()),
            open: OpenFiles::default(),
            owner: (
                rustix::process::geteuid().as_raw(),
                rustix::process::getegid().as_raw(),
            ),
        }
    }

    fn path(&self, inode: INodeNo) -> Result<PathBuf, Errno> {
        self.inodes.path(u64::from(inode)).ok_or(Errno::ENOENT)
    }

    fn node(&self, inode: INodeNo) -> Result<Node, Errno> {
        Ok(Node::at(&self.sysfs, &self.path(inode)?)?)
    }

    /// The chip's config space, or `None` for a function that is only a picture in the tree (an
    /// adapter of another vendor, a bridge).
    fn space(&self, address: Address) -> Option<Arc<dyn ConfigSpace>> {
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(space) = spaces.get(&address) {
            return Some(Arc::clone(space));
        }
        let space = self.source.open(address).ok()?;
        spaces.insert(address, Arc::clone(&space));
        Some(space)
    }

    /// Kind, permissions and size of `path`, if it is there.
    fn facts(&self, path: &Path) -> Result<(FileType, u16, u64), Errno> {
        let kind = |meta: &fs::Metadata| FileType::from_std(meta.file_type()).ok_or(Errno::EIO);
        Ok(match Node::at(&self.sysfs, path)? {
            Node::Folder(_) => (FileType::Directory, 0o555, 0),
            Node::Text(text) => (FileType::RegularFile, 0o444, text.len() as u64),
            // A config file found through /proc follows the link in bus/pci/devices.
            Node::Config(_, snapshot) => {
                let meta = fs::metadata(self.sysfs.join(snapshot))?;
                (kind(&meta)?, 0o644, meta.len())
            }
            Node::Backed(path) => {
                let meta = fs::symlink_metadata(self.sysfs.join(path))?;
                let perm = match kind(&meta)? {
                    FileType::Directory => 0o755,
                    FileType::Symlink => 0o777,
                    _ => u16::try_from(meta.mode() & 0o444).unwrap_or(0o444),
                };
                (kind(&meta)?, perm, meta.len())
            }
        })
    }

    fn attributes(&self, path: &Path) -> Result<FileAttr, Errno> {
        let (kind, perm, size) = self.facts(path)?;
        let (uid, gid) = self.owner;
        Ok(FileAttr {
            ino: INodeNo(self.inodes.number(path)),
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid,
            gid,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }

    fn child(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        self.attributes(&self.path(parent)?.join(name))
    }

    /// The handle of a file: its own for a chip's `config`.
    fn open_node(&self, inode: INodeNo) -> Result<u64, Errno> {
        let Node::Config(address, snapshot) = self.node(inode)? else {
            return Ok(BY_PATH);
        };
        let Some(space) = self.space(address) else {
            return Ok(BY_PATH);
        };
        let end = fs::metadata(self.sysfs.join(snapshot))?.len();
        Ok(self.open.add(ConfigFile { space, end }))
    }

    fn read_open(
        &self,
        (inode, handle): (INodeNo, FileHandle),
        offset: u64,
        size: u32,
    ) -> Result<Vec<u8>, Errno> {
        let size = size as usize;
        if let Some(file) = self.open.get(handle.0) {
            return cycles::read(&*file.space, offset, size, file.end);
        }
        match self.node(inode)? {
            Node::Folder(_) => Err(Errno::EISDIR),
            Node::Text(text) => Ok(part(text.as_bytes(), offset, size)),
            Node::Backed(path) | Node::Config(_, path) => self.read_file(&path, offset, size),
        }
    }

    fn read_file(&self, path: &Path, offset: u64, size: usize) -> Result<Vec<u8>, Errno> {
        let file = File::open(self.sysfs.join(path))?;
        if file.metadata()?.len() > LARGEST_FILE {
            return Err(Errno::EFBIG);
        }
        let mut bytes = vec![0; size.min(LARGEST_FILE as usize)];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset.saturating_add(filled as u64))? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn write_open(&self, handle: FileHandle, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let file = self.open.get(handle.0).ok_or(Errno::EACCES)?;
        cycles::write(&*file.space, offset, data, file.end)
    }

    fn link_target(&self, inode: INodeNo) -> Result<PathBuf, Errno> {
        match self.node(inode)? {
            Node::Backed(path) => Ok(fs::read_link(self.sysfs.join(path))?),
            _ => Err(Errno::EINVAL),
        }
    }

    fn entries(&self, inode: INodeNo) -> Result<Vec<(u64, FileType, String)>, Errno> {
        let folder = self.path(inode)?;
        let mut names = match Node::at(&self.sysfs, &folder)? {
            Node::Folder(names) => names,
            Node::Config(..) | Node::Text(_) => return Err(Errno::ENOTDIR),
            Node::Backed(path) => names(&self.sysfs.join(path))?,
        };
        if u64::from(inode) == ROOT {
            names.push(procfs::ROOT.to_owned());
        }
        names.sort();
        let mut entries = vec![
            (u64::from(inode), FileType::Directory, ".".to_owned()),
            (ROOT, FileType::Directory, "..".to_owned()),
        ];
        for name in names {
            let path = folder.join(&name);
            // A file that a reset took away between the two looks is not listed.
            if let Ok((kind, ..)) = self.facts(&path) {
                entries.push((self.inodes.number(&path), kind, name));
            }
        }
        Ok(entries)
    }
}

/// Names in a folder; the lab makes none that are no UTF-8.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

fn part(bytes: &[u8], offset: u64, size: usize) -> Vec<u8> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    bytes
        .get(start..)
        .map(|rest| rest.iter().copied().take(size).collect())
        .unwrap_or_default()
}

impl Filesystem for Tree {
    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.child(parent, name) {
            Ok(attributes) => reply.entry(&NO_TIME, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.path(ino).and_then(|path| self.attributes(&path)) {
            Ok(attributes) => reply.attr(&NO_TIME, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        match self.link_target(ino) {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.open_node(ino) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        }
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.open.close(fh.0);
        reply.ok();
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_open((ino, fh), offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_open(fh, offset, data) {
            Ok(count) => reply.written(count),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = match self.entries(ino) {
            Ok(entries) => entries,
            Err(error) => return reply.error(error),
        };
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, (number, kind, name)) in entries.into_iter().enumerate().skip(skip) {
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
