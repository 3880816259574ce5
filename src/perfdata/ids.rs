//! Which event a record belongs to: the ids of counters, and where records carry them.

use linux_perf_event_reader::constants as c;

use super::bytes::Endian;
use super::{Attr, AttrIx};

/// Fields of `sample_type` that stand before ID in a sample.
const BEFORE_ID: u64 = c::PERF_SAMPLE_IP | c::PERF_SAMPLE_TID | c::PERF_SAMPLE_TIME | c::PERF_SAMPLE_ADDR;
/// Fields that stand behind ID in the trailer of another record.
const BEHIND_ID: u64 = c::PERF_SAMPLE_STREAM_ID | c::PERF_SAMPLE_CPU;

/// Where an event's records carry its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Offset in a sample record.
    sample: usize,
    /// Distance from the end of any other record, if those have a trailer.
    trailer: Option<usize>,
}

impl Place {
    fn of(attr: &Attr) -> Option<Place> {
        let words = |fields: u64| 8 * (attr.sample_type & fields).count_ones() as usize;
        let (sample, behind) = if attr.sample_type & c::PERF_SAMPLE_IDENTIFIER != 0 {
            (8, 8)
        } else if attr.sample_type & c::PERF_SAMPLE_ID != 0 {
            (8 + words(BEFORE_ID), 8 + words(BEHIND_ID))
        } else {
            return None;
        };
        Some(Place { sample, trailer: attr.sample_id_all.then_some(behind) })
    }
}

/// Finds the event of a record.
#[derive(Clone, Debug, Default)]
pub(super) struct EventIds {
    /// Sorted by id. A place is an index into `places`.
    table: Vec<(u64, AttrIx, u32)>,
    /// All places at which an id can be. One, unless the events were recorded very differently.
    places: Vec<Place>,
    single: bool,
}

impl EventIds {
    pub fn new(attrs: &[Attr]) -> EventIds {
        let mut ids = EventIds { single: attrs.len() == 1, ..EventIds::default() };
        if ids.single {
            return ids;
        }
        for (i, attr) in attrs.iter().enumerate() {
            let Some(place) = Place::of(attr) else {
                continue;
            };
            let at = ids.places.iter().position(|p| *p == place).unwrap_or_else(|| {
                ids.places.push(place);
                ids.places.len() - 1
            });
            let of = (AttrIx(i as u32), at as u32);
            ids.table.extend(attr.ids.iter().map(|&id| (id, of.0, of.1)));
        }
        ids.table.sort_by_key(|&(id, ..)| id);
        ids
    }

    /// Whether there are several events and nothing tells them apart.
    pub fn blind(&self, attrs: &[Attr]) -> bool {
        attrs.len() > 1 && self.table.is_empty()
    }

    /// The event of a sample; `None` if its id is not in the recording.
    #[inline]
    pub fn of_sample(&self, record: &[u8], endian: Endian) -> Option<AttrIx> {
        if self.single {
            return Some(AttrIx(0));
        }
        self.find(|place| endian.u64(record, place.sample))
    }

    /// The event that a counter's id belongs to.
    pub fn of_id(&self, id: u64) -> Option<AttrIx> {
        if self.single { Some(AttrIx(0)) } else { self.look_up(id).map(|(attr, _)| attr) }
    }

    /// The event in whose name another kernel record was written: it tells the form of the trailer.
    pub fn of_other(&self, record: &[u8], endian: Endian) -> Option<AttrIx> {
        if self.single {
            return Some(AttrIx(0));
        }
        let at = |place: &Place| record.len().checked_sub(place.trailer?);
        self.find(|place| endian.u64(record, at(place).filter(|&at| at >= 8)?))
    }

    #[inline]
    fn find(&self, id_at: impl Fn(&Place) -> Option<u64>) -> Option<AttrIx> {
        for (i, place) in self.places.iter().enumerate() {
            match id_at(place) {
                // As for perf: what perf itself made up at the start belongs to the first event.
                Some(0) if self.places.len() == 1 => return Some(AttrIx(0)),
                Some(id) => match self.look_up(id) {
                    Some((attr, at)) if at as usize == i => return Some(attr),
                    _ => {}
                },
                None => {}
            }
        }
        None
    }

    #[inline]
    fn look_up(&self, id: u64) -> Option<(AttrIx, u32)> {
        let i = self.table.binary_search_by_key(&id, |&(id, ..)| id).ok()?;
        let (_, attr, place) = self.table[i];
        Some((attr, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(sample_type: u64, ids: &[u64]) -> Attr {
        let mut attr = Attr::parse(&[0; 64], Endian::Little, 0).unwrap();
        (attr.sample_type, attr.sample_id_all, attr.ids) = (sample_type, true, ids.to_vec());
        attr
    }

    fn record(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    #[test]
    fn a_single_event_needs_no_ids() {
        let ids = EventIds::new(&[attr(c::PERF_SAMPLE_IP, &[])]);
        assert_eq!(ids.of_sample(&[], Endian::Little), Some(AttrIx(0)));
    }

    #[test]
    fn an_id_without_identifier_is_found_behind_the_fields_before_it() {
        let t = c::PERF_SAMPLE_IP | c::PERF_SAMPLE_TID | c::PERF_SAMPLE_ID | c::PERF_SAMPLE_CPU;
        let ids = EventIds::new(&[attr(t, &[5, 6]), attr(t, &[7])]);
        let sample = |id| ids.of_sample(&record(&[0, 0x40, 1, id, 0]), Endian::Little);
        assert_eq!((sample(6), sample(7), sample(8)), (Some(AttrIx(0)), Some(AttrIx(1)), None));
        let other = |id| ids.of_other(&record(&[0, 1, 2, id, 0]), Endian::Little);
        assert_eq!((other(7), other(0)), (Some(AttrIx(1)), Some(AttrIx(0))));
    }

    #[test]
    fn events_with_ids_at_different_places_are_told_apart() {
        let (a, b) = (c::PERF_SAMPLE_IP | c::PERF_SAMPLE_ID, c::PERF_SAMPLE_ID);
        let ids = EventIds::new(&[attr(a, &[5]), attr(b, &[7])]);
        assert_eq!(ids.of_sample(&record(&[0, 7, 0]), Endian::Little), Some(AttrIx(1)));
        assert_eq!(ids.of_sample(&record(&[0, 7, 5]), Endian::Little), Some(AttrIx(0)));
    }

    #[test]
    fn events_without_ids_are_blind() {
        let attrs = [attr(c::PERF_SAMPLE_IP, &[]), attr(c::PERF_SAMPLE_IP, &[])];
        let ids = EventIds::new(&attrs);
        assert!(ids.blind(&attrs));
        assert_eq!(ids.of_sample(&record(&[0, 1]), Endian::Little), None);
    }
}
