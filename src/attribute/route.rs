//! How a callchain changes when its sample moves to another function.

use std::collections::HashMap;

use crate::code::{CallSite, FunctionIx, Place, Program};

/// A change of a callchain's innermost entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// Entries that go, the sampled address among them.
    pub drop: usize,
    /// Return addresses that come behind the new address, innermost first.
    pub returns: Vec<Place>,
}

/// The functions that a sample is in, innermost first.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Each with the number of chain entries inside of it, its own included.
    list: Vec<(FunctionIx, usize)>,
    /// Nothing is known of who called: the chain is the sampled address alone, as where code keeps no frames.
    alone: bool,
}

impl Frames {
    /// Frames of a sample in `function` with these `callers` (return addresses, innermost first; `None` where unknown).
    ///
    /// A frame pointer chain skips the caller of a function that has no frame (yet): then the innermost return address
    /// follows a call of something else, and that is the skipped caller, without an entry of its own.
    pub fn new(program: &Program, function: FunctionIx, callers: &[Option<Place>]) -> Frames {
        let mut list = vec![(function, 1)];
        let mut callee = function;
        for (k, back) in callers.iter().enumerate() {
            let Some(site) = back.and_then(|b| program.call_before(b)) else { break };
            if !site.targets.iter().any(|t| t.function == callee) {
                let skipped = match site.targets.as_slice() {
                    [only] if k == 0 => only.function,
                    _ => break,
                };
                if !calls(program, skipped, callee) {
                    break;
                }
                list.push((skipped, 1));
            }
            list.push((site.caller, k + 2));
            callee = site.caller;
        }
        Frames { list, alone: callers.is_empty() }
    }

    /// The change that makes `to` the innermost function: back into a caller, into something that a caller calls, or into
    /// what that calls; the one that keeps most of the chain. Where nothing is known of callers nothing of them need change.
    /// `None` if no known `calls` lead there.
    pub fn route(&self, calls: &mut Calls<'_>, to: FunctionIx) -> Option<Route> {
        if self.alone {
            return Some(Route { drop: 1, returns: Vec::new() });
        }
        for &(function, drop) in &self.list {
            if function == to {
                return Some(Route { drop, returns: Vec::new() });
            }
            if let Some(behind) = calls.direct(function, to) {
                return Some(Route { drop, returns: vec![behind] });
            }
        }
        let through = |&(function, drop): &(FunctionIx, usize)| {
            Some(Route { drop, returns: calls.through(function, to)?.to_vec() })
        };
        self.list.iter().find_map(through)
    }
}

/// Return addresses of the calls by which functions lead to others, as far as they were asked for: many samples ask the same.
pub struct Calls<'a> {
    program: &'a Program,
    direct: HashMap<(FunctionIx, FunctionIx), Option<Place>>,
    through: HashMap<(FunctionIx, FunctionIx), Option<[Place; 2]>>,
}

impl<'a> Calls<'a> {
    /// Those of `program`.
    pub fn new(program: &'a Program) -> Calls<'a> {
        Calls { program, direct: HashMap::new(), through: HashMap::new() }
    }

    /// Behind the call of `to` in `caller` that was seen most.
    fn direct(&mut self, caller: FunctionIx, to: FunctionIx) -> Option<Place> {
        let program = self.program;
        *self.direct.entry((caller, to)).or_insert_with(|| Some(program.behind(call(program, caller, to)?)))
    }

    /// Behind the first call in `caller` of what calls `to`, and inside of that, which comes first, behind that call.
    fn through(&mut self, caller: FunctionIx, to: FunctionIx) -> Option<[Place; 2]> {
        let program = self.program;
        let find = || {
            let pushing = program.calls_in(caller).iter().filter(|site| program.pushes(site));
            let mut both = pushing.filter_map(|outer| {
                let inner = outer.targets.iter().find_map(|t| call(program, t.function, to))?;
                Some([program.behind(inner), program.behind(outer)])
            });
            both.next()
        };
        *self.through.entry((caller, to)).or_insert_with(find)
    }
}

/// The call of `to` in `caller` that was seen most.
fn call(program: &Program, caller: FunctionIx, to: FunctionIx) -> Option<&CallSite> {
    let seen = |s: &CallSite| s.targets.iter().find(|t| t.function == to).map(|t| t.seen);
    program
        .calls_in(caller)
        .iter()
        .filter(|s| program.pushes(s) && seen(s).is_some())
        .max_by_key(|s| (seen(s), usize::MAX - s.inst))
}

fn calls(program: &Program, caller: FunctionIx, to: FunctionIx) -> bool {
    program.calls_in(caller).iter().any(|s| s.targets.iter().any(|t| t.function == to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};

    #[test]
    fn a_chain_of_the_sample_alone_keeps_it_nowhere() {
        // 0: call 8; 5: ret — 8: ret — 9: ret, which nobody calls
        let code = Bytes(0, vec![0xe8, 3, 0, 0, 0, 0xc3, 0x90, 0x90, 0xc3, 0xc3]);
        let functions = [0..6, 8..9, 9..10].map(|range| (0, explore(&code, range, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let to =
            |callers: &[Option<Place>]| Frames::new(&program, 1, callers).route(&mut Calls::new(&program), 2);
        assert_eq!(to(&[]), Some(Route { drop: 1, returns: Vec::new() }));
        assert_eq!(to(&[Some(Place { space: 0, address: 5 })]), None);
    }
}
