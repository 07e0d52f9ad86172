//! The file system: the lab's tree passed through, with live `config` files.
//!
//! Reads and writes of a config file become config cycles: whole dwords as they are, bytes and
//! words as the part of a dword they are (a write reads the dword first). Nothing is cached by
//! the kernel: the files are opened for direct I/O and attributes are good for no time at all.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};

use crate::pci::{Address, ConfigSource, ConfigSpace};

use super::MountError;
use super::node::{Node, Nodes, ROOT};
use super::procfs;

/// Attributes and names are asked for again every time: a reset changes the tree.
const NO_TIME: Duration = Duration::ZERO;

/// Largest plain file passed through; sysfs files are a page, VPD at most 32 KiB.
const LARGEST_FILE: u64 = 1 << 20;

/// The file system of one mount.
pub struct Tree {
    sysfs: PathBuf,
    source: Arc<dyn ConfigSource>,
    nodes: Mutex<Nodes>,
    spaces: Mutex<HashMap<Address, Arc<dyn ConfigSpace>>>,
    proc_folder: u64,
}

impl Tree {
    /// A tree over the lab's `sysfs` folder with the chips of `source`.
    pub fn new(sysfs: &Path, source: Arc<dyn ConfigSource>) -> Result<Self, MountError> {
        let functions = procfs::functions(sysfs)?;
        let mut nodes = Nodes::new();
        let mut folders: Vec<(String, Vec<(String, u64)>)> = Vec::new();
        for function in &functions {
            let number = nodes.add(Node::Config(function.address, function.config.clone()));
            let folder = function.folder();
            match folders.last_mut() {
                Some((name, files)) if *name == folder => files.push((function.file(), number)),
                _ => folders.push((folder, vec![(function.file(), number)])),
            }
        }
        let table = procfs::devices_table(sysfs, &functions).into_bytes();
        let mut pci = vec![("devices".to_owned(), nodes.add(Node::Text(table)))];
        for (name, files) in folders {
            pci.push((name, nodes.add(Node::Folder(files))));
        }
        let pci = nodes.add(Node::Folder(pci));
        let bus = nodes.add(Node::Folder(vec![("pci".to_owned(), pci)]));
        let proc_folder = nodes.add(Node::Folder(vec![("bus".to_owned(), bus)]));
        Ok(Self {
            sysfs: sysfs.to_owned(),
            source,
            nodes: Mutex::new(nodes),
            spaces: Mutex::new(HashMap::new()),
            proc_folder,
        })
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, inode: INodeNo) -> Result<Node, Errno> {
        self.nodes()
            .get(u64::from(inode))
            .cloned()
            .ok_or(Errno::ENOENT)
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

    fn child(&self, parent: INodeNo, name: &OsStr) -> Result<u64, Errno> {
        let name = name.to_str().ok_or(Errno::ENOENT)?;
        match self.node(parent)? {
            Node::Folder(entries) => entries
                .iter()
                .find(|(entry, _)| entry == name)
                .map(|&(_, number)| number)
                .ok_or(Errno::ENOENT),
            Node::Backed(path) => {
                if u64::from(parent) == ROOT && name == "proc" {
                    return Ok(self.proc_folder);
                }
                let path = path.join(name);
                fs::symlink_metadata(self.sysfs.join(&path))?;
                let kind = kind_of(&path);
                Ok(self.nodes().of_path(&path, || kind))
            }
            Node::Config(..) | Node::Text(_) => Err(Errno::ENOTDIR),
        }
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        let node = self.node(INodeNo(number))?;
        let (kind, perm, size) = match &node {
            Node::Folder(_) => (FileType::Directory, 0o555, 0),
            Node::Text(text) => (FileType::RegularFile, 0o444, text.len() as u64),
            Node::Backed(path) | Node::Config(_, path) => {
                let meta = match &node {
                    // A config file found through /proc follows the link in bus/pci/devices.
                    Node::Config(..) => fs::metadata(self.sysfs.join(path))?,
                    _ => fs::symlink_metadata(self.sysfs.join(path))?,
                };
                let kind = FileType::from_std(meta.file_type()).ok_or(Errno::EIO)?;
                let perm = match (&node, kind) {
                    (Node::Config(..), _) => 0o644,
                    (_, FileType::Directory) => 0o755,
                    (_, FileType::Symlink) => 0o777,
                    _ => u16::try_from(meta.mode() & 0o444).unwrap_or(0o444),
                };
                (kind, perm, meta.len())
            }
        };
        Ok(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }

    fn read_node(&self, inode: INodeNo, offset: u64, size: u32) -> Result<Vec<u8>, Errno> {
        let size = size as usize;
        match self.node(inode)? {
            Node::Folder(_) => Err(Errno::EISDIR),
            Node::Text(text) => Ok(part(&text, offset, size)),
            Node::Backed(path) => self.read_file(&path, offset, size),
            Node::Config(address, path) => match self.space(address) {
                Some(space) => {
                    let end = fs::metadata(self.sysfs.join(path))?.len();
                    read_config(&*space, offset, size, end)
                }
                None => self.read_file(&path, offset, size),
            },
        }
    }

    fn read_file(&self, path: &Path, offset: u64, size: usize) -> Result<Vec<u8>, Errno> {
        let file = fs::File::open(self.sysfs.join(path))?;
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

    fn write_node(&self, inode: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let Node::Config(address, path) = self.node(inode)? else {
            return Err(Errno::EACCES);
        };
        let space = self.space(address).ok_or(Errno::EACCES)?;
        let end = fs::metadata(self.sysfs.join(path))?.len();
        write_config(&*space, offset, data, end)
    }

    fn entries(&self, inode: INodeNo) -> Result<Vec<(u64, FileType, String)>, Errno> {
        let listed: Vec<(String, u64)> = match self.node(inode)? {
            Node::Folder(entries) => entries,
            Node::Config(..) | Node::Text(_) => return Err(Errno::ENOTDIR),
            Node::Backed(path) => {
                let mut found = Vec::new();
                for entry in fs::read_dir(self.sysfs.join(&path))? {
                    let name = entry?.file_name();
                    let Some(text) = name.to_str() else { continue };
                    let child = path.join(text);
                    let kind = kind_of(&child);
                    found.push((text.to_owned(), self.nodes().of_path(&child, || kind)));
                }
                found.sort();
                if u64::from(inode) == ROOT {
                    found.push(("proc".to_owned(), self.proc_folder));
                }
                found
            }
        };
        // A file that a reset took away between the two looks is not listed.
        Ok(listed
            .into_iter()
            .filter_map(|(name, number)| {
                let kind = self.attributes(number).ok()?.kind;
                Some((number, kind, name))
            })
            .collect())
    }
}

/// A file called `config` in a folder named by a PCI address is that function's config space.
fn kind_of(path: &Path) -> Node {
    let address = path
        .parent()
        .and_then(Path::file_name)
        .and_then(OsStr::to_str)
        .and_then(|name| name.parse::<Address>().ok());
    match (path.file_name().and_then(OsStr::to_str), address) {
        (Some("config"), Some(address)) => Node::Config(address, path.to_owned()),
        _ => Node::Backed(path.to_owned()),
    }
}

fn part(bytes: &[u8], offset: u64, size: usize) -> Vec<u8> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    bytes
        .get(start..)
        .map(|rest| rest.iter().copied().take(size).collect())
        .unwrap_or_default()
}

/// Reads `size` bytes at `offset`, one cycle for each dword touched, up to `end`.
fn read_config(
    space: &dyn ConfigSpace,
    offset: u64,
    size: usize,
    end: u64,
) -> Result<Vec<u8>, Errno> {
    let stop = offset.saturating_add(size as u64).min(end);
    let mut bytes = Vec::with_capacity(size.min(4096));
    let mut at = offset;
    while at < stop {
        let dword = u16::try_from(at & !3).map_err(|_| Errno::EINVAL)?;
        let value = space.read(dword).map_err(|_| Errno::EIO)?.to_le_bytes();
        let next = ((at & !3) + 4).min(stop);
        bytes.extend(
            value
                .iter()
                .skip((at & 3) as usize)
                .take((next - at) as usize),
        );
        at = next;
    }
    Ok(bytes)
}

/// Writes `data` at `offset`, up to `end`; a partly covered dword is read first.
fn write_config(space: &dyn ConfigSpace, offset: u64, data: &[u8], end: u64) -> Result<u32, Errno> {
    let stop = offset.saturating_add(data.len() as u64).min(end);
    if offset >= stop {
        return Err(Errno::EINVAL);
    }
    let mut left = data.iter();
    let mut at = offset;
    while at < stop {
        let dword = u16::try_from(at & !3).map_err(|_| Errno::EINVAL)?;
        let next = ((at & !3) + 4).min(stop);
        let whole = next - at == 4;
        let mut value = if whole {
            [0; 4]
        } else {
            space.read(dword).map_err(|_| Errno::EIO)?.to_le_bytes()
        };
        for (slot, byte) in value
            .iter_mut()
            .skip((at & 3) as usize)
            .take((next - at) as usize)
            .zip(left.by_ref())
        {
            *slot = *byte;
        }
        space
            .write(dword, u32::from_le_bytes(value))
            .map_err(|_| Errno::EIO)?;
        at = next;
    }
    u32::try_from(stop - offset).map_err(|_| Errno::EINVAL)
}

impl Filesystem for Tree {
    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self
            .child(parent, name)
            .and_then(|number| self.attributes(number))
        {
            Ok(attributes) => reply.entry(&NO_TIME, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(u64::from(ino)) {
            Ok(attributes) => reply.attr(&NO_TIME, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        let target = match self.node(ino) {
            Ok(Node::Backed(path)) => fs::read_link(self.sysfs.join(path)).map_err(Errno::from),
            Ok(_) => Err(Errno::EINVAL),
            Err(error) => Err(error),
        };
        match target {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_node(ino, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_node(ino, offset, data) {
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
        let dots = [(u64::from(ino), ".".to_owned()), (ROOT, "..".to_owned())]
            .map(|(number, name)| (number, FileType::Directory, name));
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, (number, kind, name)) in dots.into_iter().chain(entries).enumerate().skip(skip) {
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::ConfigError;

    /// Sixteen dwords of memory that count what is asked of them.
    struct Memory(Mutex<([u32; 16], u32)>);

    impl ConfigSpace for Memory {
        fn read(&self, offset: u16) -> Result<u32, ConfigError> {
            let mut memory = self.0.lock().unwrap();
            memory.1 += 1;
            Ok(memory.0[usize::from(offset) / 4])
        }

        fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError> {
            self.0.lock().unwrap().0[usize::from(offset) / 4] = value;
            Ok(())
        }

        fn device(&self) -> String {
            "0000:03:00.0".to_owned()
        }
    }

    #[test]
    fn a_dword_read_is_one_cycle_and_a_byte_is_its_part() {
        let memory = Memory(Mutex::new(([0x1122_3344; 16], 0)));
        assert_eq!(
            read_config(&memory, 4, 4, 64).unwrap(),
            [0x44, 0x33, 0x22, 0x11]
        );
        assert_eq!(memory.0.lock().unwrap().1, 1);
        assert_eq!(read_config(&memory, 6, 1, 64).unwrap(), [0x22]);
        assert_eq!(read_config(&memory, 60, 16, 64).unwrap().len(), 4);
        assert!(read_config(&memory, 64, 4, 64).unwrap().is_empty());
    }

    #[test]
    fn a_word_write_keeps_the_rest_of_its_dword() {
        let memory = Memory(Mutex::new(([0x1122_3344; 16], 0)));
        assert_eq!(write_config(&memory, 6, &[0xaa, 0xbb], 64).unwrap(), 2);
        assert_eq!(memory.0.lock().unwrap().0[1], 0xbbaa_3344);
        assert!(write_config(&memory, 64, &[0], 64).is_err());
    }

    #[test]
    fn only_a_config_file_in_a_folder_named_by_an_address_is_live() {
        assert!(matches!(
            kind_of(Path::new("devices/pci0000:00/0000:03:00.0/config")),
            Node::Config(address, _) if address.to_string() == "0000:03:00.0"
        ));
        assert!(matches!(
            kind_of(Path::new("kernel/config")),
            Node::Backed(_)
        ));
    }
}
