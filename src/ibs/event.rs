//! What kind of samples an event of a recording has.

use linux_perf_event_reader::constants as c;

use super::Processor;
use crate::perfdata::{Attr, Features};

/// What a sample tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The registers of a fetch.
    Fetch,
    /// The registers of an op.
    Op(Counting),
    /// An access to memory, by its data source and weight.
    Memory,
    /// Nothing but where it stands.
    Plain,
}

/// By what ops are chosen, `IbsOpCntCtl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counting {
    /// Every so many cycles the next op that is dispatched is tagged: ops that are dispatched after a wait have more
    /// samples than others that run as often.
    Cycles,
    /// Every so many dispatched ops one is tagged: an instruction has samples as often as its ops run.
    Ops,
}

/// `IbsOpCntCtl` in an event's configuration.
const COUNTS_OPS: u64 = 1 << 19;

/// Whether an event is of the processor's sampling of fetches or ops but was recorded without the registers.
pub fn lacks_registers(attr: &Attr, features: &Features) -> bool {
    unit(attr, features).is_some() && attr.sample_type & c::PERF_SAMPLE_RAW == 0
}

/// Whether the kernel turned an event over to the sampling of ops, for its precision.
pub fn is_forwarded(attr: &Attr, features: &Features) -> bool {
    forwarded(attr, features).is_some()
}

/// The kind of each event.
pub fn events(attrs: &[Attr], features: &Features) -> Vec<Kind> {
    attrs.iter().map(|attr| kind(attr, features)).collect()
}

fn kind(attr: &Attr, features: &Features) -> Kind {
    let told = match unit(attr, features) {
        Some(Unit::Fetch) => Some(Kind::Fetch),
        Some(Unit::Op) => Some(Kind::Op(counting(attr.config & COUNTS_OPS != 0))),
        None => forwarded(attr, features),
    };
    let has = |fields| attr.sample_type & fields != 0;
    let weighed = has(c::PERF_SAMPLE_WEIGHT | c::PERF_SAMPLE_WEIGHT_STRUCT);
    match told.filter(|_| has(c::PERF_SAMPLE_RAW)) {
        Some(kind) => kind,
        None if has(c::PERF_SAMPLE_DATA_SRC) || weighed && has(c::PERF_SAMPLE_ADDR) => Kind::Memory,
        None => Kind::Plain,
    }
}

/// A sampling unit of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Fetch,
    Op,
}

/// By the number that the recorded machine gave the unit, else by the event's name.
fn unit(attr: &Attr, features: &Features) -> Option<Unit> {
    let by_number = features.pmus.iter().find(|(number, _)| *number == attr.kind && *number > 5);
    let name = by_number.map_or(attr.name.as_str(), |(_, name)| name.as_str());
    match name {
        name if name.starts_with("ibs_fetch") => Some(Unit::Fetch),
        name if name.starts_with("ibs_op") => Some(Unit::Op),
        _ => None,
    }
}

fn counting(ops: bool) -> Counting {
    if ops { Counting::Ops } else { Counting::Cycles }
}

/// Precise events of AMD processors, which the kernel turns over to the sampling of ops: `cycles:p`, `r076:p`, and `r0c1:p`
/// by ops.
fn forwarded(attr: &Attr, features: &Features) -> Option<Kind> {
    Processor::parse(features.cpu_id.as_deref()?).filter(|_| attr.precise_ip > 0)?;
    match (attr.kind, attr.config) {
        (0, 0) | (4, 0x76) => Some(Kind::Op(Counting::Cycles)),
        (4, 0xc1) => Some(Kind::Op(Counting::Ops)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(kind: u32, config: u64, name: &str) -> Attr {
        Attr { kind, config, name: name.into(), sample_type: c::PERF_SAMPLE_RAW, ..Attr::default() }
    }

    fn of(attr: &Attr, cpu: Option<&str>) -> Kind {
        let mut features = Features::default();
        features.pmus = vec![(4, "cpu".into()), (9, "ibs_fetch".into()), (10, "ibs_op".into())];
        features.cpu_id = cpu.map(String::from);
        events(std::slice::from_ref(attr), &features)[0]
    }

    #[test]
    fn units_are_known_by_number_or_name() {
        assert_eq!(of(&attr(9, 0, "anything"), None), Kind::Fetch);
        assert_eq!(of(&attr(10, 1 << 19, "anything"), None), Kind::Op(Counting::Ops));
        assert_eq!(of(&attr(77, 0, "ibs_op/cnt_ctl=0/"), None), Kind::Op(Counting::Cycles));
        assert_eq!(of(&attr(0, 0, "cycles"), None), Kind::Plain);
    }

    #[test]
    fn precise_events_of_amd_are_ops_and_of_others_are_not() {
        let precise = |kind, config| Attr { precise_ip: 2, ..attr(kind, config, "e") };
        let amd = Some("AuthenticAMD,25,97,2");
        assert_eq!(of(&precise(0, 0), amd), Kind::Op(Counting::Cycles));
        assert_eq!(of(&precise(4, 0xc1), amd), Kind::Op(Counting::Ops));
        assert_eq!(of(&precise(0, 0), Some("GenuineIntel,6,85,4")), Kind::Plain);
        assert_eq!(of(&attr(0, 0, "cycles"), amd), Kind::Plain);
    }

    #[test]
    fn without_registers_there_may_still_be_a_data_source() {
        let mem = Attr { sample_type: c::PERF_SAMPLE_DATA_SRC, ..attr(10, 0, "ibs_op//") };
        assert_eq!(of(&mem, None), Kind::Memory);
        let weight = c::PERF_SAMPLE_WEIGHT_STRUCT;
        assert_eq!(of(&Attr { sample_type: weight, ..attr(4, 0x1cd, "mem") }, None), Kind::Plain);
        let with_address = Attr { sample_type: weight | c::PERF_SAMPLE_ADDR, ..attr(4, 0x1cd, "mem") };
        assert_eq!(of(&with_address, None), Kind::Memory);
    }
}
