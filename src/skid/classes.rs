//! Which instructions take like time.

use std::collections::BTreeMap;

use super::operands::Operands;
use super::region::Node;
use crate::code::{Flow, FunctionIx, Kind, Mnemonic, Program};

/// Cycles from a load's address to its data, on a hit.
pub(super) const LOAD: f64 = 4.0;

/// Instructions that take like time: the same mnemonic, with or without a load.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    of: BTreeMap<(Mnemonic, bool), usize>,
}

impl Classes {
    /// Numbers the classes of all instructions of `program`.
    pub fn of(program: &Program) -> Classes {
        let mut classes = Classes::default();
        for inst in program.functions.iter().flat_map(|(_, f)| &f.insts) {
            let next = classes.of.len();
            classes.of.entry((inst.mnemonic, inst.loads)).or_insert(next);
        }
        classes
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.of.len()
    }

    pub(super) fn node(
        &self,
        program: &Program,
        function: FunctionIx,
        ix: usize,
        block: usize,
        fused: bool,
    ) -> Node {
        let inst = &program.functions[function].1.insts[ix];
        let class = self.of.get(&(inst.mnemonic, inst.loads)).copied().unwrap_or(0);
        let latency = inst.kind.latency() + if inst.loads { LOAD } else { 0.0 };
        let transfers = matches!(inst.kind, Kind::Branch | Kind::Jump | Kind::Call | Kind::Return);
        let predicted = matches!(
            inst.flow,
            Flow::Branch(_) | Flow::IndirectJump { .. } | Flow::IndirectCall { .. } | Flow::Return
        );
        Node {
            function,
            inst: ix,
            block,
            class,
            kind: inst.kind,
            loads: inst.loads,
            stores: inst.stores,
            latency,
            fused,
            fed: false,
            stays: false,
            chosen: false,
            operands: Operands::of(inst),
            copies: inst.copies(),
            transfers,
            predicted,
        }
    }
}
