//! A sample record taken apart, with no help from the reader under test, into what may change and what may not.
//! Little endian, as written by x86.

use skidconv::perfdata::Attr;

/// `PERF_RECORD_MISC_EXACT_IP`
pub const EXACT: u16 = 1 << 14;
/// `PERF_RECORD_SAMPLE`
pub const SAMPLE: u32 = 9;

const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const RAW: u64 = 1 << 10;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
/// `PERF_REG_X86_IP`
const IP_REGISTER: u32 = 8;

/// A sample's bytes.
#[derive(Debug, PartialEq)]
pub struct Parts {
    pub misc: u16,
    pub ip: Option<u64>,
    pub chain: Option<Vec<u64>>,
    pub user_ip: Option<u64>,
    /// All else, in order.
    pub rest: Vec<u8>,
}

/// Takes a record apart, header included.
pub fn parts(attrs: &[Attr], record: &[u8]) -> Parts {
    let attr = attr_of(attrs, record);
    let mut cut = Cut { bytes: record, at: 8, rest: record[..4].to_vec() };
    let has = |bit: u64| attr.sample_type & bit != 0;
    cut.keep(8 * usize::from(has(1 << 16)));
    let ip = has(1).then(|| cut.word());
    // thread, time, address, id, stream, processor, period
    cut.keep(8 * (attr.sample_type & 0x3ce).count_ones() as usize);
    if has(READ) {
        cut.keep(read_len(attr.read_format, cut.peek()));
    }
    let chain = has(CALLCHAIN).then(|| {
        let n = cut.word();
        (0..n).map(|_| cut.word()).collect()
    });
    if has(RAW) {
        cut.keep(4 + cut.peek() as u32 as usize);
    }
    if has(BRANCH_STACK) {
        let index = usize::from(attr.branch_sample_type & 1 << 17 != 0);
        cut.keep(8 + 8 * index + 24 * cut.peek() as usize);
    }
    let user_ip = if has(REGS_USER) { user_ip(attr, &mut cut) } else { None };
    cut.keep(record.len() - cut.at);
    let misc = u16::from_le_bytes([record[4], record[5]]);
    Parts { misc, ip, chain, user_ip, rest: cut.rest }
}

fn attr_of<'a>(attrs: &'a [Attr], record: &[u8]) -> &'a Attr {
    let id = u64::from_le_bytes(record[8..16].try_into().unwrap());
    let of_id = attrs.iter().find(|a| a.sample_type & 1 << 16 != 0 && a.ids.contains(&id));
    of_id.unwrap_or(&attrs[0])
}

fn read_len(format: u64, first: u64) -> usize {
    let times = (format & 3).count_ones() as usize;
    let each = 1 + (format & 0x14).count_ones() as usize;
    8 * if format & 8 != 0 { 1 + times + each * first as usize } else { times + each }
}

fn user_ip(attr: &Attr, cut: &mut Cut<'_>) -> Option<u64> {
    let abi = cut.peek();
    cut.keep(8);
    let mask = attr.sample_regs_user;
    if abi == 0 || mask & 1 << IP_REGISTER == 0 {
        return None;
    }
    cut.keep(8 * (mask & ((1 << IP_REGISTER) - 1)).count_ones() as usize);
    Some(cut.word())
}

struct Cut<'a> {
    bytes: &'a [u8],
    at: usize,
    rest: Vec<u8>,
}

impl Cut<'_> {
    fn peek(&self) -> u64 {
        u64::from_le_bytes(self.bytes[self.at..self.at + 8].try_into().unwrap())
    }

    fn word(&mut self) -> u64 {
        let word = self.peek();
        self.at += 8;
        word
    }

    fn keep(&mut self, len: usize) {
        self.rest.extend(&self.bytes[self.at..self.at + len]);
        self.at += len;
    }
}
