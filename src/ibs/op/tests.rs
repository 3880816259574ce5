use super::*;
use crate::ibs::Processor;

fn op(capabilities: u32, processor: Option<(u32, u32)>) -> Op {
    let processor = processor.map(|(family, model)| Processor { family, model });
    let dialect = Dialect { capabilities: Capabilities(capabilities), processor };
    let none = Register(0);
    Op {
        dialect,
        control: none,
        rip: 0x1000,
        data: none,
        data2: none,
        data3: none,
        linear: 0,
        physical: 0,
        target: Some(0x2000),
        data4: None,
        rest: 0,
    }
}

const LOAD_MISS: u64 = 1 | 1 << 7 | 100 << 32;

#[test]
fn an_address_is_believed_unless_a_processor_that_can_says_it_is_not() {
    let invalid = Register(1 << 38);
    assert_eq!(Op { data: invalid, ..op(0x1f, Some((0x10, 2))) }.address(), Some(0x1000));
    assert_eq!(Op { data: invalid, ..op(0xff, None) }.address(), None);
}

#[test]
fn branch_bits_say_nothing_without_a_branch() {
    let all_but = Register(!(1 << 37));
    let none = Op { data: all_but, ..op(0x3ff, None) };
    assert!(!none.is_branch() && !none.is_mispredicted() && !none.is_taken() && !none.is_return());
    assert_eq!(none.branched_to(), None);
    let all = Op { data: Register(u64::MAX), ..op(0x3ff, None) };
    assert!(all.is_mispredicted() && all.is_taken() && all.is_return() && all.is_mispredicted_return());
    assert_eq!(all.branched_to(), Some(0x2000));
    let bulldozer = Op { data: Register(u64::MAX), ..op(0xff, Some((0x15, 1))) };
    assert_eq!(bulldozer.branched_to(), None, "erratum 717");
}

#[test]
fn an_old_processor_tells_of_resyncs_and_a_new_one_of_other_things_there() {
    let both = Register(1 << 37 | 3 << 32);
    let old = Op { data: both, ..op(0x1f, Some((0x10, 2))) };
    assert!(old.is_resync() && old.is_mispredicted_return() && !old.is_return());
    let new = Op { data: both, ..op(0x3ff, Some((0x17, 1))) };
    assert!(!new.is_resync() && !new.is_mispredicted_return());
}

#[test]
fn the_latency_of_a_miss_is_that_of_a_load_from_cached_memory() {
    let of = |data3: u64| Op { data3: Register(data3), ..op(0x1f, None) }.miss_latency();
    assert_eq!(of(LOAD_MISS), Some(100));
    assert_eq!(of(LOAD_MISS & !1 | 2), None, "a store");
    assert_eq!(of(LOAD_MISS & !(1 << 7)), None, "a hit");
    assert_eq!(of(LOAD_MISS | 1 << 14), None, "not cached");
}

#[test]
fn sources_are_of_loads_that_missed_the_second_level_where_that_is_told() {
    let of = |capabilities, processor, data2: u64, data3: u64| {
        let data = (Register(data2), Register(data3));
        let op = Op { data2: data.0, data3: data.1, ..op(capabilities, processor) };
        (op.source(), op.is_remote())
    };
    let l2 = LOAD_MISS | 1 << 20;
    assert_eq!(of(0x1f, None, 3 | 1 << 4, LOAD_MISS), (Some(DataSource::Dram), true));
    assert_eq!(of(0x1f, None, 2 | 1 << 4, LOAD_MISS), (Some(DataSource::FarCache), true));
    assert_eq!(of(0x3ff, None, 3, LOAD_MISS), (None, false), "the second level had it");
    assert_eq!(of(0x3ff, None, 4, l2), (Some(DataSource::FarCache), true));
    assert_eq!(of(0xbff, None, 4 | 1 << 6, l2), (Some(DataSource::PeerMemory), false));
    assert_eq!(of(0xbff, None, 0, l2), (None, false));
    assert_eq!(of(0x3ff, Some((0x19, 1)), 3, l2), (Some(DataSource::Dram), false));
    assert_eq!(of(0x3ff, Some((0x19, 1)), 3, l2 | 1 << 21), (None, false), "erratum 1293");
}

#[test]
fn translations_need_a_valid_address_and_newer_processors_a_translated_one() {
    let of = |capabilities, data3: u64| {
        let op = Op { data3: Register(data3), ..op(capabilities, None) };
        (op.translation(), op.page_size())
    };
    let valid = 1 | 1 << 17;
    assert_eq!(of(0x3ff, 1), (None, None));
    assert_eq!(of(0x3ff, valid), (Some(Translation::First), Some(PageSize::Small)));
    assert_eq!(of(0x3ff, valid | 1 << 4), (Some(Translation::First), Some(PageSize::Large)));
    assert_eq!(of(0x3ff, valid | 1 << 2 | 1 << 19), (Some(Translation::Second), Some(PageSize::Huge)));
    assert_eq!(of(0x3ff, valid | 3 << 2), (Some(Translation::Missed), None));
    assert_eq!(of(0x8_1bff, valid | 3 << 2), (None, None));
    let translated = valid | 1 << 18 | 3 << 2 | 1 << 5;
    assert_eq!(of(0x8_1bff, translated), (Some(Translation::Missed), Some(PageSize::Huge)));
}
