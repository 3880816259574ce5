//! A look over the records that were written: how many, when, and of what binaries.

use crate::build_ids::Mapped;
use crate::file::{DataFile, Described};
use crate::records::{HAS_BUILD_ID, HEADER, half, header, kinds, word};
use crate::sys::Fields;
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// What there is.
#[derive(Debug, Default)]
pub struct Survey {
    /// Samples of each event.
    pub samples: Vec<u64>,
    /// Records that the kernel had no room for.
    pub lost: u64,
    /// How often the kernel held an event back because it came too often.
    pub throttled: u64,
    /// Times of the first and the last sample.
    pub times: Option<(u64, u64)>,
    /// Binaries.
    pub mapped: Mapped,
    /// Places of events by their numbers in records.
    by_id: HashMap<u64, usize>,
    /// Whether samples begin with that number.
    has_id: bool,
}

impl Survey {
    /// Nothing seen yet.
    pub fn for_events(events: &[Described]) -> Survey {
        let ids = events.iter().enumerate();
        let by_id = ids.flat_map(|(at, event)| event.ids.iter().map(move |id| (*id, at))).collect();
        let has_id = events.first().is_some_and(|event| event.attr.fields.contains(Fields::IDENTIFIER));
        Survey { samples: vec![0; events.len()], by_id, has_id, ..Survey::default() }
    }

    /// Reads all records of `file`.
    pub fn of(file: &DataFile, events: &[Described]) -> io::Result<Survey> {
        let mut survey = Survey::for_events(events);
        let range = file.records();
        let mut reader = file.reader()?;
        reader.seek(SeekFrom::Start(range.start))?;
        let mut reader = BufReader::with_capacity(1 << 20, reader.take(range.end - range.start));
        let mut record = vec![0; HEADER];
        loop {
            record.truncate(HEADER);
            match reader.read_exact(&mut record) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(survey),
                read => read?,
            }
            let size = header(&record).map_or(HEADER, |(_, _, size)| size);
            record.resize(size, 0);
            reader.read_exact(&mut record[HEADER..])?;
            survey.add(&record);
        }
    }

    /// Takes a record, header and all, into account; `None` of one that is not as it should be.
    pub fn add(&mut self, record: &[u8]) -> Option<()> {
        let (kind, misc, _) = header(record)?;
        match kind {
            kinds::SAMPLE => {
                let event =
                    if self.has_id { self.by_id.get(&word(record, HEADER)?).copied() } else { Some(0) };
                *self.samples.get_mut(event?)? += 1;
                // behind the identifier come address, process and thread
                let time = word(record, HEADER + 8 * usize::from(self.has_id) + 16)?;
                let (first, last) = self.times.unwrap_or((time, time));
                self.times = Some((first.min(time), last.max(time)));
            }
            kinds::LOST => self.lost += word(record, HEADER + 8)?,
            kinds::LOST_SAMPLES => self.lost += word(record, HEADER)?,
            kinds::THROTTLE => self.throttled += 1,
            // PROT_EXEC; its name comes last before what every record ends with
            kinds::MMAP2 if misc & HAS_BUILD_ID == 0 && half(record, HEADER + 56)? & 4 != 0 => {
                let name = record.get(HEADER + 64..)?.split(|&byte| byte == 0).next()?;
                self.mapped.add(name, half(record, HEADER)?);
            }
            _ => {}
        }
        Some(())
    }
}
