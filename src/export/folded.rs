//! Folded stacks: `comm;root;…;leaf weight`, one line per distinct stack, sorted.
//!
//! The lines are those of `perf script | stackcollapse-perf.pl` (or inferno): one event, the recording's first that has a sample unless
//! another is asked for, because a sum over different events means nothing; blanks in the thread's name become `_`, `;` in
//! a name becomes `:`, argument lists are cut, and a frame without a symbol is its binary's name in brackets. A frame is the
//! function that the code stands in; functions inlined there are pprof's to show.

use super::stacks::{StackId, Stacks};
use super::{Context, CorrectedSample, Error, Exporter, StackFrame, basename, plain};
use crate::perfdata::AttrIx;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// Makes folded stacks of one event.
#[derive(Default)]
pub struct Folded {
    event: Option<AttrIx>,
    stacks: Stacks,
    /// Of the event, or of the first so far and others that had samples before.
    weights: BTreeMap<AttrIx, HashMap<(String, Option<StackId>), u64>>,
}

impl Folded {
    /// Of `event`; `None` for the first with samples.
    pub fn new(event: Option<AttrIx>) -> Folded {
        Folded { event, ..Folded::default() }
    }
}

impl Exporter for Folded {
    fn folds(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        let first = self.weights.first_key_value().map(|(event, _)| *event);
        let another = match self.event {
            Some(event) => event != sample.attr,
            None => first.is_some_and(|first| first < sample.attr),
        };
        if another {
            return;
        }
        let stack = self.stacks.of(sample);
        let weights = self.weights.entry(sample.attr).or_default();
        let weight = weights.entry((sample.comm(), stack)).or_default();
        *weight = weight.saturating_add(sample.weight);
    }

    fn finish(self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        for (line, weight) in &self.lines(context, Leaf::Function) {
            writeln!(out, "{line} {weight}")?;
        }
        Ok(())
    }
}

/// What stands at the end of a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    /// The function.
    Function,
    /// Behind the function, the source line in it, or the offset where no line is known.
    Line,
}

impl Folded {
    /// The stacks with their weights, sorted.
    pub(super) fn lines(&self, context: &mut Context<'_>, leaf: Leaf) -> BTreeMap<String, u64> {
        let functions: Vec<_> = self.stacks.nodes().map(|(_, frame)| function(frame, context)).collect();
        let places: Vec<_> = match leaf {
            Leaf::Function => Vec::new(),
            Leaf::Line => self.stacks.nodes().map(|(_, frame)| line(frame, context)).collect(),
        };
        let mut lines = BTreeMap::<String, u64>::new();
        for ((comm, stack), weight) in self.weights.first_key_value().into_iter().flat_map(|(_, of)| of) {
            let place = stack.and_then(|id| places.get(id.index()));
            let callers = self.stacks.ids(*stack).map(|id| functions[id.index()].as_str());
            let mut names: Vec<_> = place.map(String::as_str).into_iter().chain(callers).collect();
            let comm = clean(comm).replace(' ', "_");
            names.push(&comm);
            names.reverse();
            let sum = lines.entry(names.join(";")).or_default();
            *sum = sum.saturating_add(*weight);
        }
        lines
    }

    /// The name of the event that is folded; empty without samples.
    pub(super) fn event_name(&self, context: &Context<'_>) -> String {
        self.weights.keys().next().map_or_else(String::new, |event| plain(&context.event_name(*event)))
    }
}

fn function(frame: &StackFrame, context: &mut Context<'_>) -> String {
    let Some(at) = frame.described() else { return "[unknown]".into() };
    match context.names.function(at) {
        Some(symbol) => cut(clean(&symbol.name)),
        None => format!("[{}]", clean(basename(&context.names.path(at.image)))),
    }
}

/// The innermost source line of a frame, else its offset in its function, else its address.
fn line(frame: &StackFrame, context: &mut Context<'_>) -> String {
    let Some(at) = frame.described() else { return format!("{:#x}", frame.inside()) };
    let symbol = context.names.symbol(at);
    let source = symbol.as_ref().and_then(|symbol| symbol.frames.first());
    match (source.and_then(|frame| Some((frame.file.as_deref()?, frame.line?))), symbol.as_ref()) {
        (Some((file, line)), _) => format!("{}:{line}", clean(basename(file))),
        (None, Some(symbol)) => format!("+{:#x}", at.svma.0.wrapping_sub(symbol.start.0)),
        (None, None) => format!("{:#x}", at.svma.0),
    }
}

/// A name that does not break the line format.
fn clean(name: &str) -> String {
    plain(name).replace(';', ":")
}

/// Cuts the argument list, but neither Go's receivers, `net/http.(*Client).Do`, nor C++'s `(anonymous namespace)`.
fn cut(mut name: String) -> String {
    let Some(at) = name.find('(') else {
        return name;
    };
    if !name[at..].starts_with("(anonymous namespace)") && !name[..at].ends_with('.') && at > 0 {
        name.truncate(at);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn fold(event: Option<AttrIx>, samples: &[CorrectedSample<'_>]) -> String {
        String::from_utf8(export(Box::new(Folded::new(event)), samples)).unwrap()
    }

    #[test]
    fn lines_lead_from_thread_to_leaf_and_sum_periods() {
        let stack = [leaf(PROG, 0x1110), caller(PROG, 0x1010)];
        let other_process = [StackFrame { address: 9, ..stack[0] }, stack[1]];
        let text = fold(None, &[sample(0, 5, &stack), sample(0, 7, &other_process)]);
        assert_eq!(text, "my_prog;main;helper 12\n");
    }

    #[test]
    fn a_return_address_names_the_caller_even_at_the_end_of_its_function() {
        let text = fold(None, &[sample(0, 1, &[leaf(KERNEL, !0), caller(PROG, 0x1200)])]);
        assert_eq!(text, "my_prog;helper;schedule 1\n");
    }

    #[test]
    fn inlined_functions_are_part_of_the_function_they_stand_in() {
        let text = fold(None, &[sample(0, 1, &[leaf(PROG, 0x1030), caller(PROG, 0x1110)])]);
        assert_eq!(text, "my_prog;helper;main 1\n");
    }

    #[test]
    fn frames_without_symbols_are_their_binaries() {
        let stack = [unmapped(0x99), leaf(LIBC, 0x10), leaf(KERNEL, 0x20)];
        let text = fold(None, &[sample(0, 1, &stack)]);
        assert_eq!(text, "my_prog;[[kernel.kallsyms]];[libc.so.6];[unknown] 1\n");
    }

    #[test]
    fn only_one_event_is_folded() {
        let stack = [leaf(PROG, 0x1000)];
        let samples = [sample(1, 3, &stack), sample(0, 5, &stack)];
        assert_eq!(fold(None, &samples), "my_prog;main 5\n", "the recording's first, whichever comes first");
        assert_eq!(fold(Some(AttrIx(1)), &samples), "my_prog;main 3\n");
    }

    #[test]
    fn hostile_thread_names_do_not_break_lines() {
        let stack = [leaf(PROG, 0x1000)];
        let hostile = CorrectedSample { comm: Some("a;b\nc\u{1b}[2J 1"), ..sample(0, 3, &stack) };
        assert_eq!(fold(None, &[hostile]), "a:bc[2J_1;main 3\n");
        let nameless = CorrectedSample { comm: None, ..sample(0, 3, &[]) };
        assert_eq!(fold(None, &[nameless]), ":8 3\n");
        let idle = CorrectedSample { pid: 0, tid: 0, ..nameless };
        assert_eq!(fold(None, &[idle]), "swapper 3\n");
    }

    #[test]
    fn argument_lists_are_cut_but_not_receivers() {
        let cut = |name: &str| cut(name.into());
        assert_eq!(cut("std::vector<int>::at(int)"), "std::vector<int>::at");
        assert_eq!(cut("net/http.(*Client).Do"), "net/http.(*Client).Do");
        assert_eq!(cut("(anonymous namespace)::f(int)"), "(anonymous namespace)::f(int)");
        assert_eq!(cut("a::(anonymous namespace)::f"), "a::(anonymous namespace)::f");
    }
}
