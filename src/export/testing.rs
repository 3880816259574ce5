//! A made-up recording for the formats' tests.

use super::{Context, CorrectedSample, Exporter, FrameKind, Names, Segment, StackFrame};
use crate::image::{ImageId, Location, SourceFrame, Svma, Symbol};
use crate::perfdata::{Attr, AttrIx, CpuMode, Features};
use crate::report::{RegionReport, Verdict};
use std::sync::Arc;

pub(super) const PROG: ImageId = ImageId(0);
pub(super) const LIBC: ImageId = ImageId(1);
pub(super) const KERNEL: ImageId = ImageId(2);

/// `main` (0x1000) has `square(int)` inlined from 0x1020 on and calls `helper(int)` (0x1100); `prog` has nothing above
/// 0x1200, `libc.so.6` no symbols and the same addresses, the kernel one function.
pub(super) struct Made;

fn source(function: &str, line: u32) -> SourceFrame {
    SourceFrame { function: Some(function.into()), file: Some("prog.c".into()), line: Some(line) }
}

fn symbol(name: &str, start: u64, frames: Vec<SourceFrame>) -> Option<Arc<Symbol>> {
    let mangled = Some(format!("_Z{name}"));
    Some(Arc::new(Symbol {
        name: name.into(),
        invented: false,
        mangled,
        start: Svma(start),
        size: Some(0x100),
        frames,
    }))
}

impl Names for Made {
    fn path(&self, image: ImageId) -> String {
        ["/usr/bin/prog", "/lib/libc.so.6", "[kernel.kallsyms]"][image.0 as usize].into()
    }

    fn build_id(&self, image: ImageId) -> Option<Vec<u8>> {
        (image == PROG).then(|| (0..20).collect())
    }

    fn base(&self, image: ImageId) -> Option<Svma> {
        Some(Svma(if image == KERNEL { 0xffff_ffff_8100_0000 } else { 0 }))
    }

    fn segment(&self, at: Location) -> Option<Segment> {
        (at.image == PROG).then_some(Segment { start: Svma(0x1000), len: 0x2000, file_offset: 0x3000 })
    }

    fn symbol(&mut self, at: Location) -> Option<Arc<Symbol>> {
        match (at.image, at.svma.0) {
            (PROG, 0x1000..0x1020) => symbol("main", 0x1000, vec![source("main", 10)]),
            (PROG, 0x1020..0x1100) => {
                symbol("main", 0x1000, vec![source("square(int)", 3), source("main", 11)])
            }
            (PROG, 0x1100..0x1200) => symbol("helper(int)", 0x1100, vec![source("helper", 20)]),
            (KERNEL, 0xffff_ffff_8100_0000..) => symbol("schedule", 0xffff_ffff_8100_0000, vec![]),
            _ => None,
        }
    }
}

pub(super) fn leaf(image: ImageId, svma: u64) -> StackFrame {
    let mode = if image == KERNEL { CpuMode::Kernel } else { CpuMode::User };
    let location = Some(Location { image, svma: Svma(svma) });
    StackFrame { address: 0x5550_0000 + svma % (1 << 28), mode, location, kind: FrameKind::Leaf }
}

pub(super) fn caller(image: ImageId, svma: u64) -> StackFrame {
    StackFrame { kind: FrameKind::Return, ..leaf(image, svma) }
}

pub(super) fn unmapped(address: u64) -> StackFrame {
    StackFrame { address, mode: CpuMode::User, location: None, kind: FrameKind::Leaf }
}

pub(super) fn sample<'a>(attr: u32, weight: u64, stack: &'a [StackFrame]) -> CorrectedSample<'a> {
    CorrectedSample {
        attr: AttrIx(attr),
        pid: 7,
        tid: 8,
        time: Some(1_000_000),
        cpu: Some(1),
        comm: Some("my prog"),
        weight,
        stack,
        recorded: stack,
        same: None,
        moved: false,
    }
}

/// Runs `body` at 5 s after 1970 plus the samples' 0.5 ms, with the context of a recording of `cycles` (by frequency) and `cpu-clock` (every 1000 ns).
pub(super) fn with_context<T>(body: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let cycles = Attr { name: "cycles:u".into(), freq: true, sample_period: 4000, ..Default::default() };
    let clock = Attr { name: "cpu-clock".into(), sample_period: 1000, ..Default::default() };
    let mut features = Features::default();
    features.version = Some("6.1".into());
    features.clock = Some((1, 5_000_000_000, 500_000));
    let attrs = [cycles, clock];
    let at = Location { image: PROG, svma: Svma(0x1000) };
    let intervals = [((AttrIx(0), at), (3.2, 7.6, Verdict::Gibbs))].into();
    let region = |verdict| RegionReport {
        event: "cycles:u".into(),
        functions: vec!["main".into()],
        verdict,
        samples: 500,
        tells: true,
        ..RegionReport::default()
    };
    let untried = RegionReport { samples: 4, tells: false, ..region(Verdict::Flow) };
    let regions = [region(Verdict::Gibbs), region(Verdict::Flow), untried];
    body(&mut Context {
        regions: &regions,
        attrs: &attrs,
        features: &features,
        names: &mut Made,
        intervals: &intervals,
    })
}

/// What an exporter makes of `samples`.
pub(super) fn export(mut exporter: Box<dyn Exporter>, samples: &[CorrectedSample<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    samples.iter().for_each(|sample| exporter.sample(sample));
    with_context(|context| exporter.finish(context, &mut bytes)).unwrap();
    bytes
}
