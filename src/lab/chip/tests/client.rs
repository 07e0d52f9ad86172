//! A tool in small: the protocol of device-access 2 to 4, step by step, without short cuts.

use std::sync::Arc;

use crate::lab::chip::icmd::Method;
use crate::pci::ConfigSpace;
use crate::registers::Register;

pub const CONTROL: u16 = 0xc4;
pub const COUNTER: u16 = 0xc8;
pub const SEMAPHORE: u16 = 0xcc;
pub const ADDRESS: u16 = 0xd0;
pub const DATA: u16 = 0xd4;

pub const CR: u32 = 2;
pub const ICMD: u32 = 3;
pub const SEMAPHORES: u32 = 0xa;

const FLAG: u32 = 1 << 31;

pub struct Client {
    config: Arc<dyn ConfigSpace>,
}

impl Client {
    pub fn new(config: Arc<dyn ConfigSpace>) -> Self {
        Self { config }
    }

    pub fn config(&self, offset: u16) -> u32 {
        self.config.read(offset).unwrap()
    }

    pub fn set_config(&self, offset: u16, value: u32) {
        self.config.write(offset, value).unwrap();
    }

    /// Takes the capability's semaphore.
    pub fn lock(&self) {
        assert_eq!(self.config(SEMAPHORE), 0);
        let ticket = self.config(COUNTER);
        self.set_config(SEMAPHORE, ticket);
        assert_eq!(self.config(SEMAPHORE), ticket);
    }

    pub fn unlock(&self) {
        self.set_config(SEMAPHORE, 0);
    }

    /// Selects a space; whether the chip has it.
    pub fn select(&self, space: u32) -> bool {
        let control = self.config(CONTROL);
        self.set_config(CONTROL, (control & 0xffff_0000) | space);
        let control = self.config(CONTROL);
        assert_eq!(control & 0xffff, space);
        control >> 29 != 0
    }

    pub fn get(&self, address: u32) -> u32 {
        self.set_config(ADDRESS, address);
        assert_eq!(self.config(ADDRESS), address | FLAG);
        self.config(DATA)
    }

    pub fn put(&self, address: u32, value: u32) {
        self.set_config(DATA, value);
        self.set_config(ADDRESS, address | FLAG);
        assert_eq!(self.config(ADDRESS), address);
    }

    pub fn read(&self, space: u32, address: u32) -> u32 {
        self.lock();
        assert!(self.select(space));
        let value = self.get(address);
        self.unlock();
        value
    }

    pub fn write(&self, space: u32, address: u32, value: u32) {
        self.lock();
        assert!(self.select(space));
        self.put(address, value);
        self.unlock();
    }

    /// Sends a register image; the answer's TLV status when it is not 0. `image` is replaced.
    pub fn send(&self, id: u16, method: Method, image: &mut [u8]) -> Result<(), u8> {
        let token = 0x5151;
        self.write(SEMAPHORES, 0, token);
        assert_eq!(self.read(SEMAPHORES, 0), token);
        let dwords = image.len() / 4 + 1;
        let method = match method {
            Method::Read => 1,
            Method::Write => 2,
        };
        let mut frame = vec![
            (1 << 27) | (4 << 16),
            (u32::from(id) << 16) | (method << 8) | 1,
            0x1234,
            0x5678,
            (3 << 27) | (u32::try_from(dwords).unwrap() << 16),
        ];
        frame.extend(
            image
                .chunks_exact(4)
                .map(|dword| u32::from_be_bytes(dword.try_into().unwrap())),
        );
        self.lock();
        assert!(self.select(ICMD));
        self.put(0, 0x9001 << 16);
        for (offset, dword) in (0x10_0000..).step_by(4).zip(&frame) {
            self.put(offset, *dword);
        }
        assert_eq!(self.get(0) & 1, 0);
        self.put(0, (0x9001 << 16) | 1);
        let control = loop {
            let control = self.get(0);
            if control & 1 == 0 {
                break control;
            }
        };
        assert_eq!(control, 0x9001 << 16);
        let operation = self.get(0x10_0000);
        let reply = self.get(0x10_0004);
        assert_eq!(reply, frame[1] | 0x8000);
        assert_eq!(self.get(0x10_0008), 0x1234);
        for (offset, dword) in (0x10_0014..).step_by(4).zip(image.chunks_exact_mut(4)) {
            dword.copy_from_slice(&self.get(offset).to_be_bytes());
        }
        self.unlock();
        self.write(SEMAPHORES, 0, 0);
        match u8::try_from((operation >> 8) & 0x7f).unwrap() {
            0 => Ok(()),
            status => Err(status),
        }
    }

    pub fn register<R: Register>(&self, method: Method, request: &R) -> Result<R, u8> {
        let mut image = request.encode();
        self.send(R::ID, method, &mut image)?;
        Ok(R::decode(&image).unwrap())
    }

    pub fn ask<R: Register>(&self, request: &R) -> Result<R, u8> {
        self.register(Method::Read, request)
    }

    pub fn tell<R: Register>(&self, request: &R) -> Result<R, u8> {
        self.register(Method::Write, request)
    }
}
