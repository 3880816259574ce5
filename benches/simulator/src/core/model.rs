//! The cores that cases run on, with all their settings.

use super::{Bursts, Core, InOrder, Latencies, Memory, OutOfOrder, Shape, Sibling};

/// A timing model with all its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Two instructions a cycle in order; users of slow loads wait.
    InOrder,
    /// One instruction a cycle in order; a miss stops the load itself.
    Blocking,
    /// Four wide out of order, slow divider, small window.
    Wide4,
    /// Six wide out of order, compare and branch fused.
    Wide6,
    /// Eight wide out of order, large window.
    Wide8,
    /// Six wide, memory nine times slower in bursts.
    Bursty,
    /// Four wide, sharing the core with another thread.
    Shared,
}

impl Model {
    /// A core of this kind at rest.
    pub fn core(self, seed: u64) -> Box<dyn Core> {
        match self {
            Model::InOrder => {
                Box::new(InOrder::new("Simulated in-order, two-way", 2, false, SMALL_CACHES, seed))
            }
            Model::Blocking => {
                Box::new(InOrder::new("Simulated in-order, blocking cache", 1, true, SMALL_CACHES, seed))
            }
            _ => Box::new(OutOfOrder::new(self.shape(seed), seed)),
        }
    }

    fn shape(self, seed: u64) -> Shape {
        let wide6 = Shape {
            name: "Simulated 6-wide out-of-order".into(),
            width: 6,
            rob: 256,
            misses: 12,
            flush: 13,
            fusion: true,
            latencies: Latencies::FAST,
            memory: LARGE_CACHES,
            predictor: (13, 10),
            sibling: None,
        };
        match self {
            Model::Wide8 => Shape {
                name: "Simulated 8-wide out-of-order".into(),
                width: 8,
                rob: 448,
                misses: 24,
                flush: 16,
                predictor: (15, 14),
                ..wide6
            },
            Model::Bursty => Shape {
                name: "Simulated 6-wide, bursty memory".into(),
                memory: Memory {
                    bursts: Bursts::Bursty { quiet: 20_000, busy: 6_000, factor: 9 },
                    ..MIDDLE_CACHES
                },
                ..wide6
            },
            Model::Wide4 | Model::Shared => Shape {
                name: "Simulated 4-wide out-of-order".into(),
                width: 4,
                rob: 128,
                misses: 8,
                flush: 15,
                fusion: self == Model::Wide4,
                latencies: Latencies::OLDER,
                memory: MIDDLE_CACHES,
                predictor: (12, 8),
                sibling: (self == Model::Shared).then(|| Sibling::new(9.0, 6.0, seed)),
            },
            _ => wide6,
        }
    }
}

const SMALL_CACHES: Memory =
    Memory { first: (16, 4, 3), second: (256, 8, 14), latency: 90, prefetch: false, bursts: Bursts::Steady };
const MIDDLE_CACHES: Memory =
    Memory { first: (32, 8, 4), second: (256, 8, 12), latency: 190, prefetch: true, bursts: Bursts::Steady };
const LARGE_CACHES: Memory = Memory {
    first: (48, 12, 5),
    second: (1024, 16, 15),
    latency: 240,
    prefetch: true,
    bursts: Bursts::Steady,
};
