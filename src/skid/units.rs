//! Units that instructions in flight compete for.
//!
//! In: an instruction and when its operands are there. Out: when its results are. How many units of a kind there are differs from core
//! to core; these are about what those of 2010–2025 have that retire so many instructions in a cycle (uops.info). A division keeps
//! its unit for two thirds of its time. It knows no queues, and no unit that does only some work of a kind.

use super::classes::LOAD;
use super::region::Node;
use crate::code::Kind;

/// Cycles for which it is remembered what is taken: instructions in flight are not further apart, but behind a long stall, where
/// few compete.
const REMEMBERED: usize = 256;

/// The units of a core.
#[derive(Clone, Debug)]
pub struct Units {
    integers: Unit,
    floats: Unit,
    /// Multiplications and divisions.
    products: Unit,
    loads: Unit,
    stores: Unit,
    /// When the last division leaves room for the next.
    divided: u64,
}

/// Units of one kind.
#[derive(Clone, Debug)]
struct Unit {
    count: u8,
    /// Cycles, each at its remainder, and how many are taken then.
    taken: Vec<(u64, u8)>,
}

impl Unit {
    fn new(count: u8) -> Unit {
        Unit { count, taken: vec![(0, 0); REMEMBERED] }
    }

    /// Takes one in the first cycle from `at` on in which one is free; that cycle.
    fn take(&mut self, mut at: u64) -> u64 {
        loop {
            let taken = &mut self.taken[at as usize % REMEMBERED];
            if taken.0 != at {
                *taken = (at, 0);
            }
            if taken.1 < self.count {
                taken.1 += 1;
                return at;
            }
            at += 1;
        }
    }
}

impl Units {
    /// Those of an out-of-order core that retires `width` instructions in a cycle.
    pub fn of(width: u32) -> Units {
        let (integers, loads, stores) = match width {
            ..=5 => (4, 2, 1),
            6..=7 => (4, 3, 2),
            8.. => (6, 3, 2),
        };
        let unit = Unit::new;
        Units {
            integers: unit(integers),
            floats: unit(2),
            products: unit(1),
            loads: unit(loads),
            stores: unit(stores),
            divided: 0,
        }
    }

    /// When the results of `node` are there, whose operands are there in cycle `at`.
    pub fn run(&mut self, node: &Node, at: u64) -> u64 {
        let (at, own) = match node.loads {
            true => (self.loads.take(at) + LOAD as u64, latency(node).saturating_sub(LOAD as u64)),
            false => (at, latency(node)),
        };
        let end = match node.kind {
            Kind::Nop | Kind::Jump => at + own,
            Kind::Move if node.loads => at,
            Kind::Multiply => self.products.take(at) + own,
            Kind::Divide | Kind::FloatDivide => {
                let start = self.products.take(at.max(self.divided));
                self.divided = start + own * 2 / 3;
                start + own
            }
            Kind::Float | Kind::Convert | Kind::Shuffle => self.floats.take(at) + own,
            _ => self.integers.take(at) + own,
        };
        if node.stores { self.stores.take(end) } else { end }
    }
}

/// Cycles from `node`'s operands to its results.
pub fn latency(node: &Node) -> u64 {
    match node.kind {
        Kind::Nop | Kind::Jump => 0,
        Kind::Move if node.loads => LOAD as u64,
        _ => node.latency as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_start_in_a_cycle_as_there_are_units() {
        let mut unit = Unit::new(2);
        let starts: Vec<u64> = [5, 5, 5, 4, 5, 9].map(|at| unit.take(at)).to_vec();
        assert_eq!(starts, [5, 5, 6, 4, 6, 9]);
        assert_eq!(unit.take(5 + REMEMBERED as u64), 5 + REMEMBERED as u64, "what is long ago is forgotten");
    }
}
