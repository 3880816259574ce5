//! The functions of a recording by number.

use std::collections::HashMap;

use super::collect::Name;
use crate::export::{ImageNames, Names, basename, plain};
use crate::image::Location;
use crate::pipeline::survey::Survey;

/// Names by number, the number of each place, and where functions begin.
#[derive(Default)]
pub struct Functions {
    /// Names by number.
    pub names: Vec<Name>,
    /// The first instruction of each, where it has a symbol.
    pub starts: HashMap<u32, Location>,
    /// The function that begins at a place.
    pub by_start: HashMap<Location, u32>,
    by_name: HashMap<Name, u32>,
    by_place: HashMap<Location, u32>,
}

impl Functions {
    /// Those with samples.
    pub fn of(survey: &Survey, names: &mut ImageNames<'_>) -> Functions {
        let mut functions = Functions::default();
        survey.cells.iter().for_each(|cell| functions.note(survey, cell.at, names));
        functions
    }

    /// The number of the function that a sample's place is in.
    pub fn at(&self, at: Location) -> Option<u32> {
        self.by_place.get(&at).copied()
    }

    fn note(&mut self, survey: &Survey, at: Location, names: &mut ImageNames<'_>) {
        if self.by_place.contains_key(&at) {
            return;
        }
        let symbol = names.function(at);
        let image = plain(basename(&survey.images.get(at.image).path));
        let function = symbol.as_ref().map_or_else(|| "[unknown]".into(), |symbol| plain(&symbol.name));
        let number = self.named((image, function));
        if let Some(symbol) = symbol {
            let start = Location { svma: symbol.start, ..at };
            self.starts.entry(number).or_insert(start);
            self.by_start.insert(start, number);
        }
        self.by_place.insert(at, number);
    }

    fn named(&mut self, name: Name) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }
}
