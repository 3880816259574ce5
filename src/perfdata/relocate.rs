//! Where things are in a copy whose records have changed in length.

use super::header::Section;

/// Maps offsets of the input to offsets of the output.
#[derive(Clone, Debug, Default)]
pub(super) struct Relocation {
    /// The input's data section.
    pub data: Section,
    /// Where the data end in the output.
    pub new_data_end: u64,
    /// Where the sections behind the data and their table begin, in the input and in the output.
    pub tail: u64,
    pub new_tail: u64,
    /// Sections of the tail that are left out, ascending, apart from each other.
    pub holes: Vec<Section>,
    /// Trace data records, whose offsets are noted elsewhere: from where to where, ascending.
    pub moved: Vec<(u64, u64)>,
}

impl Relocation {
    /// The new offset of what is at `offset` in the input.
    pub fn map(&self, offset: u64) -> u64 {
        let data_end = self.data.offset + self.data.size;
        if offset < self.data.offset {
            offset
        } else if offset < data_end {
            match self.moved.binary_search_by_key(&offset, |&(from, _)| from) {
                Ok(i) => self.moved[i].1,
                Err(_) => offset,
            }
        } else if offset < self.tail {
            offset - data_end + self.new_data_end
        } else {
            let before = self.holes.iter().filter(|hole| hole.offset < offset);
            let left_out: u64 = before.map(|hole| hole.size).sum();
            (offset - self.tail).saturating_add(self.new_tail).saturating_sub(left_out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_before_inside_and_behind_the_data_move_as_they_should() {
        let map = Relocation {
            data: Section { offset: 100, size: 100 },
            new_data_end: 240,
            tail: 216,
            new_tail: 240,
            holes: vec![Section { offset: 300, size: 16 }],
            moved: vec![(150, 170)],
        };
        let mapped = [0, 99, 150, 151, 200, 216, 300, 316, 400].map(|at| map.map(at));
        assert_eq!(mapped, [0, 99, 170, 151, 240, 240, 324, 324, 408]);
    }
}
