//! Reads and writes of a config file as config cycles: whole dwords as they are, bytes and words as
//! the part of a dword they are (a write reads the dword first).

use fuser::Errno;

use crate::pci::ConfigSpace;

/// Reads `size` bytes at `offset`, one cycle for each dword touched, up to `end`.
pub fn read(space: &dyn ConfigSpace, offset: u64, size: usize, end: u64) -> Result<Vec<u8>, Errno> {
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
pub fn write(space: &dyn ConfigSpace, offset: u64, data: &[u8], end: u64) -> Result<u32, Errno> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::ConfigError;
    use std::sync::Mutex;

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
        assert_eq!(read(&memory, 4, 4, 64).unwrap(), [0x44, 0x33, 0x22, 0x11]);
        assert_eq!(memory.0.lock().unwrap().1, 1);
        assert_eq!(read(&memory, 6, 1, 64).unwrap(), [0x22]);
        assert_eq!(read(&memory, 60, 16, 64).unwrap().len(), 4);
        assert!(read(&memory, 64, 4, 64).unwrap().is_empty());
    }

    #[test]
    fn a_word_write_keeps_the_rest_of_its_dword() {
        let memory = Memory(Mutex::new(([0x1122_3344; 16], 0)));
        assert_eq!(write(&memory, 6, &[0xaa, 0xbb], 64).unwrap(), 2);
        assert_eq!(memory.0.lock().unwrap().0[1], 0xbbaa_3344);
        assert!(write(&memory, 64, &[0], 64).is_err());
    }
}
