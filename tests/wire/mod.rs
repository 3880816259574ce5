//! Protocol buffers as they are on the wire (<https://protobuf.dev/programming-guides/encoding>), fields by number: what a
//! profile says, read without the definitions that it was written by.
#![allow(dead_code)]

use std::collections::BTreeMap;

/// A message's fields by their numbers, each as often as it stands there.
#[derive(Clone, Debug, Default)]
pub struct Message<'a>(BTreeMap<u64, Vec<Field<'a>>>);

#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    pub fn new(mut bytes: &'a [u8]) -> Message<'a> {
        let mut fields: BTreeMap<u64, Vec<Field<'a>>> = BTreeMap::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                2 => {
                    let len = varint(&mut bytes) as usize;
                    let (field, rest) = bytes.split_at(len);
                    bytes = rest;
                    Field::Bytes(field)
                }
                other => panic!("profiles have no fields of wire type {other}"),
            };
            fields.entry(key >> 3).or_default().push(field);
        }
        Message(fields)
    }

    fn all(&self, field: u64) -> impl Iterator<Item = Field<'a>> + '_ {
        self.0.get(&field).into_iter().flatten().copied()
    }

    fn bytes(&self, field: u64) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.all(field).filter_map(|value| match value {
            Field::Bytes(bytes) => Some(bytes),
            Field::Number(_) => None,
        })
    }

    /// A repeated message.
    pub fn messages(&self, field: u64) -> Vec<Message<'a>> {
        self.bytes(field).map(Message::new).collect()
    }

    /// A repeated string.
    pub fn strings(&self, field: u64) -> Vec<&'a str> {
        self.bytes(field).map(|bytes| std::str::from_utf8(bytes).unwrap()).collect()
    }

    /// Repeated numbers, packed or not.
    pub fn numbers(&self, field: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        for value in self.all(field) {
            match value {
                Field::Number(number) => numbers.push(number),
                Field::Bytes(mut packed) => {
                    while !packed.is_empty() {
                        numbers.push(varint(&mut packed));
                    }
                }
            }
        }
        numbers
    }

    /// One number; 0, which is not written, if it is not there.
    pub fn number(&self, field: u64) -> u64 {
        self.numbers(field).first().copied().unwrap_or(0)
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}
