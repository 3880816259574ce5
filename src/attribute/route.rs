//! How a callchain changes when its sample moves to another function.

use std::cmp::Reverse;
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
    /// A frame pointer chain skips the callers of functions that have no frame (yet): then a return address follows a call
    /// of something else. Of what that enters, the one that calls on is told to be there, without an entry of its own; whoever
    /// the address is in is there in any case.
    pub fn new(program: &Program, function: FunctionIx, callers: &[Option<Place>]) -> Frames {
        let mut list = vec![(function, 1)];
        let mut callee = Some(function);
        for (k, back) in callers.iter().enumerate() {
            let site = back.and_then(|b| program.call_before(b));
            if let (Some(site), Some(callee)) = (site, callee) {
                list.extend(skipped(program, site, callee).map(|between| (between, k + 1)));
            }
            callee = site.map(|site| site.caller);
            list.extend(callee.map(|caller| (caller, k + 2)));
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

/// What calls `callee` and is entered by the call at `site`, which does not call that itself: what it enters most.
fn skipped(program: &Program, site: &CallSite, callee: FunctionIx) -> Option<FunctionIx> {
    if site.targets.iter().any(|t| t.function == callee) {
        return None;
    }
    let between = site.targets.iter().filter(|t| calls(program, t.function, callee));
    between.max_by_key(|t| (t.seen, Reverse(t.function))).map(|t| t.function)
}

fn calls(program: &Program, caller: FunctionIx, to: FunctionIx) -> bool {
    program.calls_in(caller).iter().any(|s| s.targets.iter().any(|t| t.function == to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Seen, Told, explore};

    /// The way from the function at 9, whose chain has these return addresses behind it, to another.
    fn route(callers: &[Option<u64>], to: FunctionIx) -> Option<Route> {
        // 0: call 8; 5: ret — 8: ret — 9: ret, which nobody calls
        let code = Bytes(0, vec![0xe8, 3, 0, 0, 0, 0xc3, 0x90, 0x90, 0xc3, 0xc3]);
        let functions = [0..6, 8..9, 9..10].map(|range| (0, explore(&code, range, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let callers: Vec<_> = callers.iter().map(|c| c.map(|address| Place { space: 0, address })).collect();
        Frames::new(&program, 2, &callers).route(&mut Calls::new(&program), to)
    }

    fn dropping(drop: usize) -> Option<Route> {
        Some(Route { drop, returns: Vec::new() })
    }

    #[test]
    fn a_chain_of_the_sample_alone_keeps_it_nowhere() {
        assert_eq!(route(&[], 1), dropping(1));
        assert_eq!(route(&[None], 1), None);
    }

    #[test]
    fn who_a_chain_names_is_there_whatever_it_skips() {
        assert_eq!(route(&[Some(5)], 0), dropping(2), "what is called at 0 does not call 9");
        assert_eq!(route(&[None, Some(5)], 0), dropping(3), "behind a caller that is not known");
    }

    #[test]
    fn of_what_a_call_enters_the_one_that_calls_on_is_skipped() {
        // 0: call *%rax; 2: ret — 3: call 9; 8: ret — 9: ret — a: ret
        let code = Bytes(0, vec![0xff, 0xd0, 0xc3, 0xe8, 1, 0, 0, 0, 0xc3, 0xc3, 0xc3]);
        let functions = [0..3, 3..9, 9..10, 10..11].map(|range| (0, explore(&code, range, &[])));
        let at = |address| Place { space: 0, address };
        let seen = [3, 10].map(|to| Seen { from: at(0), to: at(to), count: 1, inside: 1 });
        let told = Told { seen: seen.into(), ..Told::default() };
        let program = Program::link(functions.into(), &NoStubs, &told);
        let frames = Frames::new(&program, 2, &[Some(at(2))]);
        assert_eq!(frames.route(&mut Calls::new(&program), 1), dropping(1));
    }
}
