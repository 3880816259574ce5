//! Binaries that are not what was recorded, by what stands where samples do.
//!
//! In: what was sampled, and a program decoded from binaries of which some were taken by their paths alone. Out: those of them in
//! which many samples stand amid instructions, as no processor reports them. It does not know which others are wrong: where few
//! samples are, or code was only moved, all may stand where instructions begin.

use std::collections::{BTreeMap, BTreeSet};

use super::decoding::place;
use super::survey::{Cell, CellIx, Survey};
use crate::code::Program;
use crate::image::{ImageId, ImageState};

/// Of the samples of a binary that is another one, most are amid instructions, which take four bytes on average; of one that is
/// right none are but behind prefixes, and what is not code. So much of them, and so many, tell.
const LEAST_SHARE: f64 = 0.05;
const LEAST_SAMPLES: u64 = 10;

/// Samples of an image whose code was decoded.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    all: u64,
    amid: u64,
}

/// The images that are something else, and what is to be said of each.
#[derive(Clone, Debug, Default)]
pub struct Misfits {
    /// Which they are.
    pub images: BTreeSet<ImageId>,
    /// A line for each.
    pub warnings: Vec<String>,
}

impl Misfits {
    /// Those of `survey`, of which `program` was decoded.
    pub fn of(survey: &Survey, program: &Program) -> Misfits {
        let mut standing: BTreeMap<ImageId, Standing> = BTreeMap::new();
        for cell in survey.cells.iter().filter(|cell| cell.exact == 0 && by_path(survey, cell.at.image)) {
            if let Some(amid) = is_amid(program, cell) {
                let of = standing.entry(cell.at.image).or_default();
                of.all += cell.samples;
                of.amid += if amid { cell.samples } else { 0 };
            }
        }
        let mut misfits = Misfits::default();
        for (image, Standing { all, amid }) in standing {
            if amid >= LEAST_SAMPLES && amid as f64 >= LEAST_SHARE * all as f64 {
                misfits.images.insert(image);
                misfits.warnings.push(format!(
                    "{} is not what was recorded: {amid} of {all} samples stand amid its instructions; they stay where they are (give the recorded one by --symfs)",
                    survey.images.get(image).path
                ));
            }
        }
        misfits
    }

    /// Whether a cell stands in none of them.
    pub fn fits(&self, survey: &Survey, cell: CellIx) -> bool {
        !self.images.contains(&survey.cells[cell as usize].at.image)
    }
}

/// Whether an image was taken by its path, and may be another one.
fn by_path(survey: &Survey, image: ImageId) -> bool {
    matches!(survey.images.get(image).state(), ImageState::Found { verified: false, .. })
}

/// Whether a cell is amid an instruction that code reaches, behind more than its prefix; `None` if it was not decoded.
fn is_amid(program: &Program, cell: &Cell) -> Option<bool> {
    let (function, inst) = program.find(place(cell.at))?;
    let insts = &program.functions[function].1.insts;
    let before = inst.checked_sub(1).map(|before| &insts[before]);
    Some(before.is_some_and(|before| before.end() > insts[inst].address && before.end() != insts[inst].end()))
}
