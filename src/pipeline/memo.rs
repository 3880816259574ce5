//! What was found out about a sample, kept for those that nothing tells from it but their time and thread.
//!
//! In: samples in the order of the file. Out: for each a number, the same for equal ones, and what was found. What is held is
//! bounded: when it is too much all is forgotten, and found anew under new numbers.

use hashbrown::{DefaultHashBuilder, HashMap};

use super::equal::Who;
use super::survey::when;
use crate::image::{AddressSpaces, Eras};
use crate::perfdata::{Record, Sample};

/// Words of keys held at a time.
const HELD: usize = 4 << 20;
/// What an entry takes besides its key and the chain's frames, in words.
const EACH: usize = 32;

/// Remembers a `T` for each distinct sample.
pub struct Memo<'a, T> {
    eras: Eras<'a>,
    whose: HashMap<Who, u64, DefaultHashBuilder>,
    known: HashMap<Vec<u64>, (u64, T), DefaultHashBuilder>,
    key: Vec<u64>,
    held: usize,
    next: u64,
}

impl<'a, T> Memo<'a, T> {
    /// Of samples of a recording whose mappings are `spaces`.
    pub fn new(spaces: &'a AddressSpaces) -> Memo<'a, T> {
        let (whose, known) = (HashMap::default(), HashMap::default());
        Memo { eras: Eras::new(spaces), whose, known, key: Vec::new(), held: 0, next: 0 }
    }

    /// The number of a sample, and what is known of it, which `find` finds out the first time.
    /// `callers` are those that it shows and does not name.
    pub fn of(
        &mut self,
        (record, sample): (&Record<'_>, &Sample<'_>),
        callers: &[u64],
        find: impl FnOnce() -> T,
    ) -> &(u64, T) {
        if self.held > HELD {
            self.known.clear();
            self.held = 0;
        }
        let (era, _) = self.eras.of(sample.pid, sample.tid, when(record, sample));
        let who =
            Who { attr: sample.attr, misc: record.misc, unwound: sample.is_unwound(), pid: sample.pid, era };
        let number = self.whose.len() as u64;
        let number = *self.whose.entry(who).or_insert(number);
        self.key.clear();
        self.key.extend([number, sample.ip]);
        self.key.extend(sample.callchain.iter());
        self.key.extend(callers);
        let Memo { known, key, held, next, .. } = self;
        known.entry_ref(&key[..]).or_insert_with(|| {
            *held += EACH + 6 * key.len();
            *next += 1;
            (*next - 1, find())
        })
    }
}
