//! What `fix` does with recordings of sampled fetches and ops: it leaves them as they are and says why.

use crate::made::{EXACT, Event, FETCH, Machine, OP, RAW, Sampled, raw};
use crate::tool::{folder, skidconv, testdata, text};

const EVENTS: [Event; 3] = [
    Event { kind: FETCH, config: 0, name: "ibs_fetch//" },
    Event { kind: OP, config: 0, name: "ibs_op//" },
    Event { kind: OP, config: 1 << 19, name: "ibs_op/cnt_ctl=1/" },
];

#[test]
fn sampled_fetches_and_ops_stay_where_they_are() {
    let folder = folder("ibs-fix");
    let (data, fixed) = (folder.join("perf.data"), folder.join("fixed.data"));
    let mut machine = Machine::new("AuthenticAMD,25,97,2", RAW, EVENTS.to_vec());
    machine.map(&testdata("amd/multiply_matrices"), 0x40_1000, 0x1000, 0);
    for (event, misc) in [(0, EXACT), (1, EXACT), (2, EXACT), (1, 2)] {
        for _ in 0..20 {
            let raw = raw(0xbff, &[3 << 17 | 3 << 48, 0x40_1191, 0, 0, 0, 0, 0, 0]);
            machine.sample(misc, &Sampled { event, ip: 0x40_1191, raw, ..Sampled::default() });
        }
    }
    machine.write(&data);
    let ran = skidconv(&folder, &["fix", text(&data), "-o", text(&fixed), "--force"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(std::fs::read(&data).unwrap(), std::fs::read(&fixed).unwrap());
    let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "ibs_fetch// · 20 samples, 0 moved (0.0%) exact addresses, left as recorded: the processor notes what it fetched",
        "ibs_op// · 40 samples, 0 moved (0.0%) exact addresses, left as recorded: the processor notes the op's \
         instruction; tagged by cycles, so neither a profile of instructions nor of time",
        "ibs_op/cnt_ctl=1/ · 20 samples, 0 moved (0.0%) exact addresses, left as recorded: the processor notes the \
         op's instruction; counted by ops, so that what ran how often is learnt from it",
    ] {
        assert!(out.contains(told), "{told}\n{out}");
    }
}
